// Quantization: to and from integers.
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// The type is that of the zero point, or output_dtype (opset 21), or uint8.
void QuantizeLinear(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  const DType asked = DTypeFromOnnx(static_cast<int32_t>(n.Int("output_dtype", 0))).value_or(DType::kUint8);
  n.Out(0).type = n.Has(2) ? n.In(2).type : asked;
}

// The type is that of the scale, or output_dtype (opset 23).
void DequantizeLinear(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  const DType asked = DTypeFromOnnx(static_cast<int32_t>(n.Int("output_dtype", 0))).value_or(n.In(1).type);
  n.Out(0).type = asked == DType::kUndefined ? DType::kFloat32 : asked;
}

// y, its scale and its zero point (onnx DynamicQuantizeLinear-11).
void DynamicQuantizeLinear(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  n.SetShape(1, Shape{});
  n.Out(1).type = DType::kFloat32;
  n.SetShape(2, Shape{});
}

constexpr RuleRow kQuantizationRows[] = {
    {"QuantizeLinear", QuantizeLinear, Type::kRule},
    {"DequantizeLinear", DequantizeLinear, Type::kRule},
    {"DynamicQuantizeLinear", DynamicQuantizeLinear, Type::kUint8},
};

}  // namespace

constinit const std::span<const RuleRow> kQuantizationRules(kQuantizationRows);

}  // namespace vramplan
