// FusedParts: a node that a tool fused, taken apart again. Its parts are layers that all stand at that node; what lies
// between them is in no file:
//
//   FusedParts parts(source, root);
//   const Operand sum = parts.Make("add", shape, {x, skip});
//   parts.Put("layer_norm", {sum, weight, bias}, parts.Out(0));
#pragma once

#include <vector>

#include "graph/lift/match/source.h"

namespace vramplan {

class FusedParts {
 public:
  FusedParts(PatternSource& source, NodeId root) : source_(source), root_(root) {
    type_ = source.TypeOf(source[root].outputs[0]);
  }

  // A layer whose result the file does not have, of the type of the node's first output, or of `type`.
  Operand Make(const char* op, const Shape& shape, std::vector<Operand> inputs, Attributes attributes = {}) {
    return MakeOf(type_, op, shape, std::move(inputs), std::move(attributes));
  }
  Operand MakeOf(DType type, const char* op, const Shape& shape, std::vector<Operand> inputs,
                 Attributes attributes = {});
  // One that is as large as the node's first output.
  Operand Make(const char* op, std::vector<Operand> inputs, Attributes attributes = {}) {
    return Make(op, source_.ShapeOf(source_[root_].outputs[0]), std::move(inputs), std::move(attributes));
  }
  // A layer with a number for its second operand.
  Operand MakeWith(double number, const char* op, const Shape& shape, Operand input) {
    return Make(op, shape, {input, Operand{}}, Named({{"scalar", number}}));
  }
  void Put(const char* op, std::vector<Operand> inputs, Operand output, Attributes attributes = {});
  Operand Out(size_t i) { return source_.Out(root_, i); }

  // x.pow(2).mean(-1), + eps, rsqrt, x * that, weight * that: how transformers write an RMS norm (modeling_llama.py,
  // modeling_t5.py, 5.23), and what becomes of nn.RMSNorm in a TorchScript export.
  void PutRmsNorm(Operand x, const Shape& shape, TensorId weight, Operand output);
  // Gelu with tanh, as NewGELUActivation writes it out: 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x ** 3)))
  // (transformers/activations.py 5.23).
  void PutWrittenGelu(Operand x, const Shape& shape, Operand output);

 private:
  PatternSource& source_;
  NodeId root_;
  DType type_;
};

// An operand of a product, turned where the optimizer took a Transpose into it; absent where it cannot be.
Operand SideOf(PatternSource& source, NodeId product, size_t i);

// A product with a stored matrix whose bias the optimizer moved into the node behind it, nn.Linear:
//
//   MatMul(x, w), BiasGelu(., b)                    ->  linear(x, w, b)
//   FusedMatMul<transA>(x, w), Add(b)               ->  linear(transpose(x), w, b)
//
// linear(...) -> sum, where `product` is made by such a product and read by nobody else; false: it is none. `bias` is
// an operand, absent for none.
bool AddLinearBehind(PatternSource& source, TensorId product, Operand bias, NodeId user, Operand sum);
// The same with a stored tensor, or a plain sum where there is no such product.
Operand WithBias(PatternSource& source, TensorId product, TensorId bias, NodeId user);

// PyTorch's name for the activation that FusedConv and FusedGemm carry; null for none that is known.
const char* FusedActivationOf(const Node& node);

}  // namespace vramplan
