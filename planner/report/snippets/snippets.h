// Snippets: a plan as the configuration that applies it: a Python module, or a file of a training framework.
//
//   Emit::kPytorch   BATCH = 96 ... def prepare(model): wraps the chosen modules    plan.py
//   Emit::kEnv       export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
//   Emit::kAxolotl   micro_batch_size: 4 ... adapter: lora                          a config of axolotl
//   Emit::kDiffusers accelerate launch train_text_to_image_lora.py ... --rank=16    a command of diffusers' scripts
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/architectures/lora.h"
#include "graph/base/result.h"
#include "planner/report/snippets/snippet_freeze.h"
#include "planner/solver/plan.h"

namespace vramplan {

enum class Emit : uint8_t {
  kNone,
  kPytorch,
  kPytorchSac,
  kHf,
  kAccelerate,
  kLightning,
  kDeepspeed,
  kKeras,
  kEnv,
  kSft,
  kFsdp2,
  kAxolotl,
  kTorchtune,
  kDiffusers,
  kNnUnet,
  kVllm  // the command of an answer of --engine vllm (planner/report/vllm.h)
};
Result<Emit> ParseEmit(std::string_view text);
std::vector<std::string> EmitNames();

// A named model of diffusers.
struct Denoiser {
  std::string of_class;           // "UNet2DConditionModel"
  bool text_and_time = false;     // it is told the picture's size, as SDXL is
  int64_t height = 0, width = 0;  // in pixels
};

// What a plan of a named model says besides: its source, its adapters, and how the base is loaded.
struct Finetuned {
  std::string model;              // "meta-llama/Llama-3.1-8B"
  std::string of_class;           // "LlamaForCausalLM"
  std::optional<Lora> lora;       // its targets are those that are taken, also where none were given
  std::optional<int64_t> length;  // tokens of a sequence
  std::string packed;             // "nf4", "fp4", "int8"; empty: it is not
  bool nested = false;            // with a double quantization
  std::string weights = {};       // "bfloat16": the type that they are loaded in, where autocast runs them
  std::optional<Denoiser> denoiser = std::nullopt;
  bool liger = false;        // with Liger's kernels
  bool every_layer = false;  // the plan's checkpoints are those of gradient_checkpointing_enable()
};

// What a snippet says: the plan, and the step that it is a plan for.
struct SnippetOf {
  const Plan& plan;
  const TrainingSpec& spec;
  std::string file;            // the graph
  std::string device;          // "Tesla T4"
  Bytes needs;                 // of the device
  std::string allocator_text;  // as given with --allocator-conf
  TrainedPart trained;
  std::optional<Finetuned> finetuned = std::nullopt;
  std::vector<int64_t> patch = {};  // of a U-Net: the lengths of what it is given, {128, 128, 128}; empty: it is none
};

// Errors: an optimizer that the framework cannot be told in its configuration.
Result<std::string> PrintSnippet(Emit emit, const SnippetOf& of);

// The Python module of Emit::kPytorch and kPytorchSac. No side effects on import; every name that it defines is in its
// docstring.
Result<std::string> PytorchModule(const SnippetOf& of);
// The files of those who finetune language models: TRL's SFTConfig with peft's LoraConfig, a config of accelerate for FSDP2,
// one of axolotl, and the keys of a torchtune recipe. Errors: TRL and axolotl load causal language models by their names, and
// torchtune those that it has a config for.
Result<std::string> SftModule(const SnippetOf& of);
std::string Fsdp2Config(const SnippetOf& of);
Result<std::string> AxolotlConfig(const SnippetOf& of);
Result<std::string> TorchtuneKeys(const SnippetOf& of);

// The command of diffusers' example script that trains a named denoiser so.
Result<std::string> DiffusersCommand(const SnippetOf& of);
// A configuration for the plans of nnU-Net: batch and patch.
Result<std::string> NnUnetConfiguration(const SnippetOf& of);

// Whether AutoModelForCausalLM loads this class by its name (transformers 5.23, models/auto/modeling_auto.py).
bool IsCausal(const std::string& of_class);
// Shared by the snippets. The comment above each: the file, the card, what it needs.
std::string SnippetHeading(const SnippetOf& of);
// The comment below it where these settings load no adapters, packed weights or Liger's kernels that the plan counts on, unless
// they put the kernels (`puts_liger`); "": the model has none.
std::string LoadedRemark(const SnippetOf& of, bool puts_liger = false);
// Whether what this writes can be told to checkpoint every layer or none, and nothing between.
bool WrapsEveryOrNone(Emit emit);
// Whether what this writes has AdamW and no Adam.
bool HasOnlyAdamW(Emit emit);
// The comment above such a one where the plan's checkpoints are others; or nothing.
std::string ModulesRemark(const SnippetOf& of);
// The name in transformers.training_args.OptimizerNames, which TRL and axolotl take too.
Result<std::string> HfOptimizer(const SnippetOf& of);

// The Python module of Emit::kKeras: what Keras 3 can be told of the plan, and what it cannot.
Result<std::string> KerasModule(const SnippetOf& of);

}  // namespace vramplan
