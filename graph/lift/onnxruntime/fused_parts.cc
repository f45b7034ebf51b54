#include "graph/lift/onnxruntime/fused_parts.h"

#include <cmath>
#include <numbers>

namespace vramplan {

Operand FusedParts::MakeOf(DType type, const char* op, const Shape& shape, std::vector<Operand> inputs,
                           Attributes attributes) {
  const Operand made = source_.New(Beside(source_[root_], op), type, shape);
  Put(op, std::move(inputs), made, std::move(attributes));
  return made;
}

void FusedParts::Put(const char* op, std::vector<Operand> inputs, Operand output, Attributes attributes) {
  source_.Add({.op = op,
               .inputs = std::move(inputs),
               .outputs = {output},
               .attributes = std::move(attributes),
               .nodes = {root_}});
}

void FusedParts::PutRmsNorm(Operand x, const Shape& shape, TensorId weight, Operand output) {
  Shape row = shape;
  row[row.rank() - 1] = 1;
  const Operand square = MakeWith(2, "pow", shape, x);
  const Operand mean = Make("mean", row, {square}, Named({{"dim", std::vector<int64_t>{-1}}, {"keepdim", int64_t{1}}}));
  const Operand root =
      Make("rsqrt", row, {MakeWith(source_[root_].attributes.Real("epsilon", 1e-5), "add", row, mean)});
  const Operand normed = Make("mul", shape, {x, root});
  Put("mul", {source_.Parameter(weight, root_, "weight"), normed}, output);
}

void FusedParts::PutWrittenGelu(Operand x, const Shape& shape, Operand output) {
  const Operand half = MakeWith(0.5, "mul", shape, x);
  const Operand cube = MakeWith(0.044715, "mul", shape, MakeWith(3, "pow", shape, x));
  const Operand inner = MakeWith(std::sqrt(2 / std::numbers::pi), "mul", shape, Make("add", shape, {x, cube}));
  const Operand term = MakeWith(1, "add", shape, Make("tanh", shape, {inner}));
  Put("mul", {half, term}, output);
}

Operand FusedParts::Heads(Operand input, const Shape& shape, const Dim& heads, const Dim& width) {
  const Operand split = Make("reshape", Shape{shape[0], shape[1], heads, width}, {input});
  return Make("transpose", Shape{shape[0], heads, shape[1], width}, {split}, Named({{"dim0", 1}, {"dim1", 2}}));
}

}  // namespace vramplan
