// Losses, and what trains beside them.
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// One number, or one a target without reduction; SoftmaxCrossEntropyLoss gives the log-probabilities too (onnx
// SoftmaxCrossEntropyLoss-13).
void ClassLoss(NodeInference& n) {
  if (n.Text("reduction", "mean") == "none") {
    n.Out(0).shape = n.ShapeOf(1);
  } else {
    n.SetShape(0, Shape{});
  }
  n.Out(1).shape = n.ShapeOf(0);
}

constexpr RuleRow kRows[] = {{"NegativeLogLikelihoodLoss", ClassLoss}, {"SoftmaxCrossEntropyLoss", ClassLoss}};

}  // namespace

constinit const std::span<const RuleRow> kLossRules(kRows);

}  // namespace vramplan
