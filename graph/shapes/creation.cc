// Operators that make tensors from attributes, shapes or nothing: constants, ranges, random numbers, and Shape and Size
// themselves.
#include <algorithm>
#include <cmath>

#include "graph/shapes/folding.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

void SetType(NodeInference& n, int64_t number) {
  const auto type = DTypeFromOnnx(static_cast<int32_t>(number));
  if (!type) return n.Fail("its attribute \"dtype\" names no type: " + std::to_string(number));
  n.Out(0).type = *type;
}

// The value is one of eight attributes (onnx Constant-13); Load already moved it into the tensor where it could.
void Constant(NodeInference& n) {
  const Attributes& attributes = n.node().attributes;
  TensorFacts& out = n.Out(0);
  if (out.shape) return;
  if (const auto* stored = attributes.Get<StoredTensor>("value")) {
    if (stored->dims.size() > Shape::kMaxRank) return n.SetShape(0, std::vector<Dim>(stored->dims.size()));
    out = FactsOf(*stored);
  } else if (const auto* integer = attributes.Get<int64_t>("value_int")) {
    out = {DType::kInt64, Shape{}, std::vector<Dim>{*integer}, std::nullopt};
  } else if (const auto* real = attributes.Get<double>("value_float")) {
    out = {DType::kFloat32, Shape{}, std::nullopt, std::vector<double>{*real}};
  } else if (const auto* integers = attributes.Get<std::vector<int64_t>>("value_ints")) {
    out = {DType::kInt64, Shape{static_cast<int64_t>(integers->size())}, std::nullopt, std::nullopt};
    if (static_cast<int64_t>(integers->size()) <= kMaxFolded) {
      out.integers = std::vector<Dim>(integers->begin(), integers->end());
    }
  } else if (const auto* reals = attributes.Get<std::vector<double>>("value_floats")) {
    out = {DType::kFloat32, Shape{static_cast<int64_t>(reals->size())}, std::nullopt, std::nullopt};
    if (static_cast<int64_t>(reals->size()) <= kMaxFolded) out.reals = *reals;
  } else if (attributes.Has("value_string")) {
    out = {DType::kString, Shape{}, std::nullopt, std::nullopt};
  } else if (const auto* strings = attributes.Get<std::vector<std::string>>("value_strings")) {
    out = {DType::kString, Shape{static_cast<int64_t>(strings->size())}, std::nullopt, std::nullopt};
  }
}

void ConstantOfShape(NodeInference& n) {
  TensorFacts& out = n.Out(0);
  const auto* value = n.node().attributes.Get<StoredTensor>("value");
  out.type = value != nullptr ? value->type : DType::kFloat32;
  const auto target = n.Target(0);
  if (!target) return;
  n.SetShape(0, *target);
  if (!out.shape) return;
  const auto dims = FoldableDims(*out.shape);
  if (!dims) return;
  int64_t count = 1;
  for (int64_t d : *dims) count *= d;
  Dim integer(0);
  if (value != nullptr) {
    if (!value->values) return;
    if (!value->values->integers.empty()) {
      integer = value->values->integers.front();
    } else if (!value->values->reals.empty()) {
      out.reals = std::vector<double>(static_cast<size_t>(count), value->values->reals.front());
      return;
    }
  }
  n.SetIntegers(0, std::vector<Dim>(static_cast<size_t>(count), integer));
}

// Lengths of axes [start, end) of the input (onnx Shape-15; earlier opsets have no attributes).
void ShapeOperator(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& shape = *n.ShapeOf(0);
  const int64_t rank = shape.rank();
  const auto clamp = [&](int64_t axis) { return std::min(std::max(axis < 0 ? axis + rank : axis, int64_t{0}), rank); };
  const int64_t start = clamp(n.Int("start", 0));
  const int64_t end = n.node().attributes.Has("end") ? clamp(n.Int("end", rank)) : rank;
  std::vector<Dim> lengths;
  for (int64_t i = start; i < end; ++i) lengths.push_back(shape[static_cast<int>(i)]);
  n.SetShape(0, Shape{static_cast<int64_t>(lengths.size())});
  n.SetIntegers(0, std::move(lengths));
}

void Size(NodeInference& n) {
  n.SetShape(0, Shape{});
  if (n.ShapeOf(0)) n.SetIntegers(0, {n.ShapeOf(0)->Elements()});
}

// ceil((limit - start) / delta) numbers, at least 0 (onnx Range-11).
void Range(NodeInference& n) {
  n.SetShape(0, Shape{Dim::Unknown()});
  for (int i = 0; i < 3; ++i) {
    if (!n.ShapeOf(i)) return;
    if (n.ShapeOf(i)->rank() > 1 || !n.ShapeOf(i)->Elements().Is(1))
      return n.Fail("its input " + n.Describe(i) + " is not a scalar");
  }
  const Dim start = ScalarOf(n, 0), limit = ScalarOf(n, 1), delta = ScalarOf(n, 2);
  if (!start.known() || !limit.known() || !delta.IsConstant()) {
    const auto a = n.Reals(0), b = n.Reals(1), c = n.Reals(2);
    if (!a || !b || !c || a->size() != 1 || b->size() != 1 || c->size() != 1) return;
    const double count = std::ceil((b->front() - a->front()) / c->front());
    if (std::isfinite(count) && count < 9e15) n.SetShape(0, Shape{static_cast<int64_t>(std::max(count, 0.0))});
    return;
  }
  if (delta.Is(0)) return n.Fail("its step is 0");
  const Dim distance = delta.c0() > 0 ? limit - start : start - limit;
  const Dim step = delta.c0() > 0 ? delta : Dim(0) - delta;
  if (distance.overflowed() || step.overflowed()) return n.Fail("the number of its elements overflows");
  const Dim count = Maximum(CeilDivide(distance, step.c0()), 0);
  n.SetShape(0, Shape{count});
  if (!count.IsConstant() || count.c0() > kMaxFolded) return;
  std::vector<Dim> values;
  for (Dim v = start; static_cast<int64_t>(values.size()) < count.c0(); v = v + delta) values.push_back(v);
  n.SetIntegers(0, std::move(values));
}

void EyeLike(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  if (n.node().attributes.Has("dtype")) SetType(n, n.Int("dtype", 1));
}

void RandomLike(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  if (n.node().attributes.Has("dtype")) SetType(n, n.Int("dtype", 1));
}

void RandomOfShape(NodeInference& n) {
  SetType(n, n.Int("dtype", 1));
  std::vector<Dim> dims;
  for (int64_t d : n.Ints("shape")) dims.push_back(d);
  n.SetShape(0, dims);
}

// [batch, classes] -> [batch, samples] (onnx Multinomial-7).
void Multinomial(NodeInference& n) {
  n.Out(0).type = DType::kInt32;
  if (n.node().attributes.Has("dtype")) SetType(n, n.Int("dtype", 6));
  if (n.ShapeOf(0) && n.ShapeOf(0)->rank() == 2) n.SetShape(0, Shape{(*n.ShapeOf(0))[0], n.Int("sample_size", 1)});
}

// A window of `size` numbers (onnx HannWindow-17).
void WindowFunction(NodeInference& n) {
  SetType(n, n.Int("output_datatype", 1));
  n.SetShape(0, Shape{ScalarOf(n, 0)});
}

constexpr RuleRow kCreationRows[] = {
    {"Constant", Constant, Type::kRule},
    {"ConstantOfShape", ConstantOfShape, Type::kRule},
    {"Shape", ShapeOperator, Type::kInt64},
    {"Size", Size, Type::kInt64},
    {"Range", Range},
    {"EyeLike", EyeLike},
    {"Bernoulli", RandomLike},
    {"RandomNormalLike", RandomLike},
    {"RandomUniformLike", RandomLike},
    {"RandomNormal", RandomOfShape, Type::kRule},
    {"RandomUniform", RandomOfShape, Type::kRule},
    {"Multinomial", Multinomial, Type::kRule},
    {"HannWindow", WindowFunction, Type::kRule},
    {"HammingWindow", WindowFunction, Type::kRule},
    {"BlackmanWindow", WindowFunction, Type::kRule},
};

}  // namespace

constinit const std::span<const RuleRow> kCreationRules(kCreationRows);

}  // namespace vramplan
