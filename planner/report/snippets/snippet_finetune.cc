// What people paste who finetune language models. The keys are those of trl 1.16, peft 0.21, transformers 5.23, accelerate
// 1.15 (commands/config/cluster.py), axolotl 0.19 (utils/schemas) and torchtune 0.6 (recipes/configs).
#include "planner/report/snippets/snippets.h"
#include "planner/report/writing/numbers.h"
#include "planner/report/writing/quoting.h"

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

std::string ModelOf(const SnippetOf& of) { return of.finetuned ? of.finetuned->model : of.file; }

}  // namespace

Result<std::string> SftModule(const SnippetOf& of) {
  const Plan& plan = of.plan;
  const Result<std::string> optimizer = HfOptimizer(of);
  if (!optimizer.ok()) return optimizer.error();
  const Lora* const lora = LoraOf(of);
  const bool packed = of.finetuned && !of.finetuned->packed.empty();
  const std::string type = TypeOfWeights(plan);
  std::string text = SnippetHeading(of) + ModulesRemark(of) + (lora == nullptr ? FreezeRemark(of.trained) : "") +
                     "# for trl 1.16 and peft 0.21:\n# SFTTrainer(model=" + InComment(InPython(ModelOf(of))) +
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
  if (of.finetuned && of.finetuned->length) text += "    max_length=" + std::to_string(*of.finetuned->length) + ",\n";
  text += std::string("    gradient_checkpointing=") + InPythonWords(!plan.checkpoint.empty()) + ",\n";
  if (!plan.checkpoint.empty()) text += "    gradient_checkpointing_kwargs={\"use_reentrant\": False},\n";
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
  const Result<std::string> optimizer = HfOptimizer(of);
  if (!optimizer.ok()) return optimizer.error();
  const Lora* const lora = LoraOf(of);
  const bool packed = of.finetuned && !of.finetuned->packed.empty();
  const bool halves = plan.precision == Precision::kBf16 || HasBf16(plan);
  std::string text =
      SnippetHeading(of) + ModulesRemark(of) + (lora == nullptr ? FreezeRemark(of.trained) : "") +
      "# for axolotl 0.19; add datasets, learning_rate and output_dir\nbase_model: " + InPython(ModelOf(of)) +
      "\nmicro_batch_size: " + std::to_string(plan.batch) +
      "\ngradient_accumulation_steps: " + std::to_string(plan.accumulate) + "\n";
  if (of.finetuned && of.finetuned->length) text += "sequence_len: " + std::to_string(*of.finetuned->length) + "\n";
  text += "optimizer: " + *optimizer + "\nbf16: " + InYamlWords(halves) +
          "\nfp16: " + InYamlWords(HasFp16(plan) || plan.precision == Precision::kFp16) + "\n";
  if (HasBf16(plan)) text += "# with bf16 axolotl loads the weights in halves, too, and takes less than this plan\n";
  if (of.spec.clip_grad_norm > 0) text += "max_grad_norm: " + NumberText(of.spec.clip_grad_norm) + "\n";
  text += std::string("gradient_checkpointing: ") + InYamlWords(!plan.checkpoint.empty()) + "\n";
  if (!plan.checkpoint.empty()) text += "gradient_checkpointing_kwargs:\n  use_reentrant: false\n";
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
    return Error{ErrorCode::kUsage, "--emit", "torchtune has a DoRA of its own, which takes other bytes",
                 "type --emit sft or axolotl"};
  std::string text = SnippetHeading(of) + ModulesRemark(of) + (lora == nullptr ? FreezeRemark(of.trained) : "") +
                     std::string("# keys for a config of torchtune 0.6, such as llama3_1/8B_") +
                     (lora == nullptr ? "full" : "lora") + "_single_device\nbatch_size: " + std::to_string(plan.batch) +
                     "\ngradient_accumulation_steps: " + std::to_string(plan.accumulate) +
                     "\ndtype: " + (plan.precision == Precision::kBf16 ? "bf16" : "fp32") +
                     "\nenable_activation_checkpointing: " + InYamlWords(!plan.checkpoint.empty()) +
                     "\nenable_activation_offloading: false\noptimizer:\n  _component_: " + optimizer + "\n";
  if (plan.optimizer_impl == OptimizerImpl::kFused) text += "  fused: true\n";
  if (of.spec.clip_grad_norm > 0) text += "clip_grad_norm: " + NumberText(of.spec.clip_grad_norm) + "\n";
  if (of.finetuned && of.finetuned->length)
    text += "tokenizer:\n  max_seq_len: " + std::to_string(*of.finetuned->length) + "\n";
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
