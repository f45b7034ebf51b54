#include "graph/lift/liveness.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph/base/text.h"

namespace vramplan {
namespace {

// Inputs [first, last] of an ONNX operator that are sizes, axes or host numbers (operator specifications, opset 1 to
// 24).
struct HostInputs {
  size_t first, last;
};
using HostInputTable = std::unordered_map<std::string_view, HostInputs>;
const HostInputTable& HostInputsOf() {
  static const HostInputTable table = [] {
    constexpr std::pair<std::string_view, HostInputs> kRows[] = {
        {"Shape Size EyeLike RandomNormalLike RandomUniformLike ConstantOfShape BlackmanWindow HannWindow "
         "HammingWindow",
         {0, 0}},
        {"Range", {0, 2}},
        {"Reshape Expand Upsample TopK Split Squeeze Unsqueeze CumSum Trilu AffineGrid CenterCropPad STFT "
         "SplitToSequence SequenceAt ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 "
         "ReduceLogSum "
         "ReduceLogSumExp ReduceSumSquare",
         {1, 1}},
        {"Tile OneHot Clip Dropout Col2Im DFT", {1, 2}},
        {"Resize Pad", {1, 3}},
        {"Slice", {1, 4}},
        {"MaxUnpool", {2, 2}},
        {"NonMaxSuppression", {2, 4}}};
    HostInputTable inputs;
    for (const auto& [ops, range] : kRows) {
      for (const std::string_view op : TextsIn(ops, ' ')) inputs.emplace(op, range);
    }
    return inputs;
  }();
  return table;
}

}  // namespace

bool IsShapeOperand(const Node& node, size_t input) {
  if (!node.domain.empty() && node.domain != "ai.onnx") return false;
  const auto found = HostInputsOf().find(node.op);
  if (found == HostInputsOf().end()) return false;
  return input >= found->second.first && input <= found->second.last;
}

bool IsSizeArithmetic(const std::string& op) {
  static const std::unordered_set<std::string> ops = {"Gather",     "Slice",
                                                      "Concat",     "Unsqueeze",
                                                      "Squeeze",    "Reshape",
                                                      "Cast",       "Identity",
                                                      "Add",        "Sub",
                                                      "Mul",        "Div",
                                                      "Mod",        "Pow",
                                                      "Sqrt",       "Floor",
                                                      "Ceil",       "Round",
                                                      "Neg",        "Abs",
                                                      "Min",        "Max",
                                                      "Equal",      "Less",
                                                      "Greater",    "Not",
                                                      "And",        "Or",
                                                      "Where",      "Split",
                                                      "ReduceProd", "ReduceSum",
                                                      "Reciprocal", "GreaterOrEqual",
                                                      "Exp",        "Log",
                                                      "CastLike",   "LessOrEqual"};
  return ops.contains(op);
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
      const bool host_made = tensor.producer.valid() && host[tensor.producer.index()];
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
    if (!maker.valid() || live[maker.index()] || host[maker.index()]) return;
    live[maker.index()] = true;
    work.push_back(maker);
  };
  for (const TensorId output : graph.outputs) need(output);
  while (!work.empty()) {
    const Node& node = graph[work.back()];
    work.pop_back();
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!IsShapeOperand(node, i)) need(node.inputs[i]);
    }
    if (node.op != "Loop") continue;  // bags of embeddings: their numbers are read inside
    const auto* body = node.attributes.Get<std::shared_ptr<Graph>>("body");
    if (body == nullptr || *body == nullptr) continue;
    for (const Tensor& inner : (*body)->tensors) {
      if (inner.outer.valid()) need(NumbersBehind(graph, inner.outer));
    }
  }
  return live;
}

bool IsHostNumber(const Graph& graph, const Shapes& shapes, TensorId tensor, const std::vector<bool>& live) {
  const NodeId maker = graph[tensor].producer;
  if (!maker.valid() || live[maker.index()]) return false;
  return shapes[tensor].shape.has_value() && shapes[tensor].shape->rank() == 0;
}

TensorId NumbersBehind(const Graph& graph, TensorId tensor) {
  while (tensor.valid() && graph[tensor].producer.valid()) {
    const Node& maker = graph[graph[tensor].producer];
    if (maker.inputs.empty()) return {};
    if (maker.op == "Slice" && Contains(graph.inputs, maker.inputs[0])) return tensor;
    if (maker.op != "Reshape" && maker.op != "Cast" && maker.op != "Identity") return {};
    tensor = maker.inputs[0];
  }
  return Contains(graph.inputs, tensor) ? tensor : TensorId{};
}

}  // namespace vramplan
