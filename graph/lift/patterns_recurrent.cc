// LSTM, GRU and RNN nodes. The exporter reorders the gates of every weight with Slice, Concat and Unsqueeze before it
// hands them to the node: what counts is which stored tensors are behind that. The nodes of one module's layers become
// one call in recurrent.h.
#include <algorithm>

#include "graph/lift/patterns_source.h"

namespace vramplan {
namespace {

void CollectStored(PatternSource& source, TensorId tensor, NodeId user, std::vector<Operand>& operands) {
  if (!tensor.valid()) return;
  if (source.Stored(tensor) != nullptr) {
    const Operand operand = source.Parameter(tensor, user, "weight");
    for (const Operand& known : operands) {
      if (known.tensor == operand.tensor) return;
    }
    operands.push_back(operand);
    return;
  }
  for (const char* op : {"Unsqueeze", "Concat", "Slice", "Split", "Squeeze", "Reshape", "Transpose"}) {
    const NodeId node = source.MakerOf(tensor, op);
    if (!node.valid()) continue;
    const size_t count = source[node].op == "Concat" ? source[node].inputs.size() : 1;
    for (size_t i = 0; i < count; ++i) CollectStored(source, source.In(node, i), user, operands);
  }
}

bool MatchRecurrent(PatternSource& source, NodeId root) {
  const Node& node = source[root];
  const bool lstm = node.op == "LSTM";
  // ONNX: X, W, R, B, sequence_lens, initial_h, initial_c; torch: input, hx, cx, weights
  std::vector<Operand> input_weights, hidden_weights, biases;
  CollectStored(source, source.In(root, 1), root, input_weights);
  CollectStored(source, source.In(root, 2), root, hidden_weights);
  CollectStored(source, source.In(root, 3), root, biases);
  std::vector<Operand> weights;  // by direction, as torch.nn.modules.rnn registers them
  for (size_t d = 0; d < input_weights.size(); ++d) {
    weights.push_back(input_weights[d]);
    if (d < hidden_weights.size()) weights.push_back(hidden_weights[d]);
    for (size_t i = 2 * d; i < std::min(2 * d + 2, biases.size()); ++i) weights.push_back(biases[i]);
  }
  std::vector<Operand> inputs = {source.Use(source.In(root, 0)), source.Use(source.In(root, 5)),
                                 lstm ? source.Use(source.In(root, 6)) : Operand{}};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  std::vector<Operand> outputs;
  for (size_t i = 0; i < node.outputs.size(); ++i) outputs.push_back(source.Out(root, i));
  source.Add(
      {.op = lstm               ? "lstm"
             : node.op == "GRU" ? "gru"
                                : "rnn",
       .inputs = std::move(inputs),
       .outputs = std::move(outputs),
       .attributes = Named({{"num_layers", int64_t{1}},
                            {"bidirectional", int64_t{node.attributes.Text("direction", "forward") == "bidirectional"}},
                            {"hidden_size", node.attributes.Int("hidden_size", 0)},
                            {"batch_first", node.attributes.Int("layout", 0)}}),
       .nodes = {root}});
  return true;
}

}  // namespace

const PatternRows& RecurrentPatterns() {
  static const PatternRows rows = {{"LSTM", MatchRecurrent}, {"GRU", MatchRecurrent}, {"RNN", MatchRecurrent}};
  return rows;
}

}  // namespace vramplan
