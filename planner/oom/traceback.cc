#include "planner/oom/traceback.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "graph/base/check.h"
#include "graph/base/text.h"

namespace vramplan {
namespace {

// A traceback is no longer than this.
constexpr size_t kLongestTraceback = size_t{32} << 10;
constexpr size_t kLongestPath = 512;
// Of what follows a message the beginning tells of it.
constexpr size_t kBehind = 512;
// What tells a message from another one: "CUDA out of memory. Tried to allocate 2.00 GiB."
constexpr size_t kBeginning = 48;
// The last lines of code in front of a message.
constexpr size_t kLastCode = 320;

struct Frame {
  std::string_view file, number, function;  // function: "step", "AdamW.step"
};

bool IsDecimal(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool IsName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

std::string_view Number(std::string_view text) {
  return text.substr(0, static_cast<size_t>(std::ranges::find_if_not(text, IsDecimal) - text.begin()));
}

std::string_view NameAt(std::string_view text) {
  return text.substr(0, static_cast<size_t>(std::ranges::find_if_not(text, IsName) - text.begin()));
}

// `File "F", line N, in NAME` or `File F:N, in NAME(`, at the beginning of `text`; no file: neither.
Frame FrameAt(std::string_view text) {
  constexpr std::string_view kFile = "File ", kLine = "\", line ", kIn = ", in ";
  text.remove_prefix(kFile.size());
  Frame frame;
  const bool quoted = text.starts_with('"');
  if (quoted) text.remove_prefix(1);
  const size_t end = text.find(quoted ? kLine : std::string_view(":"));
  if (end > kLongestPath) return {};  // npos, too
  frame.file = text.substr(0, end);
  text.remove_prefix(end + (quoted ? kLine.size() : 1));
  frame.number = Number(text);
  text.remove_prefix(frame.number.size());
  if (frame.number.empty() || !text.starts_with(kIn)) return {};
  text.remove_prefix(kIn.size());
  frame.function = NameAt(text);
  return frame;
}

bool IsOfCell(const Frame& frame) { return frame.file.starts_with("<ipython-input-"); }

// Of rich: `/src/train.py:700 in epoch`, where `colon` stands; no file: it is none.
Frame RichFrameAt(std::string_view text, size_t colon) {
  constexpr std::string_view kIn = " in ";
  Frame frame;
  const size_t blank = text.find_last_of(" \"", colon);
  const size_t begin = blank == text.npos ? 0 : blank + 1;
  frame.number = Number(text.substr(colon + 1));
  const std::string_view rest = text.substr(colon + 1 + frame.number.size());
  if (frame.number.empty() || !rest.starts_with(kIn)) return {};
  frame.file = text.substr(begin, colon - begin);
  frame.function = NameAt(rest.substr(kIn.size()));
  return frame;
}

// Of IPython before 8.0: `/env/torch/optim/adam.py in step(self) 13 ... ---> 15 call()`, where " in " stands; the file of a
// cell is <ipython-input-5-...>, or a number below /tmp/ipykernel_55.
Frame ArrowFrameAt(std::string_view text, size_t in) {
  constexpr std::string_view kIn = " in ", kArrow = "-> ";
  constexpr size_t kShown = 1024;  // of code around the line
  Frame frame;
  const size_t blank = text.rfind(' ', in - 1);
  const size_t begin = blank == text.npos ? 0 : blank + 1;
  frame.function = NameAt(text.substr(in + kIn.size()));
  const std::string_view code = text.substr(in, kShown);
  const size_t arrow = code.find(kArrow);
  if (arrow == code.npos) return {};
  frame.number = Number(code.substr(arrow + kArrow.size()));
  if (!frame.number.empty() && in - begin <= kLongestPath) frame.file = text.substr(begin, in - begin);
  return frame;
}

// `Cell In[5], line 15, in train(x)`, at the beginning of `text`.
Frame CellFrameAt(std::string_view text) {
  constexpr std::string_view kLine = "], line ", kIn = ", in ";
  constexpr size_t kLongestName = 16;
  Frame frame;
  const size_t end = text.find(kLine);
  if (end > kLongestName) return {};
  frame.file = text.substr(0, end + 1);
  text.remove_prefix(end + kLine.size());
  frame.number = Number(text);
  text.remove_prefix(frame.number.size());
  if (text.starts_with(kIn)) frame.function = NameAt(text.substr(kIn.size()));
  return frame;
}

std::vector<Frame> FramesOf(std::string_view text) {
  constexpr std::string_view kFile = "File ", kRich = ".py:", kArrow = ".py in ", kCell = "Cell In[", kInput = "> in ";
  std::vector<Frame> frames;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view rest = text.substr(at);
    Frame frame;
    if (rest.starts_with(kFile)) frame = FrameAt(rest);
    if (rest.starts_with(kCell)) frame = CellFrameAt(rest);
    if (rest.starts_with(kRich)) frame = RichFrameAt(text, at + kRich.size() - 1);
    if (rest.starts_with(kArrow)) frame = ArrowFrameAt(text, at + kRich.size() - 1);
    if (rest.starts_with(kInput)) frame = ArrowFrameAt(text, at + 1);
    if (rest.starts_with(kInput) && !IsOfCell(frame)) frame = {};
    if (!frame.file.empty()) frames.push_back(frame);
  }
  return frames;
}

bool IsOfLibrary(const Frame& frame) {
  return frame.file.find("-packages/") != frame.file.npos || frame.file.find("/lib/python") != frame.file.npos ||
         frame.file.find("/bin/") != frame.file.npos || frame.file.find("/torchinductor_") != frame.file.npos ||
         frame.file.ends_with("/sitecustomize.py") || (frame.file.starts_with('<') && !IsOfCell(frame));
}

// "step" of "AdamW.step".
std::string_view OwnName(const Frame& frame) { return frame.function.substr(frame.function.rfind('.') + 1); }

// Of "validate_epoch", "run_eval", "test"; a "test_training_step" may be anything.
bool Validates(const Frame& frame) {
  constexpr auto kWords =
      std::to_array<std::string_view>({"val", "valid", "validate", "validation", "eval", "evaluate", "evaluation"});
  const std::string name = LowerCase(OwnName(frame));
  const auto is_word = [&](std::string_view part) { return std::ranges::find(kWords, part) != kWords.end(); };
  return name == "test" || std::ranges::any_of(TextsIn(name, '_'), is_word);
}

// A function of a library, where its file's path has `path`, or of anybody's, where `path` is empty.
struct PartRow {
  RunPart part;
  std::string_view path, functions;  // between blanks; empty: any
};

// What comes first counts: a step of the optimizer inside a function called test is one of the optimizer.
constexpr auto kRunParts = std::to_array<PartRow>({
    {RunPart::kLoading, "/vllm/", "load_model load_weights"},
    {RunPart::kLoading, "/deepspeed/__init__.py", "initialize"},
    {RunPart::kLoading, "/torch/optim/", "load_state_dict"},
    {RunPart::kServing, "/vllm/", ""},
    {RunPart::kServing, "/sglang/", ""},
    {RunPart::kOptimizer, "/torch/optim/", ""},
    {RunPart::kOptimizer, "/optim/", "step init_state"},
    {RunPart::kOptimizer, "optim/", "step"},
    {RunPart::kOptimizer, "", "optimizer_step"},
    {RunPart::kOptimizer, "/optimizers/", "step"},
    {RunPart::kOptimizer, "/deepspeed/", "_take_model_step"},
    {RunPart::kBackward, "/torch/_tensor.py", "backward"},
    {RunPart::kBackward, "/torch/tensor.py", "backward"},
    {RunPart::kBackward, "/torch/autograd/__init__.py", "backward grad"},
    {RunPart::kBackward, "/torch/autograd/graph.py", "_engine_run_backward"},
    {RunPart::kSaving, "/torch/serialization.py", "save _save"},
    {RunPart::kSaving, "", "save_checkpoint save_model save_pretrained save_state _save_checkpoint save_state_dict"},
    {RunPart::kSaving, "/fsdp/", "_full_post_state_dict_hook _post_state_dict_hook state_dict full_state_dict"},
    {RunPart::kSaving, "/fsdp/", "_full_pre_state_dict_hook _pre_state_dict_hook"},
    {RunPart::kSaving, "/torch/nn/modules/module.py", "state_dict"},
    {RunPart::kLoading, "/torch/serialization.py", "load _load load_tensor"},
    {RunPart::kLoading, "/torch/nn/modules/module.py", "to cuda half bfloat16 float _apply load_state_dict"},
    {RunPart::kLoading, "", "from_pretrained load_state_dict load_checkpoint load_model load_pretrained load_weights"},
    {RunPart::kLoading, "", "_load_state_dict_into_meta_model set_module_tensor_to_device"},
    {RunPart::kLoading, "/safetensors/", ""},
    {RunPart::kGeneration, "/diffusers/pipelines/", "__call__"},
    {RunPart::kGeneration, "/diffusers/models/", "decode tiled_decode"},
    {RunPart::kGeneration, "/generation/", "generate _sample _beam_search"},
    {RunPart::kGeneration, "/comfy/", ""},
    {RunPart::kGeneration, "ComfyUI", ""},
    {RunPart::kValidation, "/lightning/", "on_advance_end run_validation"},
    {RunPart::kInference, "/monai/inferers/", ""},
    {RunPart::kInference, "/nnunetv2/inference/", ""},
    {RunPart::kInference, "", "predict inference infer run_inference do_inference sliding_window_inference"},
    {RunPart::kForward, "/torch/nn/modules/", ""},
    {RunPart::kForward, "/torch/nn/functional.py", ""},
    {RunPart::kForward, "", "forward training_step"},
});

// Lightning runs a forward and a backward in the closure that an optimizer's step calls first: what called it is no part.
std::vector<Frame> BehindClosure(std::vector<Frame> frames) {
  constexpr auto kClosures =
      std::to_array<std::string_view>({"closure", "train_step_and_backward_closure", "optimizer_closure"});
  const auto is_closure = [&](const Frame& frame) {
    return std::ranges::find(kClosures, OwnName(frame)) != kClosures.end();
  };
  for (size_t i = frames.size(); i > 0; --i) {
    if (!is_closure(frames[i - 1])) continue;
    frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(i));
    break;
  }
  return frames;
}

RunPart PartOf(const std::vector<Frame>& frames) {
  for (const PartRow& row : kRunParts) {
    // A validation is a forward, and who calls it says so.
    const bool is_forward = row.part == RunPart::kForward || row.part == RunPart::kInference;
    if (is_forward && std::ranges::any_of(frames, Validates)) return RunPart::kValidation;
    for (const Frame& frame : frames) {
      if (frame.file.find(row.path) == frame.file.npos) continue;
      const auto is = [&](std::string_view function) { return function == OwnName(frame); };
      if (row.functions.empty() || std::ranges::any_of(TextsIn(row.functions, ' '), is)) return row.part;
    }
  }
  return RunPart::kUnknown;
}

}  // namespace

std::string_view Name(RunPart part) {
  switch (part) {
    case RunPart::kUnknown:
      return "";
    case RunPart::kLoading:
      return "loading";
    case RunPart::kForward:
      return "forward";
    case RunPart::kBackward:
      return "backward";
    case RunPart::kOptimizer:
      return "optimizer";
    case RunPart::kValidation:
      return "validation";
    case RunPart::kGeneration:
      return "generation";
    case RunPart::kInference:
      return "inference";
    case RunPart::kSaving:
      return "saving";
    case RunPart::kServing:
      return "serving";
  }
  FailCheck(__FILE__, __LINE__, "unknown part");
}

namespace {

// What a log says around a message that has no traceback.
RunPart PartByWords(std::string_view text) {
  struct Row {
    RunPart part;
    std::string_view words;
  };
  constexpr auto kWords = std::to_array<Row>({{RunPart::kLoading, "failed to load model"},
                                              {RunPart::kServing, "vllm"},
                                              {RunPart::kServing, "enginecore"},
                                              {RunPart::kServing, "sglang"},
                                              {RunPart::kSaving, "state_dict() call"},
                                              {RunPart::kLoading, "loading checkpoint shards"},
                                              {RunPart::kGeneration, "vaedecode"},
                                              {RunPart::kGeneration, "ksampler"}});
  const std::string lower = LowerCase(text);
  const auto* found = std::ranges::find_if(kWords, [&](const Row& row) { return lower.find(row.words) != lower.npos; });
  return found == kWords.end() ? RunPart::kUnknown : found->part;
}

// Of what the words of rows mean, that of those that stand last in `code`; none of them does: T().
template <typename T, typename Rows>
T LastIn(std::string_view code, const Rows& rows) {
  T found{};
  size_t last = 0;
  for (const auto& [means, words] : rows)
    if (const size_t at = code.rfind(words); at != code.npos && at >= last) last = at, found = means;
  return found;
}

// By the last name of an operator, or of such a tensor, in the last lines of code.
Requester RequesterIn(std::string_view code) {
  struct Row {
    Requester requester;
    std::string_view words;
  };
  constexpr auto kWords = std::to_array<Row>({{Requester::kVocabulary, "cross_entropy"},
                                              {Requester::kVocabulary, "log_softmax"},
                                              {Requester::kVocabulary, "logits"},
                                              {Requester::kVocabulary, "entropy"},
                                              {Requester::kAttention, "attention"},
                                              {Requester::kAttention, "attn"},
                                              {Requester::kConvolution, "conv1d"},
                                              {Requester::kConvolution, "conv2d"},
                                              {Requester::kConvolution, "conv3d"},
                                              {Requester::kConvolution, "_conv_forward"}});
  std::string lower = LowerCase(code.substr(code.size() - std::min(code.size(), 2 * kLastCode)));
  std::erase_if(lower, [](char c) { return c == '^' || c == '~'; });  // what Python underlines
  lower.erase(0, lower.size() - std::min(lower.size(), kLastCode));
  return LastIn<Requester>(lower, kWords);
}

// torch/utils/_contextlib.py: no_grad and inference_mode as decorators.
bool IsWithoutGradients(std::string_view code) {
  for (const std::string_view words : {"no_grad()", "inference_mode()", "in decorate_context"})
    if (code.find(words) != code.npos) return true;
  return false;
}

// By a line of one's own code, where the frames below it are missing.
RunPart PartByCode(std::string_view code) {
  struct Row {
    RunPart part;
    std::string_view words;
  };
  constexpr auto kWords = std::to_array<Row>({{RunPart::kOptimizer, "optimizer.step("},
                                              {RunPart::kBackward, ".backward("},
                                              {RunPart::kLoading, "pipe.to("},
                                              {RunPart::kLoading, "model.to("},
                                              {RunPart::kLoading, "model.cuda("}});
  code.remove_prefix(code.size() - std::min(code.size(), kLastCode));
  return LastIn<RunPart>(code, kWords);
}

bool Pins(const Frame& frame) { return frame.file.ends_with("/pin_memory.py"); }

// The code in front of a message and the frames in it, the innermost last.
struct Trace {
  std::string_view code;
  std::vector<Frame> frames;
  bool cut = false;  // frames may be missing behind the last
};

// Of a message that is a heading: what is below it, up to the same message again, or to the end where nothing says that
// it is of another error.
Trace TraceBelow(std::string_view text, std::string_view message) {
  constexpr std::string_view kHeading = "CUDA out of memory";
  Trace trace{.code = text, .frames = {}};
  const size_t again = text.find(message, message.size());
  if (again != text.npos) trace.code = text.substr(0, again);
  trace.code.remove_prefix(std::min(trace.code.size(), kHeading.size()));
  trace.frames = FramesOf(trace.code);
  trace.cut = again == text.npos;
  if (!trace.cut || trace.frames.empty()) return trace;
  const std::string_view last = trace.frames.back().file;
  const std::string_view below = trace.code.substr(static_cast<size_t>(last.data() - trace.code.data()) + last.size());
  for (const std::string_view other : {"Error: ", "Exception: "})
    if (below.find(other) != below.npos) return {};
  if (trace.code.find("out of memory") != trace.code.npos) return {};
  return trace;
}

}  // namespace

Failure FailureIn(std::string_view line, size_t at) {
  constexpr std::string_view kBegins = "Traceback (most recent call last)";
  constexpr std::string_view kInnermostFirst = "Exception has occurred: ";  // debugpy, in VS Code
  const size_t from = at - std::min(at, kLongestTraceback);
  std::string around(line.substr(from, at - from + kLongestTraceback));
  std::ranges::replace(around, '\\', '/');  // paths of Windows
  const std::string_view text = around, front = text.substr(0, at - from), behind = text.substr(at - from);
  const size_t begin = front.rfind(kBegins);
  Trace trace{.code = begin == front.npos ? front : front.substr(begin), .frames = {}};
  trace.frames = FramesOf(trace.code);
  if (trace.frames.empty()) {
    Trace below = TraceBelow(behind, behind.substr(0, kBeginning));
    if (!below.frames.empty()) trace = std::move(below);
    const std::string_view heading = front.substr(front.size() - std::min(front.size(), kBeginning));
    if (heading.find(kInnermostFirst) != heading.npos) std::ranges::reverse(trace.frames);
  }
  const std::vector<Frame> frames = BehindClosure(trace.frames);
  Failure failure{.part = PartOf(frames)};
  failure.no_grad = IsWithoutGradients(trace.code);
  const bool is_forward = failure.part == RunPart::kUnknown || failure.part == RunPart::kForward;
  if (failure.no_grad && is_forward && !frames.empty()) failure.part = RunPart::kInference;
  if (failure.part == RunPart::kUnknown) failure.part = PartByCode(trace.code);
  // vllm/v1/executor/multiproc_executor.py logs it of a worker whose frames are another process's.
  if (failure.part == RunPart::kServing && text.find("processing method load_model") != text.npos)
    failure.part = RunPart::kLoading;
  if (failure.part == RunPart::kUnknown) failure.part = PartByWords(text.substr(0, front.size() + kBehind));
  failure.requester = RequesterIn(trace.code);
  failure.pins = std::ranges::any_of(frames, Pins);
  failure.before_1_9 =
      std::ranges::any_of(frames, [](const Frame& frame) { return frame.file.ends_with("/torch/tensor.py"); });
  if (trace.cut && failure.part == RunPart::kUnknown) return failure;
  for (const Frame& frame : trace.frames) {
    if (IsOfLibrary(frame)) continue;
    failure.at = std::string(frame.file.substr(frame.file.rfind('/') + 1)) + ":" + std::string(frame.number);
    if (!frame.function.empty() && frame.function.front() != '<') failure.at += ", in " + std::string(frame.function);
  }
  return failure;
}

}  // namespace vramplan
