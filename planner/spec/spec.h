// TrainingSpec: everything about the step that decides memory and that an ONNX file does not say. The defaults are
// those of a plain PyTorch script. `given` keeps which options the user set, for the report.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/result.h"
#include "graph/ir/dtype.h"
#include "planner/spec/measured_workspaces.h"

namespace vramplan {

// kEval: model.eval() without torch.no_grad(), a common slip in validation loops: nothing is trained, but the tape
// keeps what a backward would need for as long as the caller holds the output. kServe: a language model reads prompts and
// keeps their keys and values, as generate() begins.
enum class Mode : uint8_t { kTrain, kEval, kInfer, kServe };
enum class Precision : uint8_t { kFp64, kFp32, kTf32, kAmpFp16, kAmpBf16, kFp16, kBf16 };
enum class Optimizer : uint8_t {
  kNone,
  kSgd,
  kSgdMomentum,
  kSgdNesterov,
  kAdam,
  kAdamW,
  kAdamAmsgrad,
  kAdamWAmsgrad,
  kRmsprop,
  kRmspropMomentum,
  kRmspropCentered,
  kRmspropCenteredMomentum,
  kAdagrad,
  kAdadelta,
  kNadam,
  kRadam,
  kAdamax,
  kAdafactor,
  kAdafactorHf,  // of transformers
  kLion,
  kLamb,
  kMuon,
  kAdam8bit,  // of bitsandbytes
  kAdamW8bit,
  kLion8bit,
};
enum class OptimizerImpl : uint8_t { kForeach, kFused, kForLoop };
enum class Loss : uint8_t {
  kAuto,
  kNone,
  kCrossEntropy,
  kSmoothedCrossEntropy,  // label_smoothing > 0
  kMse,
  kL1,
  kSmoothL1,
  kHuber,
  kBce,
  kBceLogits,
  kNll,
  kKlDiv,
  kKlDivLogTarget,
  kSoftMargin,
  kCosineEmbedding,  // against another embedding: the second output, or the caller's
  kTripletMargin
};
enum class Attention : uint8_t { kAuto, kMath, kEfficient, kFlash };
enum class Inplace : uint8_t { kAuto, kOn, kOff };  // activation modules built with inplace=True
// Where optimizer.zero_grad() stands: after the step; before the forward; between the loss and the backward.
enum class ZeroGrad : uint8_t { kEnd, kStart, kAfterForward };
// How the ranks of one training share it (planner/timeline/ranks.h).
enum class Strategy : uint8_t { kNone, kDdp, kFsdp2, kZero1, kZero2, kZero3 };  // the last three: DeepSpeed
inline bool IsDeepspeed(Strategy strategy) { return strategy >= Strategy::kZero1; }
// Who keeps an averaged copy of the weights: torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn, timm's
// ModelEmaV2 and ModelEmaV3.
enum class Ema : uint8_t { kNone, kAveragedModel, kModelEmaV2, kModelEmaV3 };

// The type in the run of a value that has type `in_file` in the file: under pure fp16, bf16 and fp64, fp32 becomes that
// precision; autocast leaves parameters and inputs as they are.
DType TypeInRun(DType in_file, Precision precision);
struct TrainingSpec;
DType TypeInRun(DType in_file, const TrainingSpec& spec);  // nothing is cast where the file has the precision already

// The names of the command line, and back. Parse... lists the choices in its error.
std::string_view Name(Mode mode);
inline bool IsWithoutGradients(Mode mode) { return mode == Mode::kInfer || mode == Mode::kServe; }
std::string_view Name(Precision precision);
inline bool IsAutocast(Precision precision) {
  return precision == Precision::kAmpFp16 || precision == Precision::kAmpBf16;
}
inline bool RunsInBf16(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kAmpBf16;
}
std::string_view Name(Optimizer optimizer);
std::string_view Name(OptimizerImpl impl);
std::string_view Name(Loss loss);
inline constexpr std::string_view kEveryOutput = "all";
std::string_view Name(Attention attention);
std::string_view Name(Inplace inplace);
std::string_view Name(ZeroGrad place);
std::string_view Name(Strategy strategy);
std::string_view Name(Ema ema);
Result<Mode> ParseMode(std::string_view text);
Result<Precision> ParsePrecision(std::string_view text);
Result<Optimizer> ParseOptimizer(std::string_view text);
Result<OptimizerImpl> ParseOptimizerImpl(std::string_view text);
Result<Loss> ParseLoss(std::string_view text);
Result<Attention> ParseAttention(std::string_view text);
Result<Inplace> ParseInplace(std::string_view text);
Result<ZeroGrad> ParseZeroGrad(std::string_view text);
Result<Strategy> ParseStrategy(std::string_view text);
Result<Ema> ParseEma(std::string_view text);

// The default of the optimizer's class: 0.01 for AdamW, 0 for Adam.
double DefaultWeightDecay(Optimizer optimizer);

struct Layers;

// Compute capability x.y.
struct Capability {
  int major = 7, minor = 5;
  auto operator<=>(const Capability&) const = default;
};
Result<Capability> ParseCapability(std::string_view text);  // "8.6"
std::string ToString(Capability capability);

// Who runs the step. Only PyTorch has versions here; planner/runtimes says which release each other runtime stands for.
enum class Runtime : uint8_t { kPyTorch, kOnnxRuntime, kTensorFlow, kJax };
std::string_view Name(Runtime runtime);   // "onnxruntime", as on the command line
std::string_view Title(Runtime runtime);  // "ONNX Runtime", as people write it

// "pytorch@2.10". Known: 2.0 to 2.15; "pytorch" alone means the newest. The other runtimes carry PyTorch's newest
// version, because its tensors stand in for theirs.
struct Framework {
  int major = 2, minor = 15;
  Runtime runtime = Runtime::kPyTorch;
  auto operator<=>(const Framework&) const = default;
};
inline constexpr Framework kNewestFramework{2, 15};
Result<Framework> ParseFramework(std::string_view text);
std::string ToString(Framework framework);

// How the arenas of other runtimes take memory from the card.
enum class ArenaGrowth : uint8_t { kNextPowerOfTwo, kSameAsRequested };
std::string_view Name(ArenaGrowth growth);
Result<ArenaGrowth> ParseArenaGrowth(std::string_view text);
// Options of ONNX Runtime's CUDA provider, with its defaults (core/providers/cuda/cuda_execution_provider_info.h).
struct OnnxRuntimeOptions {
  ArenaGrowth growth = ArenaGrowth::kNextPowerOfTwo;  // arena_extend_strategy
  std::optional<Bytes> limit;                         // gpu_mem_limit; nothing: no limit
  bool max_workspace = true;                          // cudnn_conv_use_max_workspace
  bool operator==(const OnnxRuntimeOptions&) const = default;
};
// The pool that TensorFlow and JAX take from the card when they start.
struct PoolOptions {
  bool preallocate = true;         // false: TensorFlow's set_memory_growth, JAX's XLA_PYTHON_CLIENT_PREALLOCATE=false
  bool donate = false;             // JAX: donate_argnums of jax.jit, so that updates are in place
  std::optional<double> fraction;  // of the card: JAX's XLA_CLIENT_MEM_FRACTION; nothing: the runtime's default
  bool operator==(const PoolOptions&) const = default;
};

// One operator call that a checkpointed module saves (torch.utils.checkpoint.create_selective_checkpoint_contexts):
// "layer.0:aten.addmm.default:2", the third addmm of that module's call.
struct SavedCall {
  std::string module;
  std::string op;      // overload, as PyTorch prints it
  int occurrence = 0;  // of the overload, within one call of the module
  auto operator<=>(const SavedCall&) const = default;
};
Result<SavedCall> ParseSavedCall(std::string_view text);
std::string ToString(const SavedCall& call);

// What a script does beside the loop of a plain one.
struct Surroundings {
  Bytes resident;                        // data that it keeps on the card
  std::vector<std::string> retain;       // modules, or outputs of operators, whose results it keeps until the next ones
  bool keep_loss_graph = false;          // total += loss, without .item()
  std::optional<int64_t> eval_batch;     // after a step the model is evaluated at this batch, under no_grad
  std::shared_ptr<const Layers> second;  // a frozen model beside it: a teacher; null: none
  bool operator==(const Surroundings&) const = default;
};

struct TrainingSpec {
  Mode mode = Mode::kTrain;
  Precision precision = Precision::kFp32;
  Optimizer optimizer = Optimizer::kAdam;
  OptimizerImpl optimizer_impl = OptimizerImpl::kForeach;
  double weight_decay = 0;    // the command line makes it DefaultWeightDecay
  double momentum = 0.9;      // of sgd-momentum
  int accumulate = 1;         // forwards and backwards before each optimizer step
  double clip_grad_norm = 0;  // max_norm of torch.nn.utils.clip_grad_norm_; 0: not called
  ZeroGrad zero_grad = ZeroGrad::kEnd;
  bool set_to_none = true;  // of zero_grad; false keeps the gradients and fills them with zeros
  Ema ema = Ema::kNone;
  Loss loss = Loss::kAuto;
  std::string loss_on;  // which output it is of: its place from 1, its name, or kEveryOutput; empty: UsualOutput
  Framework framework = kNewestFramework;
  bool precision_of_file = false;  // the file's calls are in it already
  bool recorded_in_fp32 = false;   // of a named model: what its weights in halves run was recorded apart
  Attention attention = Attention::kAuto;
  Inplace inplace = Inplace::kAuto;
  std::vector<std::string> checkpoint;  // paths of checkpointed modules, as given
  std::vector<SavedCall> saved;         // calls inside them that are saved and do not run again
  Capability capability;
  int multiprocessors = 40;              // of the card (a T4 has 40); they decide split-K style scratch
  std::optional<Bytes> cudnn_workspace;  // nothing: auto, likely none (Block::most)
  std::shared_ptr<const MeasuredWorkspaces> measured_workspaces;  // of --profile; null: none
  OnnxRuntimeOptions ort;
  PoolOptions pool;
  Surroundings around;
  int ranks = 1;  // processes, a card each, that train together
  Strategy strategy = Strategy::kNone;
  std::vector<std::string> units;  // of fsdp2: paths of modules that are sharded apart
  int steps = 3;                   // training steps that are laid out; the third is the steady state
  std::set<std::string> given;     // names of the options that the user typed, for "given" / "assumed" in reports

  bool operator==(const TrainingSpec&) const = default;
};

}  // namespace vramplan
