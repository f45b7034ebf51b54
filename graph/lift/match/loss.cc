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
  std::vector<Operand> inputs = {source.Use(source.In(root, 0)), source.Use(source.In(root, 1))};
  if (source.In(root, 2).valid()) {
    const TensorId weight = source.In(root, 2);
    inputs.push_back(source.Stored(weight) != nullptr ? source.Buffer(weight, root, "weight") : source.Use(weight));
  }
  source.Add({.op = node.op == "SoftmaxCrossEntropyLoss" ? "cross_entropy" : "nll_loss",
              .inputs = std::move(inputs),
              .outputs = {source.Out(root)},
              .attributes = Reduced(node.attributes.Text("reduction", "mean")),
              .nodes = {root}});
  return true;
}

// What an Expand to another operand's sizes hands on.
TensorId BehindExpand(PatternSource& source, TensorId tensor) {
  const NodeId expand = source.MakerOf(tensor, "Expand");
  return expand.valid() ? source.In(expand, 0) : tensor;
}

bool MatchMse(PatternSource& source, NodeId root) {
  const std::string reduction = WholeReduction(source, root);
  const NodeId square = source.OnlyMakerOf(source.In(root, 0), "Mul");
  if (reduction.empty() || !square.valid()) return false;
  const NodeId left = source.OnlyMakerOf(source.In(square, 0), "Sub");
  const NodeId right = source.OnlyMakerOf(source.In(square, 1), "Sub");
  if (!left.valid() || !right.valid() || left == right) return false;
  for (size_t i = 0; i < 2; ++i) {
    if (source.In(left, i) != source.In(right, i)) return false;
  }
  source.Add({.op = "mse_loss",
              .inputs = {source.Use(BehindExpand(source, source.In(left, 0))),
                         source.Use(BehindExpand(source, source.In(left, 1)))},
              .outputs = {source.Out(root)},
              .attributes = Reduced(reduction),
              .nodes = {left, right, square, root}});
  return true;
}

// The operand of a Mul that is not `factor`; invalid when neither is.
TensorId OtherFactor(PatternSource& source, NodeId product, TensorId factor) {
  if (source.In(product, 0) == factor) return source.In(product, 1);
  return source.In(product, 1) == factor ? source.In(product, 0) : TensorId{};
}

// Sub(1, tensor): its tensor.
TensorId Complement(PatternSource& source, TensorId tensor, std::vector<NodeId>* nodes) {
  const NodeId difference = source.MakerOf(tensor, "Sub");
  if (!difference.valid() || !source.IsNumber(source.In(difference, 0), 1)) return {};
  nodes->push_back(difference);
  return source.In(difference, 1);
}

bool MatchBceLogits(PatternSource& source, NodeId root) {
  const std::string reduction = WholeReduction(source, root);
  const NodeId negative = source.OnlyMakerOf(source.In(root, 0), "Neg");
  const NodeId sum = negative.valid() ? source.OnlyMakerOf(source.In(negative, 0), "Add") : NodeId{};
  if (reduction.empty() || !sum.valid()) return false;
  const NodeId hit = source.OnlyMakerOf(source.In(sum, 0), "Mul"), miss = source.OnlyMakerOf(source.In(sum, 1), "Mul");
  if (!hit.valid() || !miss.valid()) return false;
  for (size_t i = 0; i < 2; ++i) {  // which factor is the logarithm
    const NodeId log_hit = source.OnlyMakerOf(source.In(hit, i), "Log");
    const NodeId sigmoid = log_hit.valid() ? source.MakerOf(source.In(log_hit, 0), "Sigmoid") : NodeId{};
    if (!sigmoid.valid()) continue;
    const TensorId probability = source.In(log_hit, 0), target = source.In(hit, 1 - i);
    for (size_t j = 0; j < 2; ++j) {
      const NodeId log_miss = source.OnlyMakerOf(source.In(miss, j), "Log");
      if (!log_miss.valid()) continue;
      std::vector<NodeId> nodes = {sigmoid, log_hit, hit, log_miss, miss};
      if (Complement(source, source.In(log_miss, 0), &nodes) != probability ||
          Complement(source, OtherFactor(source, miss, source.In(miss, j)), &nodes) != target)
        continue;
      nodes.insert(nodes.end(), {sum, negative, root});
      source.Add({.op = "bce_logits",
                  .inputs = {source.Use(source.In(sigmoid, 0)), source.Use(target)},
                  .outputs = {source.Out(root)},
                  .attributes = Reduced(reduction),
                  .nodes = std::move(nodes)});
      return true;
    }
  }
  return false;
}

}  // namespace

const PatternRows& LossPatterns() {
  static const PatternRows rows = {{"SoftmaxCrossEntropyLoss", MatchClassLoss},
                                   {"NegativeLogLikelihoodLoss", MatchClassLoss},
                                   {"ReduceMean", MatchMse},
                                   {"ReduceSum", MatchMse},
                                   {"ReduceMean", MatchBceLogits},
                                   {"ReduceSum", MatchBceLogits}};
  return rows;
}

}  // namespace vramplan
