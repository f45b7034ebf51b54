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
#include <vector>

#include "graph/ir/dtype.h"

namespace vramplan {

// One forward as it was recorded, in the names of the file: fx nodes, else the values that they make.
struct RecordedForward {
  static constexpr int32_t kWithTheForward = -1;
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
  std::optional<std::vector<std::string>> checkpointed;  // paths of modules that run under torch.utils.checkpoint
  std::optional<RecordedOptimizer> optimizer;
  std::optional<RecordedForward> in_training, in_inference;
  bool operator==(const Facts&) const = default;
};

}  // namespace vramplan
