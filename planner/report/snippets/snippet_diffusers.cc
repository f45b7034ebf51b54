// The example scripts of diffusers, as they are at its tag v0.40.0, and the flags that they parse
// (examples/text_to_image, examples/dreambooth).
#include <algorithm>
#include <set>

#include "planner/report/snippets/snippets.h"
#include "planner/report/writing/numbers.h"
#include "planner/report/writing/quoting.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

struct Script {
  const char* of_class;
  bool text_and_time;
  const char *all, *adapters;        // paths below examples/: what trains every weight, and what trains adapters
  std::vector<std::string> targets;  // of the adapters, unless --lora_layers names others
  bool takes_layers;                 // --lora_layers and --lora_dropout
  const char* data;                  // flags that only the caller knows
};

const std::vector<Script>& Scripts() {
  static const std::vector<Script> kScripts = {
      {"UNet2DConditionModel",
       false,
       "text_to_image/train_text_to_image.py",
       "text_to_image/train_text_to_image_lora.py",
       {"to_k", "to_q", "to_v", "to_out.0"},
       false,
       "--dataset_name"},
      {"UNet2DConditionModel",
       true,
       "text_to_image/train_text_to_image_sdxl.py",
       "text_to_image/train_text_to_image_lora_sdxl.py",
       {"to_k", "to_q", "to_v", "to_out.0"},
       false,
       "--dataset_name"},
      {"SD3Transformer2DModel",
       false,
       "dreambooth/train_dreambooth_sd3.py",
       "dreambooth/train_dreambooth_lora_sd3.py",
       {"attn.add_k_proj", "attn.add_q_proj", "attn.add_v_proj", "attn.to_add_out", "attn.to_k", "attn.to_out.0",
        "attn.to_q", "attn.to_v"},
       true,
       "--instance_data_dir, --instance_prompt"},
      {"FluxTransformer2DModel",
       false,
       "dreambooth/train_dreambooth_flux.py",
       "dreambooth/train_dreambooth_lora_flux.py",
       {"attn.to_k", "attn.to_q", "attn.to_v", "attn.to_out.0", "attn.add_k_proj", "attn.add_q_proj", "attn.add_v_proj",
        "attn.to_add_out", "ff.net.0.proj", "ff.net.2", "ff_context.net.0.proj", "ff_context.net.2"},
       true,
       "--instance_data_dir, --instance_prompt"}};
  return kScripts;
}

Error CannotSay(const std::string& what, const std::string& hint) { return {ErrorCode::kUsage, "--emit", what, hint}; }

std::string ListOfLayers(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return text;
}

// Whether the script trains so. It runs under autocast or in fp32, clips, and builds one of two optimizers.
Status CheckScriptTrains(const SnippetOf& of, const Script& script) {
  const Optimizer optimizer = of.spec.optimizer;
  if (optimizer != Optimizer::kAdamW && optimizer != Optimizer::kAdamW8bit)
    return CannotSay("diffusers' scripts build no optimizer " + std::string(Name(optimizer)), "type --optimizer adamw");
  const Precision precision = of.plan.precision;
  if (precision == Precision::kBf16 || precision == Precision::kFp16 || precision == Precision::kFp64) {
    return CannotSay(
        "diffusers' scripts run in fp32 or under autocast, and not in " + std::string(Name(precision)) + " alone",
        "type --precision amp-" + std::string(precision == Precision::kFp16 ? "fp16" : "bf16"));
  }
  if (of.spec.ema != Ema::kNone)
    return CannotSay("diffusers' scripts keep an average of their own, EMAModel", "leave out --ema");
  if (of.finetuned->denoiser->height != of.finetuned->denoiser->width)
    return CannotSay("diffusers' scripts crop pictures to squares", "type --image with one length");
  if (!of.finetuned->lora) return Done();
  const Lora& lora = *of.finetuned->lora;
  const std::set<std::string> asked(lora.targets.begin(), lora.targets.end()),
      own(script.targets.begin(), script.targets.end());
  if (!script.takes_layers && asked != own) {
    return CannotSay(std::string(script.adapters) + " adapts " + ListOfLayers(script.targets) + " alone",
                     "type --lora " + std::to_string(lora.rank) + " without names of layers");
  }
  if (asked.contains("all-linear"))
    return CannotSay("--lora_layers takes names of layers, and not all-linear", "name the layers in --lora");
  if (!script.takes_layers && lora.dropout > 0)
    return CannotSay(std::string(script.adapters) + " takes no dropout of adapters", "type --lora without dropout");
  return Done();
}

}  // namespace

Result<std::string> DiffusersCommand(const SnippetOf& of) {
  const auto& denoiser = of.finetuned ? of.finetuned->denoiser : std::nullopt;
  const auto script = std::ranges::find_if(Scripts(), [&](const Script& one) {
    return denoiser && denoiser->of_class == one.of_class && denoiser->text_and_time == one.text_and_time;
  });
  if (script == Scripts().end()) {
    return CannotSay("diffusers has no example script that trains " + InQuotes(of.file),
                     "name one, such as sd-1.5, sdxl, sd3-medium or flux-dev");
  }
  if (const Status trains = CheckScriptTrains(of, *script); !trains.ok()) return trains.error();
  const Plan& plan = of.plan;
  const std::optional<Lora>& lora = of.finetuned->lora;
  const std::string path = lora ? script->adapters : script->all;
  std::string text = SnippetHeading(of) + ModulesRemark(of) + (lora ? "" : FreezeRemark(of.trained)) +
                     "# for examples/" + path +
                     " at the tag of the diffusers that is installed (flags as of 0.40)\n# add " + script->data +
                     " and --output_dir\n";
  if (of.spec.around.resident == Bytes())
    text +=
        "# the plan leaves out the VAE and the text encoders that the script keeps on the card: --resident counts "
        "them\n";
  if (of.spec.clip_grad_norm == 0) text += "# the script clips gradients, which --clip-grad-norm 1 counts\n";
  std::vector<std::string> flags = {"--pretrained_model_name_or_path=" + InShell(of.finetuned->model),
                                    "--resolution=" + std::to_string(denoiser->height),
                                    "--train_batch_size=" + std::to_string(plan.batch),
                                    "--gradient_accumulation_steps=" + std::to_string(plan.accumulate)};
  const bool fp16 = plan.precision == Precision::kAmpFp16, bf16 = plan.precision == Precision::kAmpBf16;
  flags.push_back(std::string("--mixed_precision=") + (fp16 ? "fp16" : bf16 ? "bf16" : "no"));
  if (plan.precision == Precision::kTf32) flags.emplace_back("--allow_tf32");
  if (!plan.checkpoint.empty()) flags.emplace_back("--gradient_checkpointing");
  if (of.spec.optimizer == Optimizer::kAdamW8bit) flags.emplace_back("--use_8bit_adam");
  if (of.spec.clip_grad_norm > 0) flags.push_back("--max_grad_norm=" + NumberText(of.spec.clip_grad_norm));
  if (lora) {
    flags.push_back("--rank=" + std::to_string(lora->rank));
    if (std::set(lora->targets.begin(), lora->targets.end()) !=
        std::set(script->targets.begin(), script->targets.end()))
      flags.push_back("--lora_layers=" + InShell(ListOfLayers(lora->targets)));
    if (lora->dropout > 0) flags.push_back("--lora_dropout=" + NumberText(lora->dropout));
  }
  text += "accelerate launch" +
          (of.spec.ranks > 1 ? " --multi_gpu --num_processes=" + std::to_string(of.spec.ranks) : std::string()) + " " +
          path.substr(path.find('/') + 1);
  for (const std::string& flag : flags) text += " \\\n  " + flag;
  return text + "\n";
}

}  // namespace vramplan
