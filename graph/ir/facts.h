// Facts: what an export loses of a model and a file may bring along in its metadata (docs/facts.md). Whatever a part
// says is so, and stands in for rules and guesses; a part that is absent says nothing.
//
//   calls   conv2d  batch_norm  relu  linear       what ran, in order
//   ends    {conv2d, 1} {relu, 3}                  nothing held conv2d's result any more when batch_norm was done
//   writes  relu                                   relu wrote into its operand
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ir/dtype.h"
#include "graph/ir/shape.h"

namespace vramplan {

// One forward as it was recorded, in the names of the file: fx nodes, else the values that they make.
struct RecordedForward {
  static constexpr int32_t kWithTheForward = -1;
  static constexpr int32_t kWhenMadeAnew = -2;  // of programs: an attribute of a module holds it until the next forward
  struct End {
    std::string result;
    int32_t call = kWithTheForward;  // when this one is done nothing holds the result; else whoever called the model
    bool operator==(const End&) const = default;
  };
  std::vector<std::string> calls;
  std::vector<End> ends;            // in the order in which they died
  std::vector<std::string> writes;  // of the calls whose results `ends` has, those that write into their operand
  bool operator==(const RecordedForward&) const = default;
};

// An argument of a recorded call.
struct RecordedArgument {
  enum class Kind : uint8_t { kNone, kBool, kInt, kReal, kText, kValue, kList };
  Kind kind = Kind::kNone;
  int64_t integer = 0;  // of kValue: which
  double real = 0;
  std::string text;
  std::vector<RecordedArgument> items;
  bool operator==(const RecordedArgument&) const = default;
};

// The call that makes the results of a torch.autograd.Function's forward those of one entry of the tape.
inline constexpr std::string_view kFunctionTarget = "vramplan.function";

// Every call of one forward as PyTorch ran it. Values, calls and modules are numbered in their order.
//
//   values  0 [B, 3] input   1 [8, 3] stored fc.weight   2 [B, 8]
//   calls   aten.linear.default(0, 1) -> 2
struct RecordedProgram {
  static constexpr int32_t kAbsent = -1;
  struct Kept {
    std::string name;
    int32_t value = kAbsent;
    bool operator==(const Kept&) const = default;
  };
  struct Called {
    std::string path, class_name;
    int32_t parent = kAbsent;  // kAbsent: the root
    bool operator==(const Called&) const = default;
  };
  struct Call {
    std::string target;  // "aten.add.Tensor"
    int32_t module = kAbsent;
    std::vector<RecordedArgument> arguments;
    std::vector<int32_t> results;  // kAbsent: no tensor on the card
    std::vector<std::pair<std::string, RecordedArgument>> keywords;
    std::string name;        // what the file calls it; empty: nothing
    int32_t node = kAbsent;  // of the file
    bool operator==(const Call&) const = default;
  };
  struct End {
    int32_t value = kAbsent;
    int32_t call = RecordedForward::kWithTheForward;
    bool operator==(const End&) const = default;
  };
  struct Tensor {
    DType type = DType::kUndefined;
    Shape shape;
    std::string name;  // what the file calls it; empty: nothing
    bool operator==(const Tensor&) const = default;
  };
  std::vector<Tensor> values;
  std::vector<Kept> stored;            // parameters and buffers by their names
  std::vector<int32_t> loose;          // tensors on the card that no module lists
  std::vector<Kept> given;             // inputs
  std::vector<int32_t> channels_last;  // of stored, loose and given, those that lie so in memory
  std::vector<int32_t> returned;       // what the loss is made of first; kAbsent: no tensor on the card
  std::vector<Called> modules;
  std::vector<std::string> reentrant;  // paths of modules that run under torch.utils.checkpoint(use_reentrant=True)
  std::vector<Call> calls;
  std::vector<End> ends;   // in the order in which they died
  int32_t loss = kAbsent;  // the first call of the script's loss, behind those of the model; kAbsent: it is not there
  // What calls of vramplan.function run for their gradients, by the keyword "backward" of the call. It is given the
  // gradients of the results, then what the function keeps, and returns the gradients of its operands.
  std::vector<RecordedProgram> backwards;
  bool operator==(const RecordedProgram&) const = default;
};

struct RecordedOptimizer {
  std::string name;  // as --optimizer takes it
  std::optional<double> weight_decay, momentum;
  std::string impl;  // as --optimizer-impl takes it; empty: not said
  bool operator==(const RecordedOptimizer&) const = default;
};

// A parameter or a buffer of the module tree.
struct RecordedTensor {
  std::string name;
  DType type = DType::kUndefined;
  std::vector<int64_t> shape;
  bool trained = true;  // of a parameter: requires_grad
  std::string same_as;  // the name before it that is the same tensor; empty: none
  bool operator==(const RecordedTensor&) const = default;
};

struct Facts {
  std::optional<bool> training;  // whether the file is of model.train() or of model.eval()
  std::optional<std::vector<RecordedTensor>> parameters, buffers;  // all of them
  std::optional<std::vector<std::string>> functions;     // classes of torch.autograd.Function that the forward called
  std::vector<std::string> idle;                         // paths of linear layers of no stack that no forward calls
  std::optional<std::vector<std::string>> checkpointed;  // paths of modules that run under torch.utils.checkpoint
  std::optional<RecordedOptimizer> optimizer;
  std::optional<RecordedForward> in_training, in_inference;
  std::optional<RecordedProgram> training_program, inference_program;
  // Under autocast in fp16, where the code does something else then.
  std::optional<RecordedProgram> training_program_in_amp, inference_program_in_amp;
  bool operator==(const Facts&) const = default;
};

}  // namespace vramplan
