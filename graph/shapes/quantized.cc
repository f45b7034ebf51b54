#include "graph/shapes/quantized.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace vramplan {
namespace {

// onnx/docs/Operators.md, ContribOperators.md of ONNX Runtime.
constexpr std::array<std::string_view, 15> kOperators = {
    "QuantizeLinear",       "DequantizeLinear", "DynamicQuantizeLinear", "DynamicQuantizeMatMul",
    "DynamicQuantizeLSTM",  "MatMulInteger",    "ConvInteger",           "MatMulInteger16",
    "MatMulIntegerToFloat", "MatMulNBits",      "MatMulNBitsMlp",        "MatMulNBitsQkv",
    "MatMulBnb4",           "MatMulFpQ4",       "GatherBlockQuantized",
};
constexpr std::array<std::string_view, 6> kMicrosoftOnly = {
    "QAttention", "QGemm", "QMoE", "QEmbedLayerNormalization", "QOrderedMatMul", "QOrderedAttention"};

constexpr std::array<std::string_view, 5> kClassical = {"TreeEnsemble", "TreeEnsembleClassifier",
                                                        "TreeEnsembleRegressor", "SVMClassifier", "SVMRegressor"};

template <typename List>
bool Holds(const List& list, const std::string& op) {
  return std::find(list.begin(), list.end(), op) != list.end();
}

}  // namespace

const Node* QuantizedNode(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op.starts_with("QLinear") || Holds(kOperators, node.op)) return &node;
    if (node.domain == "com.microsoft" && Holds(kMicrosoftOnly, node.op)) return &node;
  }
  return nullptr;
}

const Node* ClassicalNode(const Graph& graph) {
  const auto found = std::find_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return node.domain == "ai.onnx.ml" && Holds(kClassical, node.op);
  });
  return found == graph.nodes.end() ? nullptr : &*found;
}

}  // namespace vramplan
