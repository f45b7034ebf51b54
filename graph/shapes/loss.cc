// Losses, and what trains beside them.
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// One number, or one a target without reduction; SoftmaxCrossEntropyLoss gives the log-probabilities too (onnx
// SoftmaxCrossEntropyLoss-13).
void ClassLoss(NodeInference& n) {
  // torch.onnx without dynamo writes nll_loss(log_softmax(x).transpose(1, 2), y) with an operand of x's maker as
  // scores; with dynamo it writes labels that are probabilities, of the scores' shape.
  const auto &scores = n.ShapeOf(0), &labels = n.ShapeOf(1);
  if (scores && labels && scores->rank() != labels->rank() + 1 && *scores != *labels) {
    return n.Fail("its scores are " + n.Describe(0) + ", which do not match its labels " + n.Describe(1) +
                  "; an export with dynamo=True does not lose what computes them");
  }
  if (n.Text("reduction", "mean") == "none") {
    n.Out(0).shape = n.ShapeOf(1);
  } else {
    n.SetShape(0, Shape{});
  }
  n.Out(1).shape = n.ShapeOf(0);
}

constexpr RuleRow kLossRows[] = {{"NegativeLogLikelihoodLoss", ClassLoss}, {"SoftmaxCrossEntropyLoss", ClassLoss}};

}  // namespace

constinit const std::span<const RuleRow> kLossRules(kLossRows);

}  // namespace vramplan
