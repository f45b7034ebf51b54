// LSTM, GRU and RNN nodes. The exporter reorders the gates of every weight with Slice, Concat and Unsqueeze before it
// hands them to the node: what counts is which stored tensors are behind that. The nodes of one module's layers become
// one call in recurrent.h.
#include <algorithm>

#include "graph/lift/match/source.h"

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

// An export that folds constants, and every tool but PyTorch, stores what the node takes: W [directions, gates * H, I],
// R [directions, gates * H, H] and both biases of a direction in a row, B [directions, 2 * gates * H]. nn.LSTM has them
// apart (torch/nn/modules/rnn.py 2.10, RNNBase.__init__). Empty: they are not stored so.
std::vector<Operand> PackedWeights(PatternSource& source, NodeId root) {
  const TensorId w = source.In(root, 1), r = source.In(root, 2), b = source.In(root, 3);
  for (const TensorId tensor : {w, r, b}) {
    if (tensor == b && !b.valid()) continue;
    const StoredTensor* stored = tensor.valid() ? source.Stored(tensor) : nullptr;
    if (stored == nullptr || stored->dims.size() != (tensor == b ? 2U : 3U)) return {};
  }
  const Shape rows = source.ShapeOf(w), hidden = source.ShapeOf(r);
  if (!rows[0].IsConstant() || rows[0].c0() > 2) return {};
  // "/rnn/LSTM_1" is the second layer of its module.
  const std::string& name = source[root].name;
  const size_t number = name.rfind("/" + source[root].op + "_");
  const std::string layer = number == std::string::npos ? "0" : name.substr(number + source[root].op.size() + 2);
  std::vector<Operand> weights;
  for (int64_t direction = 0; direction < rows[0].c0(); ++direction) {
    const std::string suffix = "_l" + layer + (direction == 0 ? "" : "_reverse");
    weights.push_back(source.PartOf(w, root, "weight_ih" + suffix, Shape{rows[1], rows[2]}));
    weights.push_back(source.PartOf(r, root, "weight_hh" + suffix, Shape{hidden[1], hidden[2]}));
    if (!b.valid()) continue;
    weights.push_back(source.PartOf(b, root, "bias_ih" + suffix, Shape{rows[1]}));
    weights.push_back(source.PartOf(b, root, "bias_hh" + suffix, Shape{rows[1]}));
  }
  return weights;
}

bool MatchRecurrent(PatternSource& source, NodeId root) {
  const Node& node = source[root];
  const bool lstm = node.op == "LSTM";
  // ONNX: X, W, R, B, sequence_lens, initial_h, initial_c; torch: input, hx, cx, weights
  std::vector<Operand> weights = PackedWeights(source, root);  // by direction, as torch.nn.modules.rnn registers them
  std::vector<Operand> input_weights, hidden_weights, biases;
  if (weights.empty()) {
    CollectStored(source, source.In(root, 1), root, input_weights);
    CollectStored(source, source.In(root, 2), root, hidden_weights);
    CollectStored(source, source.In(root, 3), root, biases);
  }
  for (size_t d = 0; d < input_weights.size(); ++d) {
    weights.push_back(input_weights[d]);
    if (d < hidden_weights.size()) weights.push_back(hidden_weights[d]);
    for (size_t i = 2 * d; i < std::min(2 * d + 2, biases.size()); ++i) weights.push_back(biases[i]);
  }
  std::vector<Operand> inputs = {source.Input(root, 0), source.Input(root, 5),
                                 lstm ? source.Input(root, 6) : Operand{}};
  inputs.insert(inputs.end(), weights.begin(), weights.end());
  return source.EmitAll(
      lstm               ? "lstm"
      : node.op == "GRU" ? "gru"
                         : "rnn",
      std::move(inputs), root,
      Named({{"num_layers", int64_t{1}},
             {"bidirectional", int64_t{node.attributes.Text("direction", "forward") == "bidirectional"}},
             {"hidden_size", node.attributes.Int("hidden_size", 0)},
             {"batch_first", node.attributes.Int("layout", 0)}}));
}

}  // namespace

const PatternRows& RecurrentPatterns() {
  static const PatternRows rows = {{"LSTM|GRU|RNN", MatchRecurrent}};
  return rows;
}

}  // namespace vramplan
