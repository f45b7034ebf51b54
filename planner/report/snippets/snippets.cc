#include "planner/report/snippets/snippets.h"

#include <algorithm>
#include <iterator>

#include "planner/report/writing/json.h"
#include "planner/report/writing/numbers.h"
#include "planner/report/writing/quoting.h"
#include "planner/spec/nearest.h"
#include "planner/timeline/deepspeed3.h"

namespace vramplan {
namespace {

constexpr const char* kNames[] = {"pytorch",   "pytorch-sac", "hf",        "accelerate", "lightning",
                                  "deepspeed", "keras",       "env",       "sft",        "fsdp2",
                                  "axolotl",   "torchtune",   "diffusers", "nnunet",     "vllm"};

bool IsFp16(const Plan& plan) { return plan.precision == Precision::kAmpFp16; }
bool IsBf16(const Plan& plan) { return plan.precision == Precision::kAmpBf16; }

// A remark without its "# " and its end.
std::string Stripped(const std::string& remark) { return remark.substr(2, remark.size() - 3); }

std::string ImportFnmatch(const SnippetOf& of) { return of.trained.patterns.empty() ? "" : "import fnmatch\n\n"; }

// TRAINED, freeze(model) and trained(model); `where` they belong.
std::string FreezeModule(const SnippetOf& of, const char* where) {
  if (of.trained.patterns.empty()) return "";
  return TrainedInPython(of.trained) + FreezeInPython(of.trained) + "\n\n# " + where + "\n";
}

Result<std::string> Hf(const SnippetOf& of) {
  const Plan& plan = of.plan;
  const Result<std::string> optimizer = HfOptimizer(of);
  if (!optimizer.ok()) return optimizer.error();
  std::string text = SnippetHeading(of) + LoadedRemark(of, true) + ModulesRemark(of) + ImportFnmatch(of) +
                     "from transformers import TrainingArguments\n\n" +
                     FreezeModule(of, "trainer = Trainer(model=freeze(model), args=arguments, ...)") +
                     "arguments = TrainingArguments(\n"
                     "    output_dir=\"out\",\n    per_device_train_batch_size=" +
                     std::to_string(plan.batch) +
                     ",\n    gradient_accumulation_steps=" + std::to_string(plan.accumulate) + ",\n    optim=\"" +
                     *optimizer + "\",\n";
  if (IsFp16(plan)) text += "    fp16=True,\n";
  if (IsBf16(plan)) text += "    bf16=True,\n";
  if (of.finetuned && of.finetuned->liger) text += "    use_liger_kernel=True,\n";
  text += "    max_grad_norm=" + NumberText(of.spec.clip_grad_norm) + ",";
  text += of.spec.clip_grad_norm > 0 ? "\n" : "  # the plan does not clip; left out, this is 1.0\n";
  if (!plan.checkpoint.empty()) {
    text +=
        "    gradient_checkpointing=True,  # all blocks\n"
        "    gradient_checkpointing_kwargs={\"use_reentrant\": False},\n";
  }
  return text + ")\n";
}

std::string Accelerate(const SnippetOf& of) {
  const char* mixed = IsFp16(of.plan) ? "fp16" : IsBf16(of.plan) ? "bf16" : "\"no\"";
  return SnippetHeading(of) + LoadedRemark(of) + ModulesRemark(of) + FreezeRemark(of.trained) +
         "# accelerate launch --config_file THIS --gradient_accumulation_steps " + std::to_string(of.plan.accumulate) +
         " train.py, with batches of " + std::to_string(of.plan.batch) +
         "\ncompute_environment: LOCAL_MACHINE\ndistributed_type: " + (of.spec.ranks > 1 ? "MULTI_GPU" : "\"NO\"") +
         "\nmixed_precision: " + mixed + "\nnum_processes: " + std::to_string(of.spec.ranks) +
         "\nnum_machines: 1\nmachine_rank: 0\nuse_cpu: false\n";
}

const char* LightningPrecision(const Plan& plan) {
  switch (plan.precision) {
    case Precision::kAmpFp16:
      return "16-mixed";
    case Precision::kAmpBf16:
      return "bf16-mixed";
    case Precision::kFp16:
      return "16-true";
    case Precision::kBf16:
      return "bf16-true";
    case Precision::kFp64:
      return "64-true";
    case Precision::kFp32:
    case Precision::kTf32:
      break;
  }
  return "32-true";
}

std::string Lightning(const SnippetOf& of) {
  return SnippetHeading(of) + LoadedRemark(of) + ModulesRemark(of) + ImportFnmatch(of) +
         "from lightning import Trainer\n\n" +
         FreezeModule(of,
                      "In the LightningModule: freeze(self) at the end of __init__, trained(self) for the optimizer.") +
         "BATCH = " + std::to_string(of.plan.batch) +
         "  # of the DataLoader\ntrainer = Trainer(devices=1, precision=\"" + LightningPrecision(of.plan) +
         "\", accumulate_grad_batches=" + std::to_string(of.plan.accumulate) +
         (of.spec.clip_grad_norm > 0 ? ", gradient_clip_val=" + NumberText(of.spec.clip_grad_norm) : "") + ")\n";
}

std::string Deepspeed(const SnippetOf& of) {
  const Plan& plan = of.plan;
  Json object = Json::Object();
  const std::string loaded = LoadedRemark(of);
  if (!loaded.empty())
    object.Set("_comment", Stripped(loaded));
  else if (!of.trained.patterns.empty())
    object.Set("_comment", Stripped(FreezeRemark(of.trained)));
  object.Set("train_micro_batch_size_per_gpu", plan.batch).Set("gradient_accumulation_steps", plan.accumulate);
  if (IsFp16(plan) || IsBf16(plan)) {
    Json autocast = Json::Object();
    autocast.Set("enabled", true).Set("dtype", IsFp16(plan) ? "float16" : "bfloat16");
    object.Set("torch_autocast", std::move(autocast));
  }
  if (of.spec.clip_grad_norm > 0) object.Set("gradient_clipping", of.spec.clip_grad_norm);
  const bool shares = IsDeepspeed(of.spec.strategy);
  if (shares && plan.precision == Precision::kBf16) {
    Json halves = Json::Object();
    halves.Set("enabled", true);
    object.Set("bf16", std::move(halves));
  }
  Json zero = Json::Object();
  zero.Set("stage", shares ? 1 + static_cast<int>(of.spec.strategy) - static_cast<int>(Strategy::kZero1) : 0);
  if (shares) {  // what the answer is for: the defaults of DeepSpeed 0.19 (runtime/zero/config.py)
    const bool gathers = of.spec.strategy == Strategy::kZero3;
    zero.Set("reduce_bucket_size", kReduceBucket).Set("overlap_comm", gathers).Set("contiguous_gradients", true);
    if (gathers) {
      zero.Set("stage3_prefetch_bucket_size", kPrefetched).Set("stage3_param_persistence_threshold", kPersistent);
      zero.Set("stage3_max_live_parameters", kMostThere).Set("stage3_max_reuse_distance", kReuse);
      zero.Set("sub_group_size", kSubGroup);
    }
  }
  object.Set("zero_optimization", std::move(zero));
  return Print(object);
}

// PYTORCH_CUDA_ALLOC_CONF is what every version of PyTorch 2 reads; newer ones also call it PYTORCH_ALLOC_CONF.
std::string Env(const SnippetOf& of) {
  if (of.allocator_text.empty()) {
    return SnippetHeading(of) +
           "# the plan counts on PyTorch's own settings of the allocator\nunset PYTORCH_CUDA_ALLOC_CONF\n";
  }
  return SnippetHeading(of) + "export PYTORCH_CUDA_ALLOC_CONF=" + InShell(of.allocator_text) + "\n";
}

}  // namespace

std::string LoadedRemark(const SnippetOf& of, bool puts_liger) {
  const bool misses_liger = of.finetuned && of.finetuned->liger && !puts_liger;
  if (!of.finetuned || (!of.finetuned->lora && of.finetuned->packed.empty() && !misses_liger)) return "";
  const Finetuned& model = *of.finetuned;
  const std::string bits = model.packed == "int8" ? "8" : "4";
  std::string what = model.packed.empty() ? "" : "weights in " + bits + " bits (" + model.packed + ")";
  if (model.lora) what += (what.empty() ? "" : " and ") + ("LoRA of rank " + std::to_string(model.lora->rank));
  if (misses_liger) what += std::string(what.empty() ? "" : " and ") + "Liger's kernels";
  const char* const emitter = model.denoiser             ? ": --emit diffusers"
                              : IsCausal(model.of_class) ? ": --emit sft or axolotl"
                                                         : "";
  return "# the plan counts on " + what + ", which these settings leave out" + emitter + "\n";
}

std::string SnippetHeading(const SnippetOf& of) {
  std::string text = "# " + InComment(of.file) + " at batch " + std::to_string(of.plan.batch) + " on " +
                     (of.spec.ranks > 1 ? "each of " + std::to_string(of.spec.ranks) + " cards (" : "") +
                     InComment(of.device) + (of.spec.ranks > 1 ? ")" : "") + ", by vramplan: allocated " +
                     ToString(of.plan.peak.peak.allocated) + ", on the device " + ToString(of.needs) + "\n";
  return text;
}

bool WrapsEveryOrNone(Emit emit) {
  return emit == Emit::kHf || emit == Emit::kSft || emit == Emit::kFsdp2 || emit == Emit::kAxolotl ||
         emit == Emit::kTorchtune || emit == Emit::kDiffusers;
}

bool HasOnlyAdamW(Emit emit) {
  return emit == Emit::kHf || emit == Emit::kSft || emit == Emit::kAxolotl || emit == Emit::kDiffusers;
}

std::string ModulesRemark(const SnippetOf& of) {
  if (of.plan.checkpoint.empty() || (of.finetuned && of.finetuned->every_layer)) return "";
  std::string text = "# the plan checkpoints " + std::to_string(of.plan.checkpoint.size()) +
                     " modules; exactly those: model = prepare(model) of --emit pytorch" +
                     (of.plan.saved.empty() ? "\n" : "-sac\n");
  return text;
}

// transformers 5.
Result<std::string> HfOptimizer(const SnippetOf& of) {
  const bool fused = of.plan.optimizer_impl == OptimizerImpl::kFused;
  switch (of.spec.optimizer) {
    case Optimizer::kAdamW:
      return std::string(fused ? "adamw_torch_fused" : "adamw_torch");
    case Optimizer::kSgd:
      return std::string("sgd");
    case Optimizer::kAdafactorHf:
      return std::string("adafactor");
    case Optimizer::kAdagrad:
      return std::string("adagrad");
    case Optimizer::kRmsprop:
      return std::string("rmsprop");
    case Optimizer::kAdamW8bit:
      return std::string("adamw_bnb_8bit");
    case Optimizer::kLion8bit:
      return std::string("lion_8bit");
    default:
      return Error{ErrorCode::kUsage, "--emit",
                   "TrainingArguments has no name for optimizer " + std::string(Name(of.spec.optimizer)),
                   "type --optimizer adamw"};
  }
}

std::vector<std::string> EmitNames() { return {std::begin(kNames), std::end(kNames)}; }

Result<Emit> ParseEmit(std::string_view text) {
  const std::vector<std::string> names = EmitNames();
  const auto found = std::ranges::find(names, text);
  if (found != names.end()) return static_cast<Emit>(found - names.begin() + 1);
  const std::string near = SuggestNearest(text, names);
  return Error{ErrorCode::kUsage, "--emit", InQuotes(text) + " is not one of " + JoinChoices(names),
               near.empty() ? "type --emit pytorch" : near};
}

Result<std::string> PrintSnippet(Emit emit, const SnippetOf& of) {
  // A configuration that says nothing of the other cards would put all of the model on one.
  if (of.spec.strategy == Strategy::kFsdp2 && emit != Emit::kFsdp2 && emit != Emit::kEnv)
    return Error{ErrorCode::kUsage, "--emit", EmitNames()[static_cast<size_t>(emit) - 1] + " says nothing of fsdp2",
                 "type --emit fsdp2"};
  if (IsDeepspeed(of.spec.strategy) && emit != Emit::kDeepspeed && emit != Emit::kEnv)
    return Error{ErrorCode::kUsage, "--emit",
                 std::string(EmitNames()[static_cast<size_t>(emit) - 1]) + " says nothing of DeepSpeed",
                 "type --emit deepspeed"};
  if (of.spec.strategy == Strategy::kDdp && emit == Emit::kFsdp2)
    return Error{ErrorCode::kUsage, "--emit", "fsdp2 is not how the cards share the model", "type --emit accelerate"};
  switch (emit) {
    case Emit::kPytorch:
      if (of.plan.tier == Tier::kOperators) {
        return Error{ErrorCode::kUsage, "--emit", "the plan saves operator calls, which needs selective checkpoints",
                     "type --emit pytorch-sac, or --tier modules"};
      }
      return PytorchModule(of);
    case Emit::kPytorchSac:
      return PytorchModule(of);
    case Emit::kKeras:
      return KerasModule(of);
    case Emit::kHf:
      return Hf(of);
    case Emit::kAccelerate:
      return Accelerate(of);
    case Emit::kLightning:
      return Lightning(of);
    case Emit::kDeepspeed:
      return Deepspeed(of);
    case Emit::kEnv:
      return Env(of);
    case Emit::kSft:
      return SftModule(of);
    case Emit::kFsdp2:
      return Fsdp2Config(of);
    case Emit::kAxolotl:
      return AxolotlConfig(of);
    case Emit::kTorchtune:
      return TorchtuneKeys(of);
    case Emit::kDiffusers:
      return DiffusersCommand(of);
    case Emit::kNnUnet:
      return NnUnetConfiguration(of);
    case Emit::kVllm:  // no plan has it
    case Emit::kNone:
      break;
  }
  return std::string();
}

}  // namespace vramplan
