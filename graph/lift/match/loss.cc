// Losses that stand in the graph. The TorchScript exporter (torch/onnx/symbolic_opset9.py, symbolic_opset12.py) has
// nodes for the losses of classes and writes the others as arithmetic:
//
//   mse_loss(x, y)    ReduceMean(Mul(d, d')), d = d' = Sub(Expand(x), Expand(y)), twice
//   bce_logits(x, y)  ReduceMean(Neg(Add(Mul(y, Log(s)), Mul(Sub(1, y), Log(Sub(1, s)))))), s = Sigmoid(x)
#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

Attributes Reduced(const std::string& reduction) {
  Attributes attributes;
  if (reduction != "mean") attributes.Set("reduction", reduction);
  return attributes;
}

// "mean" or "sum" of a whole tensor; empty for a reduction along axes.
std::string WholeReduction(PatternSource& source, NodeId root) {
  const Node& node = source[root];
  if (node.attributes.Has("axes") || node.inputs.size() > 1 || node.attributes.Int("keepdims", 1) != 0) return "";
  return node.op == "ReduceMean" ? "mean" : "sum";
}

bool MatchClassLoss(PatternSource& source, NodeId root) {
  const Node& node = source[root];
  std::vector<Operand> inputs = {source.Input(root, 0), source.Input(root, 1)};
  if (source.In(root, 2).valid()) {
    const TensorId weight = source.In(root, 2);
    inputs.push_back(source.Stored(weight) != nullptr ? source.Buffer(weight, root, "weight") : source.Use(weight));
  }
  return source.Emit(node.op == "SoftmaxCrossEntropyLoss" ? "cross_entropy" : "nll_loss", std::move(inputs), {root},
                     Reduced(node.attributes.Text("reduction", "mean")));
}

// What an Expand to another operand's sizes hands on.
TensorId BehindExpand(PatternSource& source, TensorId tensor) {
  const NodeId expand = source.MakerOf(tensor, "Expand");
  return expand.valid() ? source.In(expand, 0) : tensor;
}

bool MatchWritten(PatternSource& source, NodeId root) {
  static const Form mse("ReduceMean|ReduceSum(Mul(left=Sub(x, y), right=Sub(x, y)))"),
      bce("ReduceMean|ReduceSum(Neg(Add(Mul(Log(s=&Sigmoid(x)), y), Mul(Log(&Sub(1, s)), &Sub(1, y)))))");
  const std::string reduction = WholeReduction(source, root);
  if (reduction.empty()) return false;
  const auto emit = [&](const char* op, const NodesMatch& found) {
    return source.Emit(op, {source.Use(BehindExpand(source, found["x"])), source.Use(BehindExpand(source, found["y"]))},
                       found.Nodes(), Reduced(reduction));
  };
  return MatchesForm(source, root, mse,
                     [&](const NodesMatch& found) {
                       return found.MakerOf("left") != found.MakerOf("right") && emit("mse_loss", found);
                     }) ||
         MatchesForm(source, root, bce, [&](const NodesMatch& found) { return emit("bce_logits", found); });
}

}  // namespace

const PatternRows& LossPatterns() {
  static const PatternRows rows = {{"SoftmaxCrossEntropyLoss|NegativeLogLikelihoodLoss", MatchClassLoss},
                                   {"ReduceMean|ReduceSum", MatchWritten}};
  return rows;
}

}  // namespace vramplan
