#include "models/generate/layers.h"

namespace vramplan::models {
namespace {

std::vector<Attribute> ConvAttributes(const Conv& conv) {
  return {{"dilations", Dims{1, 1}},
          {"group", int64_t{1}},
          {"kernel_shape", Dims{conv.kernel, conv.kernel}},
          {"pads", Dims(4, conv.padding)},
          {"strides", Dims{conv.stride, conv.stride}}};
}

}  // namespace

Value Conv2d(const Module& m, const Value& x, const Conv& conv) {
  return m.Op("Conv", {x, m.Parameter("weight", {conv.out, conv.in, conv.kernel, conv.kernel})}, ConvAttributes(conv));
}

Value Conv2dWithBias(const Module& m, const Value& x, const Conv& conv) {
  const Value weight = m.Parameter("weight", {conv.out, conv.in, conv.kernel, conv.kernel});
  return m.Op("Conv", {x, weight, m.Parameter("bias", {conv.out})}, ConvAttributes(conv));
}

Value ConvTranspose2d(const Module& m, const Value& x, const Conv& conv) {
  const Value weight = m.Parameter("weight", {conv.in, conv.out, conv.kernel, conv.kernel});
  return m.Op("ConvTranspose", {x, weight, m.Parameter("bias", {conv.out})}, ConvAttributes(conv));
}

// Outputs 1 and 2 are the running statistics; ONNX's momentum is one minus PyTorch's 0.1.
Value BatchNorm2d(const Module& m, const Value& x, int64_t channels) {
  std::vector<Value> inputs = {x};
  for (const char* name : {"weight", "bias", "running_mean", "running_var"})
    inputs.push_back(m.Parameter(name, {channels}));
  return m.OpWithOutputs(3, "BatchNormalization", std::move(inputs),
                         {{"epsilon", 1e-5F}, {"momentum", 0.9F}, {"training_mode", int64_t{1}}})[0];
}

Value MaxPool2d(const Module& m, const Value& x, int64_t kernel, int64_t stride, int64_t padding) {
  return m.Op("MaxPool", {x},
              {{"ceil_mode", int64_t{0}},
               {"dilations", Dims{1, 1}},
               {"kernel_shape", Dims{kernel, kernel}},
               {"pads", Dims(4, padding)},
               {"strides", Dims{stride, stride}}});
}

Value LinearOnMatrix(const Module& m, const Value& x, int64_t in, int64_t out) {
  const Value weight = m.Parameter("weight", {out, in});
  return m.Op("Gemm", {x, weight, m.Parameter("bias", {out})},
              {{"alpha", 1.0F}, {"beta", 1.0F}, {"transB", int64_t{1}}});
}

Value LinearOnSequence(const Module& m, const Value& x, int64_t in, int64_t out) {
  const Value weight = m.Parameter("weight", {out, in});
  const Value bias = m.Parameter("bias", {out});
  return m.Op("Add", {bias, Project(m, x, weight)});
}

Value Project(const Module& m, const Value& x, const Value& weight) {
  return m.Op("MatMul", {x, Transpose(m, weight, {1, 0})});
}

Value Embedding(const Module& m, const Value& indices, int64_t count, int64_t features) {
  return m.Op("Gather", {m.Parameter("weight", {count, features}), indices});
}

Value LayerNorm(const Module& m, const Value& x, int64_t features, float epsilon) {
  const Value weight = m.Parameter("weight", {features});
  return m.Op("LayerNormalization", {x, weight, m.Parameter("bias", {features})},
              {{"axis", int64_t{-1}}, {"epsilon", epsilon}});
}

Value Dropout(const Module& m, const Value& x, float ratio) {
  const Value ratio_value = m.Make(Real(ratio));
  return m.OpWithOutputs(2, "Dropout", {x, ratio_value, m.Make(Truth(true, {}))})[0];
}

// x * (erf(x / sqrt 2) + 1) * 0.5
Value Gelu(const Module& m, const Value& x) {
  const Value root = m.Make(Real(1.4142135381698608F));
  const Value erf = m.Op("Erf", {m.Op("Div", {x, root})});
  const Value one = m.Make(Real(1.0F));
  const Value product = m.Op("Mul", {x, m.Op("Add", {erf, one})});
  return m.Op("Mul", {product, m.Make(Real(0.5F))});
}

Value SizeOf(const Module& m, const Value& x, int64_t axis) {
  const Value shape = m.Op("Shape", {x});
  return m.Op("Gather", {shape, m.Make(Int(axis))}, {{"axis", int64_t{0}}});
}

Value Slice(const Module& m, const std::vector<Value>& inputs) { return m.Op("Slice", inputs); }

Value StackSizes(const Module& m, const std::vector<Value>& sizes, Scoped scoped) {
  std::vector<Value> parts;
  for (const Value& size : sizes) {
    const Value axis = scoped == Scoped::kYes ? m.Make(Ints({0})) : m.MakeUnscoped(Ints({0}));
    parts.push_back(m.Op("Unsqueeze", {size, axis}));
  }
  return m.Op("Concat", std::move(parts), {{"axis", int64_t{0}}});
}

// Where the shape says -1 the exporter takes 1, which Expand then stretches to x's own length.
Value ExpandTo(const Module& m, const Value& x, const Value& shape) {
  const Value flat = Reshape(m, shape, m.Make(Ints({-1})));
  const Value ones = m.Op("ConstantOfShape", {m.Op("Shape", {flat})}, {{"value", Ints({1})}});
  const Value minus_one = m.Make(Int(-1));
  const Value kept = m.Op("Equal", {flat, m.Op("Mul", {ones, minus_one})});
  return m.Op("Expand", {x, m.Op("Where", {kept, ones, flat})});
}

Value Reshape(const Module& m, const Value& x, const Value& shape) {
  return m.Op("Reshape", {x, shape}, {{"allowzero", int64_t{0}}});
}

Value Transpose(const Module& m, const Value& x, const Dims& permutation) {
  return m.Op("Transpose", {x}, {{"perm", permutation}});
}

Value Cast(const Module& m, const Value& x, onnx::TensorProto_DataType type) {
  return m.Op("Cast", {x}, {{"to", static_cast<int64_t>(type)}});
}

}  // namespace vramplan::models
