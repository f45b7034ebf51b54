// The domain ai.onnx.preview.training: optimizers as operators, and Gradient.
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

void Like(NodeInference& n, int output, int input) {
  n.Out(output).type = n.In(input).type;
  n.Out(output).shape = n.ShapeOf(input);
}

// Inputs: rate, step count, then for each of n tensors the tensor, its gradient and its states, kind by kind; outputs:
// the tensors and the states, kind by kind (onnx Adagrad-1, Adam-1, Momentum-1).
template <int kinds>
void Optimizer(NodeInference& n) {
  const int given = n.inputs() - 2;
  if (given < kinds || given % kinds != 0) return n.Fail("its inputs are not " + std::to_string(kinds) + " a tensor");
  const int tensors = given / kinds;
  for (int i = 0; i < n.outputs(); ++i) Like(n, i, 2 + (i < tensors ? i : i + tensors));
}

// Of the outputs named by "y" with regard to the inputs, in their order: each as large as its input (onnx Gradient-1).
void Gradient(NodeInference& n) {
  for (int i = 0; i < n.outputs(); ++i) Like(n, i, i);
}

constexpr RuleRow kTrainingRows[] = {
    {"Adagrad", Optimizer<3>, Type::kRule},
    {"Adam", Optimizer<4>, Type::kRule},
    {"Momentum", Optimizer<3>, Type::kRule},
    {"Gradient", Gradient, Type::kRule},
};

}  // namespace

constinit const std::span<const RuleRow> kTrainingRules(kTrainingRows);

}  // namespace vramplan
