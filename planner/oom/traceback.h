// FailureIn: in which part of a run memory ran out, by the frames of the traceback around a message.
//
//   File "train.py", line 133, in main             kOptimizer, "train.py:133, in main"
//     optimizer.step()
//   File ".../torch/optim/adamw.py", line 243, in step
//   torch.OutOfMemoryError: CUDA out of memory. ...
//
// Frames are CPython's (`File "F", line N, in NAME`), IPython's (`File F:N, in NAME(`, `Cell In[5], line N`, and before 8.0
// `F.py in NAME(`, with an arrow in front of the line) and rich's (`F.py:N in NAME`). What PyTorch calls its parts is of
// 2.10; the names of functions that people write are words such as validate or save_checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace vramplan {

enum class RunPart : uint8_t {
  kUnknown,
  kLoading,  // the model is read, or moved to the card
  kForward,
  kBackward,
  kOptimizer,
  kValidation,  // a forward of it
  kGeneration,
  kInference,  // a forward whose outputs are what is wanted
  kSaving,     // the state is gathered or written
  kServing,    // a server's engine
};
// "", "loading", "forward", "backward", "optimizer", "validation", "generation", "inference", "saving",
// "serving"
std::string_view Name(RunPart part);

// What asked for the memory, by the last lines of code.
enum class Requester : uint8_t { kUnknown, kAttention, kVocabulary, kConvolution };

struct Failure {
  RunPart part = RunPart::kUnknown;
  std::string at;  // the innermost frame of one's own code: "train.py:133, in main"; empty: there is none
  Requester requester = Requester::kUnknown;
  bool no_grad = false;     // torch.no_grad() or inference_mode() stands around it
  bool pins = false;        // in the data loader's thread that copies batches to page-locked memory
  bool before_1_9 = false;  // torch/tensor.py, which is torch/_tensor.py since 1.9
  bool operator==(const Failure&) const = default;
};

// `line`: a log as one line (words.h); `at`: where the message stands. The frames in front of it count, or, where there are
// none, as below a title, those behind it, up to the same message again or, unless they end in another error, to the end.
Failure FailureIn(std::string_view line, size_t at);

}  // namespace vramplan
