#include "tests/support/data_decides.h"

#include <algorithm>
#include <map>
#include <vector>

namespace vramplan::testing {
namespace {

// By operator: the inputs whose values decide (onnx/docs/Operators.md); none: the data itself does.
const std::map<std::string, std::vector<int>>& Deciding() {
  static const std::map<std::string, std::vector<int>> kDeciding = {
      {"NonZero", {}},
      {"RemovePadding", {}},
      {"Unique", {}},
      {"Compress", {}},
      {"NonMaxSuppression", {}},
      {"StringSplit", {}},
      {"ImageDecoder", {}},
      {"Loop", {}},
      {"If", {}},
      {"StringNormalizer", {}},
      {"Reshape", {1}},
      {"Expand", {1}},
      {"Tile", {1}},
      {"Resize", {2, 3}},
      {"Upsample", {1}},
      {"Slice", {1, 2}},
      {"Pad", {1, 3}},
      {"Range", {0, 1, 2}},
      {"ConstantOfShape", {0}},
      {"OneHot", {1}},
      {"TopK", {1}},
      {"Squeeze", {1}},
      {"Unsqueeze", {1}},
      {"Split", {1}},
      {"SplitToSequence", {1}},
      {"CenterCropPad", {1}},
      {"AffineGrid", {1}},
      {"Col2Im", {1, 2}},
      {"DFT", {1, 2}},
      {"STFT", {1, 3}},
      {"HannWindow", {0}},
      {"HammingWindow", {0}},
      {"BlackmanWindow", {0}},
      {"MelWeightMatrix", {0, 1}},
      {"MaxUnpool", {2}},
      {"ReduceSum", {1}},
      {"ReduceMax", {1}},
      {"ReduceMin", {1}},
      {"ReduceMean", {1}},
      {"ReduceProd", {1}},
      {"ReduceL1", {1}},
      {"ReduceL2", {1}},
      {"ReduceLogSum", {1}},
      {"ReduceLogSumExp", {1}},
      {"ReduceSumSquare", {1}},
      {"GroupQueryAttention", {6}},
      // A sequence is told by what its elements have in common; which of them is taken, or how many there are, is data.
      {"SequenceAt", {}},
      {"SequenceInsert", {}},
      {"SequenceConstruct", {}},
      {"ConcatFromSequence", {}},
      {"SequenceEmpty", {}},
      {"SequenceMap", {}},
      {"SequenceErase", {}},
  };
  return kDeciding;
}

bool Constant(const TensorFacts& facts) {
  if (facts.reals) return true;
  return facts.integers && std::all_of(facts.integers->begin(), facts.integers->end(), [](Dim d) { return d.known(); });
}

bool Decided(const Node& node, const Shapes& shapes) {
  const auto row = Deciding().find(node.op);
  if (row == Deciding().end()) return false;
  if (row->second.empty()) return true;
  for (const int input : row->second) {
    if (static_cast<size_t>(input) >= node.inputs.size() || !node.inputs[static_cast<size_t>(input)].valid()) continue;
    if (!Constant(shapes[node.inputs[static_cast<size_t>(input)]])) return true;
  }
  return false;
}

}  // namespace

bool FullyKnown(const TensorFacts& facts) {
  if (!facts.is_tensor) return true;
  return facts.type != DType::kUndefined && facts.shape && facts.shape->known();
}

std::string NotDecidedByData(const Graph& graph, const Shapes& shapes) {
  for (const Node& node : graph.nodes) {
    bool open = false, closed = true;
    for (const TensorId id : node.outputs) open = open || (id.valid() && !FullyKnown(shapes[id]));
    for (const TensorId id : node.inputs) closed = closed && (!id.valid() || FullyKnown(shapes[id]));
    if (open && closed && !Decided(node, shapes)) return "node " + node.name + " (" + node.op + ")";
  }
  return "";
}

}  // namespace vramplan::testing
