// What people paste who finetune language models by their names. The keys are those of trl 1.16, peft 0.21, transformers
// 5.23, accelerate 1.15 (commands/config/cluster.py), axolotl 0.19 (utils/schemas) and torchtune 0.6 (recipes/configs).
#include <algorithm>
#include <array>
#include <string_view>

#include "planner/report/snippets/snippets.h"
#include "planner/report/writing/numbers.h"
#include "planner/report/writing/quoting.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

bool HasFp16(const Plan& plan) { return plan.precision == Precision::kAmpFp16; }
bool HasBf16(const Plan& plan) { return plan.precision == Precision::kAmpBf16; }
const char* InPythonWords(bool value) { return value ? "True" : "False"; }
const char* InYamlWords(bool value) { return value ? "true" : "false"; }

// "bfloat16" of plans whose weights are in halves; empty: float32.
const char* TypeOfWeights(const Plan& plan) {
  if (plan.precision == Precision::kBf16) return "bfloat16";
  return plan.precision == Precision::kFp16 ? "float16" : "";
}

// Of PyTorch's own optimizers, by their class.
const char* TorchOptimizer(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdam:
      return "torch.optim.Adam";
    case Optimizer::kAdamW:
      return "torch.optim.AdamW";
    case Optimizer::kSgd:
    case Optimizer::kSgdMomentum:
      return "torch.optim.SGD";
    case Optimizer::kAdam8bit:
      return "bitsandbytes.optim.Adam8bit";
    case Optimizer::kAdamW8bit:
      return "bitsandbytes.optim.AdamW8bit";
    default:
      return nullptr;
  }
}

// ["q_proj", "v_proj"], in Python and in YAML alike.
std::string ListOf(const std::vector<std::string>& names) {
  std::string text = "[";
  for (const std::string& name : names) text += (text.size() > 1 ? ", " : "") + InPython(name);
  return text + "]";
}

bool IsAllLinear(const Lora& lora) { return lora.targets.size() == 1 && lora.targets.front() == "all-linear"; }

const Lora* LoraOf(const SnippetOf& of) { return of.finetuned && of.finetuned->lora ? &*of.finetuned->lora : nullptr; }

Error Refuses(std::string text, std::string hint) {
  return {ErrorCode::kUsage, "--emit", std::move(text), std::move(hint)};
}

}  // namespace

bool IsCausal(const std::string& of_class) {
  return of_class.ends_with("ForCausalLM") || of_class.ends_with("LMHeadModel") ||
         of_class == "Gemma3ForConditionalGeneration";
}

namespace {

// TRL's SFTTrainer (trl/trainer/sft_trainer.py) and axolotl (loaders/model.py) load a name with AutoModelForCausalLM.
Status CheckIsCausal(const SnippetOf& of, const std::string& emitter) {
  if (!of.finetuned) {
    return Refuses(emitter + " trains a named causal language model, not " + InQuotes(of.file),
                   "type --emit pytorch, hf, accelerate or lightning");
  }
  const std::string& kind = of.finetuned->of_class;
  if (of.finetuned->denoiser) return Refuses(emitter + " trains no denoiser", "type --emit diffusers");
  if (!IsCausal(kind)) return Refuses(emitter + " trains causal language models, not " + kind, "type --emit hf");
  if (of.finetuned->model.starts_with("arXiv:"))
    return Refuses(of.file + " was never published, so no library can load it", "type --emit pytorch");
  return Done();
}

// Configs of torchtune 0.6 (recipes/configs) for one card: what trains adapters, and what trains every weight; null: there
// is none.
struct TunedModel {
  std::string_view source;  // also with "-Instruct" or "-it" behind it, which changes no size
  const char *adapters, *all;
};
constexpr auto kTuned = std::to_array<TunedModel>({
    {"meta-llama/Llama-2-7b-hf", "llama2/7B_lora_single_device", "llama2/7B_full_low_memory"},
    {"meta-llama/Llama-2-7b-chat-hf", "llama2/7B_lora_single_device", "llama2/7B_full_low_memory"},
    {"meta-llama/Meta-Llama-3-8B", "llama3/8B_lora_single_device", "llama3/8B_full_single_device"},
    {"meta-llama/Llama-3.1-8B", "llama3_1/8B_lora_single_device", "llama3_1/8B_full_single_device"},
    {"meta-llama/Llama-3.2-1B", "llama3_2/1B_lora_single_device", "llama3_2/1B_full_single_device"},
    {"meta-llama/Llama-3.2-3B", "llama3_2/3B_lora_single_device", "llama3_2/3B_full_single_device"},
    {"mistralai/Mistral-7B-v0.1", "mistral/7B_lora_single_device", "mistral/7B_full_low_memory"},
    {"google/gemma-2b", "gemma/2B_lora_single_device", nullptr},
    {"google/gemma-7b", "gemma/7B_lora_single_device", nullptr},
    {"google/gemma-2-2b", "gemma2/2B_lora_single_device", nullptr},
    {"google/gemma-2-9b", "gemma2/9B_lora_single_device", nullptr},
    {"google/gemma-2-27b", "gemma2/27B_lora_single_device", nullptr},
    {"microsoft/Phi-3-mini-4k-instruct", "phi3/mini_lora_single_device", "phi3/mini_full_low_memory"},
    {"microsoft/phi-4", "phi4/14B_lora_single_device", "phi4/14B_full_low_memory"},
    {"Qwen/Qwen2-0.5B", "qwen2/0.5B_lora_single_device", "qwen2/0.5B_full_single_device"},
    {"Qwen/Qwen2-1.5B", "qwen2/1.5B_lora_single_device", "qwen2/1.5B_full_single_device"},
    {"Qwen/Qwen2-7B", "qwen2/7B_lora_single_device", "qwen2/7B_full_single_device"},
    {"Qwen/Qwen2.5-0.5B", "qwen2_5/0.5B_lora_single_device", "qwen2_5/0.5B_full_single_device"},
    {"Qwen/Qwen2.5-1.5B", "qwen2_5/1.5B_lora_single_device", "qwen2_5/1.5B_full_single_device"},
    {"Qwen/Qwen2.5-3B", "qwen2_5/3B_lora_single_device", "qwen2_5/3B_full_single_device"},
    {"Qwen/Qwen2.5-7B", "qwen2_5/7B_lora_single_device", "qwen2_5/7B_full_single_device"},
    {"Qwen/Qwen2.5-14B", "qwen2_5/14B_lora_single_device", nullptr},
});

// The config that torchtune has of the model.
Result<std::string> TorchtuneConfig(const SnippetOf& of) {
  const std::string hint = "type --emit sft or axolotl";
  if (const Status causal = CheckIsCausal(of, "torchtune"); !causal.ok()) return causal.error();
  std::string source = of.finetuned->model;
  for (const std::string_view more : {"-Instruct", "-it"})
    if (source.ends_with(more)) source.resize(source.size() - more.size());
  const auto* const tuned = std::ranges::find(kTuned, source, &TunedModel::source);
  if (tuned == kTuned.end()) return Refuses("torchtune 0.6 has no config of " + of.finetuned->model, hint);
  const char* const config = LoraOf(of) == nullptr ? tuned->all : tuned->adapters;
  if (config == nullptr) return Refuses("torchtune 0.6 trains " + source + " on one card with adapters alone", hint);
  return std::string(config);
}

}  // namespace

Result<std::string> SftModule(const SnippetOf& of) {
  const Plan& plan = of.plan;
  if (const Status causal = CheckIsCausal(of, "sft"); !causal.ok()) return causal.error();
  const Result<std::string> optimizer = HfOptimizer(of);
  if (!optimizer.ok()) return optimizer.error();
  const Lora* const lora = LoraOf(of);
  const bool packed = !of.finetuned->packed.empty();
  const std::string in_halves = TypeOfWeights(plan), type = in_halves.empty() ? of.finetuned->weights : in_halves;
  std::string text = SnippetHeading(of) + ModulesRemark(of) + (lora == nullptr ? FreezeRemark(of.trained) : "") +
                     "# for trl 1.16 and peft 0.21:\n# SFTTrainer(model=" + InComment(InPython(of.finetuned->model)) +
                     ", args=arguments, " + (lora == nullptr ? "" : "peft_config=adapters, ") + "train_dataset=...)\n";
  const bool eight = packed && of.finetuned->packed == "int8";
  if (packed && !eight) text += "import torch\n";
  if (lora != nullptr) text += "from peft import LoraConfig\n";
  if (packed) text += "from transformers import BitsAndBytesConfig\n";
  text +=
      "from trl import SFTConfig\n\narguments = SFTConfig(\n    output_dir=\"out\",\n    per_device_train_batch_size=" +
      std::to_string(plan.batch) + ",\n    gradient_accumulation_steps=" + std::to_string(plan.accumulate) +
      ",\n    optim=\"" + *optimizer + "\",\n    bf16=" + InPythonWords(HasBf16(plan)) +
      ",\n    fp16=" + InPythonWords(HasFp16(plan)) + ",\n    max_grad_norm=" + NumberText(of.spec.clip_grad_norm) +
      "," + (of.spec.clip_grad_norm > 0 ? "\n" : "  # the plan does not clip; left out, this is 1.0\n");
  if (of.finetuned->length) text += "    max_length=" + std::to_string(*of.finetuned->length) + ",\n";
  text += std::string("    gradient_checkpointing=") + InPythonWords(!plan.checkpoint.empty()) + ",\n";
  if (!plan.checkpoint.empty()) text += "    gradient_checkpointing_kwargs={\"use_reentrant\": False},\n";
  // trl/trainer/sft_trainer.py: it sets fused_linear_cross_entropy to False, for its own head.
  if (of.finetuned->liger)
    text += "    use_liger_kernel=True,  # trl puts a loss of its own in place of Liger's, which the plan counts\n";
  std::string loaded = type.empty() ? "" : "\"dtype\": \"" + type + "\"";
  if (eight) {
    loaded +=
        std::string(loaded.empty() ? "" : ", ") + "\"quantization_config\": BitsAndBytesConfig(load_in_8bit=True)";
  } else if (packed) {
    loaded += std::string(loaded.empty() ? "" : ", ") +
              "\"quantization_config\": BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"" +
              of.finetuned->packed + "\", bnb_4bit_use_double_quant=" + InPythonWords(of.finetuned->nested) +
              ", bnb_4bit_compute_dtype=torch." + (HasFp16(plan) || type == "float16" ? "float16" : "bfloat16") + ")";
  }
  if (!loaded.empty()) text += "    model_init_kwargs={" + loaded + "},\n";
  text += ")\n";
  if (lora == nullptr) return text;
  text += "adapters = LoraConfig(\n    r=" + std::to_string(lora->rank) +
          ",\n    target_modules=" + (IsAllLinear(*lora) ? "\"all-linear\"" : ListOf(lora->targets)) + ",\n";
  if (lora->dropout > 0) text += "    lora_dropout=" + NumberText(lora->dropout) + ",\n";
  if (lora->dora) text += "    use_dora=True,\n";
  return text + "    task_type=\"CAUSAL_LM\",\n)\n";
}

std::string Fsdp2Config(const SnippetOf& of) {
  const char* const mixed = HasFp16(of.plan) ? "fp16" : HasBf16(of.plan) ? "bf16" : "\"no\"";
  return SnippetHeading(of) + ModulesRemark(of) + FreezeRemark(of.trained) +
         (of.spec.ranks > 1 ? ""
                            : "# the plan is for one card alone: what each of num_processes cards holds is less\n") +
         "# accelerate 1.15: accelerate launch --config_file THIS --gradient_accumulation_steps " +
         std::to_string(of.plan.accumulate) + " train.py, with batches of " + std::to_string(of.plan.batch) +
         "\ncompute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: " + mixed +
         "\nnum_processes: " + std::to_string(of.spec.ranks) +
         "\nnum_machines: 1\nmachine_rank: 0\nuse_cpu: false\nfsdp_config:\n  fsdp_version: 2\n"
         "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_reshard_after_forward: true\n"
         "  fsdp_offload_params: false\n  fsdp_state_dict_type: SHARDED_STATE_DICT\n"
         "  fsdp_cpu_ram_efficient_loading: true\n  fsdp_activation_checkpointing: " +
         InYamlWords(!of.plan.checkpoint.empty()) + "\n";
}

Result<std::string> AxolotlConfig(const SnippetOf& of) {
  const Plan& plan = of.plan;
  if (const Status causal = CheckIsCausal(of, "axolotl"); !causal.ok()) return causal.error();
  const Result<std::string> optimizer = HfOptimizer(of);
  if (!optimizer.ok()) return optimizer.error();
  const Lora* const lora = LoraOf(of);
  const bool packed = !of.finetuned->packed.empty();
  std::string text =
      SnippetHeading(of) + ModulesRemark(of) + (lora == nullptr ? FreezeRemark(of.trained) : "") +
      "# for axolotl 0.19; add datasets, learning_rate and output_dir\nbase_model: " + InPython(of.finetuned->model) +
      "\nmicro_batch_size: " + std::to_string(plan.batch) +
      "\ngradient_accumulation_steps: " + std::to_string(plan.accumulate) + "\n";
  if (of.finetuned->length) text += "sequence_len: " + std::to_string(*of.finetuned->length) + "\n";
  // utils/schemas/config.py: bf16 and fp16 are mixed precision, bfloat16 and float16 "No AMP".
  text += "optimizer: " + *optimizer + "\nbf16: " + InYamlWords(HasBf16(plan)) +
          "\nfp16: " + InYamlWords(HasFp16(plan)) + "\n";
  if (plan.precision == Precision::kFp16) text += "float16: true\n";
  // core/builders/base.py: bf16 = self.cfg.bf16 or self.cfg.bfloat16
  if (plan.precision == Precision::kBf16)
    text += "bfloat16: true  # no AMP; axolotl 0.19 hands bf16=True to the trainer nevertheless\n";
  // utils/config/__init__.py, resolve_dtype
  if ((HasBf16(plan) || HasFp16(plan)) && of.finetuned->weights.empty()) {
    text += std::string("# with ") + (HasBf16(plan) ? "bf16" : "fp16") +
            " axolotl loads the weights in halves, too, and takes less than this plan\n";
  }
  if (of.spec.clip_grad_norm > 0) text += "max_grad_norm: " + NumberText(of.spec.clip_grad_norm) + "\n";
  text += std::string("gradient_checkpointing: ") + InYamlWords(!plan.checkpoint.empty()) + "\n";
  if (!plan.checkpoint.empty()) text += "gradient_checkpointing_kwargs:\n  use_reentrant: false\n";
  if (of.finetuned->liger) {  // integrations/liger/args.py
    text +=
        "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_rope: true\nliger_rms_norm: true\n"
        "liger_glu_activation: true\nliger_fused_linear_cross_entropy: true\n";
  }
  if (lora == nullptr) return text;
  text += std::string("adapter: ") +
          (!packed                          ? "lora"
           : of.finetuned->packed == "int8" ? "lora\nload_in_8bit: true"
                                            : "qlora\nload_in_4bit: true") +
          "\nlora_r: " + std::to_string(lora->rank) + "\nlora_alpha: " + std::to_string(2 * lora->rank) +
          "  # changes no memory\nlora_dropout: " + NumberText(lora->dropout) + "\n";
  if (lora->dora) text += "peft_use_dora: true\n";
  return text + (IsAllLinear(*lora) ? "lora_target_linear: true" : "lora_target_modules: " + ListOf(lora->targets)) +
         "\n";
}

Result<std::string> TorchtuneKeys(const SnippetOf& of) {
  const Plan& plan = of.plan;
  const Result<std::string> config = TorchtuneConfig(of);
  if (!config.ok()) return config.error();
  const char* const optimizer = TorchOptimizer(of.spec.optimizer);
  if (optimizer == nullptr) {
    return Error{ErrorCode::kUsage, "--emit",
                 "torchtune's recipes build no optimizer " + std::string(Name(of.spec.optimizer)) + " by a class",
                 "type --optimizer adamw"};
  }
  if (HasFp16(plan) || HasBf16(plan) || plan.precision == Precision::kFp16) {
    return Error{ErrorCode::kUsage, "--emit", "torchtune trains in bf16 or fp32 weights, without autocast",
                 "plan with --precision bf16"};
  }
  const Lora* const lora = LoraOf(of);
  if (lora != nullptr && lora->dora)
    return Refuses("torchtune has a DoRA of its own, which takes other bytes", "type --emit sft or axolotl");
  if (of.finetuned->liger) return Refuses("torchtune has no kernels of Liger", "type --emit hf or axolotl");
  if (!of.finetuned->packed.empty())
    return Refuses("torchtune packs weights with torchao, and the plan counts those of bitsandbytes",
                   "type --emit sft or axolotl");
  std::string text = SnippetHeading(of) + ModulesRemark(of) + (lora == nullptr ? FreezeRemark(of.trained) : "") +
                     "# keys for the config " + *config +
                     " of torchtune 0.6\nbatch_size: " + std::to_string(plan.batch) +
                     "\ngradient_accumulation_steps: " + std::to_string(plan.accumulate) +
                     "\ndtype: " + (plan.precision == Precision::kBf16 ? "bf16" : "fp32") +
                     "\nenable_activation_checkpointing: " + InYamlWords(!plan.checkpoint.empty()) +
                     "\nenable_activation_offloading: false\noptimizer:\n  _component_: " + optimizer + "\n";
  if (plan.optimizer_impl == OptimizerImpl::kFused) text += "  fused: true\n";
  if (of.spec.clip_grad_norm > 0) text += "clip_grad_norm: " + NumberText(of.spec.clip_grad_norm) + "\n";
  if (of.finetuned->length) text += "tokenizer:\n  max_seq_len: " + std::to_string(*of.finetuned->length) + "\n";
  if (lora == nullptr) return text;
  // Names of torchtune's own modules: output_proj is o_proj, and those of the MLP are asked for together.
  std::vector<std::string> attention;
  bool mlp = IsAllLinear(*lora);
  for (const std::string& target : lora->targets) {
    if (target == "q_proj" || target == "k_proj" || target == "v_proj") attention.push_back(target);
    if (target == "o_proj") attention.emplace_back("output_proj");
    mlp = mlp || target == "gate_proj" || target == "up_proj" || target == "down_proj";
  }
  if (IsAllLinear(*lora)) attention = {"q_proj", "k_proj", "v_proj", "output_proj"};
  return text + "model:\n  lora_attn_modules: " + ListOf(attention) + "\n  apply_lora_to_mlp: " + InYamlWords(mlp) +
         "\n  apply_lora_to_output: false\n  lora_rank: " + std::to_string(lora->rank) +
         "\n  lora_dropout: " + NumberText(lora->dropout) + "\n";
}

}  // namespace vramplan
