#include "graph/lift/onnxruntime/fused_parts.h"

#include <cmath>
#include <numbers>
#include <utility>

namespace vramplan {
Operand SideOf(PatternSource& source, NodeId product, size_t i) {
  const TensorId side = source.In(product, i);
  if (source[product].attributes.Int(i == 0 ? "transA" : "transB", 0) == 0) return source.Use(side);
  Shape shape = source.ShapeOf(side);
  const int rank = shape.rank();
  if (rank < 2) return {};
  std::swap(shape[rank - 1], shape[rank - 2]);
  return FusedParts(source, product)
      .MakeOf(source.TypeOf(side), "transpose", shape, {source.Use(side)},
              Named({{"dim0", rank - 2}, {"dim1", rank - 1}}));
}

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

bool AddLinearBehind(PatternSource& source, TensorId product, Operand bias, NodeId user, Operand sum) {
  NodeId node = source.OnlyMakerOf(product, "MatMul");
  if (!node.valid()) node = source.OnlyMakerOf(product, "FusedMatMul");
  if (!node.valid()) return false;
  const Attributes& attributes = source[node].attributes;
  const TensorId weight = source.In(node, 1);
  if (source.Stored(weight) == nullptr || !source.IsInitializer(weight) || source.RankOf(weight) != 2) return false;
  if (attributes.Real("alpha", 1) != 1 || attributes.Int("transBatchA", 0) != 0) return false;
  const Shape stored = source.ShapeOf(weight);
  const Shape turned{stored[1], stored[0]};
  const bool is_turned = attributes.Int("transB", 0) != 0;
  const Operand left = SideOf(source, node, 0);
  if (!left.valid()) return false;
  source.Add(
      {.op = "linear",
       .inputs = {left, source.Parameter(weight, node, "weight", is_turned ? std::nullopt : std::optional(turned)),
                  bias},
       .outputs = {sum},
       .nodes = user == node ? std::vector{node} : std::vector{user, node},
       .position = node});
  return true;
}

Operand WithBias(PatternSource& source, TensorId product, TensorId bias, NodeId user) {
  if (!bias.valid()) return source.Use(product);
  const TensorId output = source[user].outputs[0];
  const Operand stored = source.Parameter(bias, user, "bias");
  const Operand sum = source.New(Beside(source[user], "bias"), source.TypeOf(output), source.ShapeOf(output));
  if (!AddLinearBehind(source, product, stored, user, sum))
    source.Put(sum, "add", {source.Use(product), stored}, {user});
  return sum;
}

const char* FusedActivationOf(const Node& node) {
  constexpr std::pair<const char*, const char*> kNames[] = {{"Relu", "relu"},       {"LeakyRelu", "leaky_relu"},
                                                            {"Sigmoid", "sigmoid"}, {"Tanh", "tanh"},
                                                            {"Clip", "hardtanh"},   {"HardSigmoid", "hardsigmoid"}};
  const std::string name = node.attributes.Text("activation", "");
  for (const auto& [activation, op] : kNames) {
    if (name == activation) return op;
  }
  return nullptr;
}

}  // namespace vramplan
