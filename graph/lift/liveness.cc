#include "graph/lift/liveness.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

namespace vramplan {
namespace {

// Inputs [first, last] of an ONNX operator that are sizes, axes or host numbers (operator specifications, opset 1 to
// 24).
struct HostInputs {
  size_t first, last;
};
constexpr size_t kRest = 1000;

const std::map<std::string, HostInputs>& HostInputTable() {
  static const std::map<std::string, HostInputs> table = {
      {"Shape", {0, 0}},
      {"Size", {0, 0}},
      {"EyeLike", {0, 0}},
      {"RandomNormalLike", {0, 0}},
      {"RandomUniformLike", {0, 0}},
      {"ConstantOfShape", {0, 0}},
      {"Range", {0, 2}},
      {"Reshape", {1, 1}},
      {"Expand", {1, 1}},
      {"Slice", {1, 4}},
      {"Resize", {1, 3}},
      {"Upsample", {1, 1}},
      {"Tile", {1, 2}},
      {"Pad", {1, 3}},
      {"TopK", {1, 1}},
      {"Split", {1, 1}},
      {"Squeeze", {1, 1}},
      {"Unsqueeze", {1, 1}},
      {"OneHot", {1, 2}},
      {"CumSum", {1, 1}},
      {"Clip", {1, 2}},
      {"Trilu", {1, 1}},
      {"Dropout", {1, 2}},
      {"AffineGrid", {1, 1}},
      {"CenterCropPad", {1, 1}},
      {"Col2Im", {1, 2}},
      {"MaxUnpool", {2, 2}},
      {"NonMaxSuppression", {2, 4}},
      {"DFT", {1, 2}},
      {"STFT", {1, 1}},
      {"BlackmanWindow", {0, 0}},
      {"HannWindow", {0, 0}},
      {"HammingWindow", {0, 0}},
      {"SplitToSequence", {1, 1}},
      {"SequenceAt", {1, 1}},
      {"ReduceSum", {1, 1}},
      {"ReduceMean", {1, 1}},
      {"ReduceMax", {1, 1}},
      {"ReduceMin", {1, 1}},
      {"ReduceProd", {1, 1}},
      {"ReduceL1", {1, 1}},
      {"ReduceL2", {1, 1}},
      {"ReduceLogSum", {1, 1}},
      {"ReduceLogSumExp", {1, 1}},
      {"ReduceSumSquare", {1, 1}},
  };
  return table;
}

// Operators in which exporters write arithmetic of sizes.
bool IsSizeArithmetic(const std::string& op) {
  static const std::set<std::string> ops = {
      "Gather",    "Slice",       "Concat",
      "Unsqueeze", "Squeeze",     "Reshape",
      "Cast",      "Identity",    "Add",
      "Sub",       "Mul",         "Div",
      "Mod",       "Pow",         "Sqrt",
      "Floor",     "Ceil",        "Round",
      "Neg",       "Abs",         "Min",
      "Max",       "Equal",       "Less",
      "Greater",   "LessOrEqual", "GreaterOrEqual",
      "Not",       "And",         "Or",
      "Where",     "Split",       "ReduceProd",
      "ReduceSum", "Reciprocal",  "Exp",
      "Log",       "CastLike",
  };
  return ops.count(op) != 0;
}

}  // namespace

bool IsShapeOperand(const Node& node, size_t input) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return false;
  const auto found = HostInputTable().find(node.op);
  if (found == HostInputTable().end()) return false;
  return input >= found->second.first && input <= found->second.last;
}

std::vector<bool> HostNodes(const Graph& graph) {
  std::vector<bool> host(graph.nodes.size(), false);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op == "Shape" || node.op == "Size") {
      host[n] = true;
      continue;
    }
    if (!IsSizeArithmetic(node.op)) continue;
    bool from_shape = false, only_numbers = true;
    for (const TensorId input : node.inputs) {
      if (!input.valid()) continue;
      const Tensor& tensor = graph[input];
      const bool host_made = tensor.producer.valid() && host[static_cast<size_t>(tensor.producer.value)];
      // Large stored tensors are weights or tables: what is computed from them is data.
      const bool number =
          tensor.stored.has_value() && tensor.stored->values.has_value() && tensor.stored->dims.size() <= 1;
      from_shape |= host_made;
      only_numbers &= host_made || number;
    }
    host[n] = from_shape && only_numbers;
  }
  return host;
}

std::vector<bool> LiveNodes(const Graph& graph) {
  const std::vector<bool> host = HostNodes(graph);
  std::vector<bool> live(graph.nodes.size(), false);
  std::vector<NodeId> work;
  const auto need = [&](TensorId tensor) {
    if (!tensor.valid()) return;
    const NodeId maker = graph[tensor].producer;
    if (!maker.valid() || live[static_cast<size_t>(maker.value)] || host[static_cast<size_t>(maker.value)]) return;
    live[static_cast<size_t>(maker.value)] = true;
    work.push_back(maker);
  };
  for (const TensorId output : graph.outputs) need(output);
  while (!work.empty()) {
    const Node& node = graph[work.back()];
    work.pop_back();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!IsShapeOperand(node, i)) need(node.inputs[i]);
    }
  }
  return live;
}

bool IsHostNumber(const Graph& graph, const Shapes& shapes, TensorId tensor, const std::vector<bool>& live) {
  const NodeId maker = graph[tensor].producer;
  if (!maker.valid() || live[static_cast<size_t>(maker.value)]) return false;
  return shapes[tensor].shape.has_value() && shapes[tensor].shape->rank() == 0;
}

TensorId InputBehind(const Graph& graph, TensorId tensor) {
  while (tensor.valid() && graph[tensor].producer.valid()) {
    const Node& maker = graph[graph[tensor].producer];
    if ((maker.op != "Reshape" && maker.op != "Cast" && maker.op != "Identity") || maker.inputs.empty()) return {};
    tensor = maker.inputs[0];
  }
  const bool is_input = std::find(graph.inputs.begin(), graph.inputs.end(), tensor) != graph.inputs.end();
  return is_input ? tensor : TensorId{};
}

}  // namespace vramplan
