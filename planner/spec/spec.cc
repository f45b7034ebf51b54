// Names of the command line, as tables: one row a value, in the order in which errors list them.
#include "planner/spec/spec.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/text.h"
#include "planner/spec/nearest.h"
#include "planner/spec/other_words.h"

namespace vramplan {
namespace {

template <typename Enum, size_t N>
using Names = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Names<Mode, 4> kModes{
    {{Mode::kTrain, "train"}, {Mode::kEval, "eval"}, {Mode::kInfer, "infer"}, {Mode::kServe, "serve"}}};
constexpr Names<Precision, 7> kPrecisions{{{Precision::kFp64, "fp64"},
                                           {Precision::kFp32, "fp32"},
                                           {Precision::kTf32, "tf32"},
                                           {Precision::kAmpFp16, "amp-fp16"},
                                           {Precision::kAmpBf16, "amp-bf16"},
                                           {Precision::kFp16, "fp16"},
                                           {Precision::kBf16, "bf16"}}};
constexpr Names<Optimizer, 25> kOptimizers{{{Optimizer::kNone, "none"},
                                            {Optimizer::kSgd, "sgd"},
                                            {Optimizer::kSgdMomentum, "sgd-momentum"},
                                            {Optimizer::kSgdNesterov, "sgd-nesterov"},
                                            {Optimizer::kAdam, "adam"},
                                            {Optimizer::kAdamW, "adamw"},
                                            {Optimizer::kAdamAmsgrad, "adam-amsgrad"},
                                            {Optimizer::kAdamWAmsgrad, "adamw-amsgrad"},
                                            {Optimizer::kRmsprop, "rmsprop"},
                                            {Optimizer::kRmspropMomentum, "rmsprop-momentum"},
                                            {Optimizer::kRmspropCentered, "rmsprop-centered"},
                                            {Optimizer::kRmspropCenteredMomentum, "rmsprop-centered-momentum"},
                                            {Optimizer::kAdagrad, "adagrad"},
                                            {Optimizer::kAdadelta, "adadelta"},
                                            {Optimizer::kNadam, "nadam"},
                                            {Optimizer::kRadam, "radam"},
                                            {Optimizer::kAdamax, "adamax"},
                                            {Optimizer::kAdafactor, "adafactor"},
                                            {Optimizer::kAdafactorHf, "adafactor-hf"},
                                            {Optimizer::kLion, "lion"},
                                            {Optimizer::kLamb, "lamb"},
                                            {Optimizer::kMuon, "muon"},
                                            {Optimizer::kAdam8bit, "adam-8bit"},
                                            {Optimizer::kAdamW8bit, "adamw-8bit"},
                                            {Optimizer::kLion8bit, "lion-8bit"}}};
constexpr Names<OptimizerImpl, 3> kOptimizerImpls{
    {{OptimizerImpl::kForeach, "foreach"}, {OptimizerImpl::kFused, "fused"}, {OptimizerImpl::kForLoop, "for-loop"}}};
constexpr Names<Loss, 16> kLosses{{{Loss::kAuto, "auto"},
                                   {Loss::kNone, "none"},
                                   {Loss::kCrossEntropy, "cross-entropy"},
                                   {Loss::kSmoothedCrossEntropy, "cross-entropy-smoothed"},
                                   {Loss::kMse, "mse"},
                                   {Loss::kL1, "l1"},
                                   {Loss::kSmoothL1, "smooth-l1"},
                                   {Loss::kHuber, "huber"},
                                   {Loss::kBce, "bce"},
                                   {Loss::kBceLogits, "bce-logits"},
                                   {Loss::kNll, "nll"},
                                   {Loss::kKlDiv, "kl-div"},
                                   {Loss::kKlDivLogTarget, "kl-div-log-target"},
                                   {Loss::kSoftMargin, "soft-margin"},
                                   {Loss::kCosineEmbedding, "cosine-embedding"},
                                   {Loss::kTripletMargin, "triplet-margin"}}};
constexpr Names<Attention, 4> kAttentions{{{Attention::kAuto, "auto"},
                                           {Attention::kMath, "math"},
                                           {Attention::kEfficient, "efficient"},
                                           {Attention::kFlash, "flash"}}};
constexpr Names<Inplace, 3> kInplaces{{{Inplace::kAuto, "auto"}, {Inplace::kOn, "on"}, {Inplace::kOff, "off"}}};

constexpr Names<ZeroGrad, 3> kZeroGrads{
    {{ZeroGrad::kEnd, "end"}, {ZeroGrad::kStart, "start"}, {ZeroGrad::kAfterForward, "after-forward"}}};
constexpr Names<Strategy, 6> kStrategies{{{Strategy::kNone, "none"},
                                          {Strategy::kDdp, "ddp"},
                                          {Strategy::kFsdp2, "fsdp2"},
                                          {Strategy::kZero1, "zero1"},
                                          {Strategy::kZero2, "zero2"},
                                          {Strategy::kZero3, "zero3"}}};
constexpr Names<Ema, 4> kEmas{{{Ema::kNone, "none"},
                               {Ema::kAveragedModel, "averaged-model"},
                               {Ema::kModelEmaV2, "model-ema-v2"},
                               {Ema::kModelEmaV3, "model-ema-v3"}}};

constexpr Names<Runtime, 4> kRuntimes{{{Runtime::kPyTorch, "pytorch"},
                                       {Runtime::kOnnxRuntime, "onnxruntime"},
                                       {Runtime::kTensorFlow, "tensorflow"},
                                       {Runtime::kJax, "jax"}}};
constexpr Names<Runtime, 4> kRuntimeTitles{{{Runtime::kPyTorch, "PyTorch"},
                                            {Runtime::kOnnxRuntime, "ONNX Runtime"},
                                            {Runtime::kTensorFlow, "TensorFlow"},
                                            {Runtime::kJax, "JAX"}}};
constexpr Names<ArenaGrowth, 2> kArenaGrowths{
    {{ArenaGrowth::kNextPowerOfTwo, "kNextPowerOfTwo"}, {ArenaGrowth::kSameAsRequested, "kSameAsRequested"}}};

template <typename Enum, size_t N>
std::string_view NameIn(const Names<Enum, N>& names, Enum value) {
  for (const auto& [candidate, name] : names) {
    if (candidate == value) return name;
  }
  CHECK(false && "every value has a row in its table");
  return "";
}

// PyTorch's classes are written AdamW and SGD.
bool EqualInAnyCase(std::string_view a, std::string_view b) { return LowerCase(a) == LowerCase(b); }

// The longest choice that other libraries' longer word holds: "adamw" of "adamw_torch"; empty: none.
std::string Held(const std::vector<std::string>& choices, std::string_view text) {
  const std::string lower = LowerCase(text);
  std::string longest;
  for (const std::string& choice : choices)
    if (choice.size() > std::max<size_t>(longest.size(), 2) && lower.find(choice) != std::string::npos)
      longest = choice;
  return longest;
}

// The first choice that asks for something.
const std::string& UsualOf(const std::vector<std::string>& choices) {
  const auto usual = std::ranges::find_if(choices, [](const auto& name) { return name != "none" && name != "auto"; });
  return usual == choices.end() ? choices.front() : *usual;
}

template <typename Enum, size_t N>
Result<Enum> ParseIn(const Names<Enum, N>& names, std::string_view option, std::string_view text) {
  std::vector<std::string> choices;
  for (const auto& [value, name] : names) {
    if (EqualInAnyCase(name, text)) return value;
    choices.emplace_back(name);
  }
  std::string near = SuggestNearest(text, choices);
  if (const std::string held = Held(choices, text); near.empty() && !held.empty()) near = "did you mean " + held + "?";
  return Error{ErrorCode::kUsage, std::string(option), InQuotes(text) + " is not one of " + JoinChoices(choices),
               near.empty() ? "type " + std::string(option) + " " + UsualOf(choices) : near};
}

std::optional<int> ReadWholeNumber(std::string_view text) {
  int number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

// "8.6" as {8, 6}.
std::optional<std::pair<int, int>> ReadPointed(std::string_view text) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos) return std::nullopt;
  const std::optional<int> before = ReadWholeNumber(text.substr(0, point));
  const std::optional<int> after = ReadWholeNumber(text.substr(point + 1));
  if (!before || !after) return std::nullopt;
  return std::pair(*before, *after);
}

}  // namespace

DType TypeInRun(DType in_file, Precision precision) {
  if (in_file != DType::kFloat32) return in_file;
  switch (precision) {
    case Precision::kFp64:
      return DType::kFloat64;
    case Precision::kFp16:
      return DType::kFloat16;
    case Precision::kBf16:
      return DType::kBFloat16;
    default:
      return in_file;
  }
}

DType TypeInRun(DType in_file, const TrainingSpec& spec) {
  return spec.precision_of_file ? in_file : TypeInRun(in_file, spec.precision);
}

std::string_view Name(Mode mode) { return NameIn(kModes, mode); }
std::string_view Name(Precision precision) { return NameIn(kPrecisions, precision); }
std::string_view Name(Optimizer optimizer) { return NameIn(kOptimizers, optimizer); }
std::string_view Name(OptimizerImpl impl) { return NameIn(kOptimizerImpls, impl); }
std::string_view Name(Loss loss) { return NameIn(kLosses, loss); }
std::string_view Name(Attention attention) { return NameIn(kAttentions, attention); }
std::string_view Name(Inplace inplace) { return NameIn(kInplaces, inplace); }
std::string_view Name(ZeroGrad place) { return NameIn(kZeroGrads, place); }
std::string_view Name(Strategy strategy) { return NameIn(kStrategies, strategy); }
std::string_view Name(Ema ema) { return NameIn(kEmas, ema); }
std::string_view Name(Runtime runtime) { return NameIn(kRuntimes, runtime); }
std::string_view Title(Runtime runtime) { return NameIn(kRuntimeTitles, runtime); }
std::string_view Name(ArenaGrowth growth) { return NameIn(kArenaGrowths, growth); }

// Module paths have no colon.
Result<SavedCall> ParseSavedCall(std::string_view text) {
  const size_t first = text.find(':'), last = text.rfind(':');
  const std::optional<int> number =
      first == last ? std::nullopt : ReadWholeNumber(text.substr(std::min(last + 1, text.size())));
  if (!number || first == 0) {
    return Error{ErrorCode::kUsage, "--saved", InQuotes(text) + " is not MODULE:OPERATOR:NUMBER",
                 "type --saved layer.0:aten.addmm.default:2, the third such call of that module"};
  }
  return SavedCall{std::string(text.substr(0, first)), std::string(text.substr(first + 1, last - first - 1)), *number};
}
std::string ToString(const SavedCall& call) {
  return call.module + ":" + call.op + ":" + std::to_string(call.occurrence);
}

Result<Mode> ParseMode(std::string_view text) {
  Result<Mode> mode = ParseIn(kModes, "--mode", text);
  const KnownOption other = OptionFor(text);  // "--mode inference", as others say "--inference"
  if (mode.ok() || other.flag != "--mode") return mode;
  Error error = mode.error();
  error.hint = other.hint;
  return error;
}
Result<Precision> ParsePrecision(std::string_view text) {
  Result<Precision> precision = ParseIn(kPrecisions, "--precision", text);
  const std::string_view other = PrecisionFor(text);
  if (precision.ok() || other.empty()) return precision;
  Error error = precision.error();
  error.hint = other;
  return error;
}
Result<Optimizer> ParseOptimizer(std::string_view text) { return ParseIn(kOptimizers, "--optimizer", text); }
Result<OptimizerImpl> ParseOptimizerImpl(std::string_view text) {
  return ParseIn(kOptimizerImpls, "--optimizer-impl", text);
}
Result<Loss> ParseLoss(std::string_view text) { return ParseIn(kLosses, "--loss", text); }
Result<Attention> ParseAttention(std::string_view text) { return ParseIn(kAttentions, "--attention", text); }
Result<Inplace> ParseInplace(std::string_view text) { return ParseIn(kInplaces, "--inplace", text); }
Result<ZeroGrad> ParseZeroGrad(std::string_view text) { return ParseIn(kZeroGrads, "--zero-grad", text); }
Result<ArenaGrowth> ParseArenaGrowth(std::string_view text) { return ParseIn(kArenaGrowths, "--ort-arena", text); }
Result<Strategy> ParseStrategy(std::string_view text) { return ParseIn(kStrategies, "--strategy", text); }
Result<Ema> ParseEma(std::string_view text) { return ParseIn(kEmas, "--ema", text); }

double DefaultWeightDecay(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::kAdamW:         // torch/optim/adamw.py
    case Optimizer::kAdamWAmsgrad:  // the same class
    case Optimizer::kAdafactor:     // torch/optim/_adafactor.py
    case Optimizer::kLamb:          // timm/optim/lamb.py
    case Optimizer::kAdamW8bit:     // bitsandbytes/optim/adamw.py
      return 0.01;
    case Optimizer::kMuon:  // torch/optim/_muon.py
      return 0.1;
    default:
      return 0;
  }
}

Result<Capability> ParseCapability(std::string_view text) {
  // 3.5 is the oldest that PyTorch 2.0 was built for, 12.x the newest that is sold.
  const auto version = ReadPointed(text);
  if (!version || version->first < 3 || version->first > 12 || version->second > 9) {
    return Error{ErrorCode::kUsage, "--capability",
                 InQuotes(text) + " is not a compute capability between 3.0 and 12.9",
                 "7.5 is a T4, 8.0 an A100, 8.6 an RTX 3090, 8.9 an RTX 4090, 9.0 an H100"};
  }
  return Capability{version->first, version->second};
}

std::string ToString(Capability capability) {
  return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

namespace {

Result<Framework> ParsePyTorch(std::string_view version) {
  const auto wrong = [&](std::string reason) {
    return Error{ErrorCode::kUsage, "--framework", std::move(reason),
                 "type pytorch@2.0 to " + ToString(kNewestFramework) + ", or pytorch for the newest"};
  };
  // A third number does not matter to memory: 2.6.0 is 2.6.
  const size_t second_point = version.find('.', version.find('.') + 1);
  if (version.find('.') != std::string_view::npos && second_point != std::string_view::npos) {
    if (!ReadWholeNumber(version.substr(second_point + 1))) return wrong(InQuotes(version) + " is not a version");
    version = version.substr(0, second_point);
  }
  const auto numbers = ReadPointed(version);
  if (!numbers) return wrong(InQuotes(version) + " is not a version");
  if (numbers->first != 2 || numbers->second > kNewestFramework.minor) {
    return wrong("PyTorch " + std::string(version) + " is not modelled; 2.0 to 2." +
                 std::to_string(kNewestFramework.minor) + " are");
  }
  return Framework{numbers->first, numbers->second};
}

}  // namespace

Result<Framework> ParseFramework(std::string_view text) {
  // "pytorch@2.10", and as people and pip write it: 2.10, v2.10, torch==2.10.0+cu128, "PyTorch 2.10", torch2.10.
  const std::string lower = LowerCase(text);
  const size_t digit = std::min(lower.find_first_of("0123456789"), lower.size());
  std::string name = lower.substr(0, digit), version = lower.substr(digit);
  version.erase(std::min(version.find('+'), version.size()));  // a local version: what it was built for
  const size_t end = name.find_last_not_of("@=:- ") + 1;
  const bool at = digit < lower.size() || end < name.size();
  name.erase(end);
  if ((name.empty() || name == "v") && !version.empty()) name = "pytorch";
  if (name.ends_with(" v")) name.erase(name.size() - 2);
  if (name == "torch") name = "pytorch";
  if (name == "ort") name = "onnxruntime";
  const Result<Runtime> runtime = ParseIn(kRuntimes, "--framework", name);
  if (!runtime.ok()) return runtime.error();
  if (*runtime == Runtime::kPyTorch && at) return ParsePyTorch(version);
  if (at) {
    return Error{ErrorCode::kUsage, "--framework",
                 "versions of " + std::string(Title(*runtime)) + " make no difference here: " + InQuotes(version),
                 "type --framework " + name};
  }
  return Framework{kNewestFramework.major, kNewestFramework.minor, *runtime};
}

std::string ToString(Framework framework) {
  if (framework.runtime != Runtime::kPyTorch) return std::string(Name(framework.runtime));
  return "pytorch@" + std::to_string(framework.major) + "." + std::to_string(framework.minor);
}

}  // namespace vramplan
