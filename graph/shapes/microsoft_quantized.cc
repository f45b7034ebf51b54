// Quantized operators of com.microsoft: every tensor has its scale and zero point behind it (ContribOperators.md of
// ONNX Runtime).
#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// a, a_scale, a_zero_point, b, ...
void QuantizedBinary(NodeInference& n) {
  if (n.ShapeOf(0) && n.ShapeOf(3)) n.Out(0).shape = n.BroadcastShapes(*n.ShapeOf(0), *n.ShapeOf(3));
}

// condition, x with scale and zero point, y with scale and zero point.
void QLinearWhere(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || !n.ShapeOf(4)) return;
  const auto both = n.BroadcastShapes(*n.ShapeOf(1), *n.ShapeOf(4));
  if (both) n.Out(0).shape = n.BroadcastShapes(*n.ShapeOf(0), *both);
}

void MicrosoftQuantizeLinear(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  n.Out(0).type = n.Has(2) ? n.In(2).type : DType::kUint8;
}

// x with scale and zero point, w with scale and zero point, and those of y.
void MicrosoftQLinearConv(NodeInference& n) {
  n.Out(0).type = n.In(7).type;
  ConvOf(n, 0, 3, n.Int("channels_last", 0) != 0);
}

void AveragePool(NodeInference& n) { PoolOf(n, n.Int("channels_last", 0) != 0); }

void GlobalAveragePool(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape out = *n.ShapeOf(0);
  const bool last = n.Int("channels_last", 0) != 0;
  for (int i = last ? 1 : 2; i < out.rank() - (last ? 1 : 0); ++i) out[i] = 1;
  n.SetShape(0, out);
}

// The output's scale and zero point, then every tensor with its own.
void QLinearConcat(NodeInference& n) {
  n.Out(0).type = n.In(1).type;
  if (n.inputs() < 5 || !n.ShapeOf(2)) return;
  Shape out = *n.ShapeOf(2);
  const auto axis = n.Axis(n.Int("axis", 0), out.rank());
  if (!axis) return;
  for (int i = 5; i < n.inputs(); i += 3) {
    if (!n.ShapeOf(i)) return;
    if (n.ShapeOf(i)->rank() != out.rank())
      return n.Fail(n.Describe(i) + " cannot be concatenated with " + n.Describe(2));
    out[*axis] = out[*axis] + (*n.ShapeOf(i))[*axis];
  }
  n.SetShape(0, out);
}

void QLinearReduceMean(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& in = *n.ShapeOf(0);
  const std::vector<int64_t> given = n.Ints("axes");
  std::vector<bool> reduced(static_cast<size_t>(in.rank()), given.empty());
  for (int64_t a : given) {
    const auto axis = n.Axis(a, in.rank());
    if (!axis) return;
    reduced[static_cast<size_t>(*axis)] = true;
  }
  Shape out;
  for (int i = 0; i < in.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      out.Append(in[i]);
    } else if (n.Int("keepdims", 1) != 0) {
      out.Append(1);
    }
  }
  n.SetShape(0, out);
}

// A and B as Gemm has them, B at 3; quantized when the zero point of the output is given.
void QGemm(NodeInference& n) {
  n.Out(0).type = n.Has(8) ? n.In(8).type : DType::kFloat32;
  if (!n.ShapeOf(0) || !n.ShapeOf(3) || n.ShapeOf(0)->rank() != 2 || n.ShapeOf(3)->rank() != 2) return;
  n.SetShape(0,
             Shape{(*n.ShapeOf(0))[n.Int("transA", 0) != 0 ? 1 : 0], (*n.ShapeOf(3))[n.Int("transB", 0) != 0 ? 0 : 1]});
}

// The types of LSTM with the weights' axes the other way round: hidden_size tells the width.
void DynamicQuantizeLstm(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() != 3) return;
  const Shape& x = *n.ShapeOf(0);
  const Dim directions = n.Text("direction", "forward") == "bidirectional" ? 2 : 1, hidden = n.Int("hidden_size", 0);
  n.SetShape(0, Shape{x[0], directions, x[1], hidden});
  for (int i : {1, 2}) n.SetShape(i, Shape{directions, x[1], hidden});
}

// EmbedLayerNormalization with the embeddings quantized and their scales behind them, from 8 on.
void QEmbedLayerNormalization(NodeInference& n) {
  n.Out(0).type = n.In(8).type;
  n.Out(1).type = DType::kInt32;
  if (!n.ShapeOf(0) || !n.ShapeOf(2) || n.ShapeOf(0)->rank() != 2 || n.ShapeOf(2)->rank() != 2) return;
  const Shape& ids = *n.ShapeOf(0);
  n.SetShape(0, Shape{ids[0], ids[1], (*n.ShapeOf(2))[1]});
  n.SetShape(1, Shape{ids[0]});
}

constexpr RuleRow kMicrosoftQuantizedRows[] = {
    {"DequantizeLinear", SameShape, Type::kSecondInput},
    {"DynamicQuantizeLSTM", DynamicQuantizeLstm},
    {"DynamicQuantizeMatMul", MatMul},
    {"MatMulIntegerToFloat", MatMul, Type::kThirdInput},
    {"QEmbedLayerNormalization", QEmbedLayerNormalization, Type::kRule},
    {"QGemm", QGemm, Type::kRule},
    {"QLinearAdd", QuantizedBinary},
    {"QLinearAveragePool", AveragePool},
    {"QLinearConcat", QLinearConcat, Type::kRule},
    {"QLinearConv", MicrosoftQLinearConv, Type::kRule},
    {"QLinearGlobalAveragePool", GlobalAveragePool},
    {"QLinearLeakyRelu", SameShape},
    {"QLinearMul", QuantizedBinary},
    {"QLinearReduceMean", QLinearReduceMean},
    {"QLinearSigmoid", SameShape},
    {"QLinearSoftmax", SameShape},
    {"QLinearWhere", QLinearWhere, Type::kSecondInput},
    {"QuantizeLinear", MicrosoftQuantizeLinear, Type::kRule},
};

}  // namespace

constinit const std::span<const RuleRow> kMicrosoftQuantizedRules(kMicrosoftQuantizedRows);

}  // namespace vramplan
