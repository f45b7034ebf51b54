// The operators of com.microsoft that ONNX Runtime's optimizer and quantizer put into files (ContribOperators.md of
// ONNX Runtime).
#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// transBatchA and transBatchB: [M, .., K] is read as [.., M, K].
void MoveFirstBesideLast(Shape* shape) {
  const Dim first = (*shape)[0];
  shape->Remove(0);
  shape->Insert(shape->rank() - 1, first);
}

// MatMul after optional transposition of the last two axes.
void FusedMatMul(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  Shape a = *n.ShapeOf(0), b = *n.ShapeOf(1);
  if (a.rank() < 2 || b.rank() < 2) return n.Fail("it multiplies " + n.Describe(0) + " by " + n.Describe(1));
  if (n.Int("transBatchA", 0) != 0) MoveFirstBesideLast(&a);
  if (n.Int("transBatchB", 0) != 0) MoveFirstBesideLast(&b);
  if (n.Int("transA", 0) != 0) std::swap(a[a.rank() - 1], a[a.rank() - 2]);
  if (n.Int("transB", 0) != 0) std::swap(b[b.rank() - 1], b[b.rank() - 2]);
  if (!n.Same(a.FromEnd(1), b.FromEnd(2))) return n.Fail(n.Describe(0) + " and " + n.Describe(1) + " do not multiply");
  SetProduct(n, a, b);
}

// A [.., K] with the weights packed, whose width is the attribute N.
void MatMulNBits(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() == 0) return;
  Shape out = *n.ShapeOf(0);
  out[out.rank() - 1] = n.Int("N", 0);
  n.SetShape(0, out);
}

void FusedConv(NodeInference& n) { ConvOf(n, 0, 1); }
void NhwcConv(NodeInference& n) { ConvOf(n, 0, 1, true); }
void NhwcMaxPool(NodeInference& n) { PoolOf(n, true); }

// A [.., K] with the weights packed; B_shape tells [K, N].
void MatMulFpQ4(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() == 0) return;
  Shape out = *n.ShapeOf(0);
  const std::vector<Dim>* shape = n.Integers(2);
  out[out.rank() - 1] = shape != nullptr && shape->size() == 2 ? shape->back() : Dim::Unknown();
  n.SetShape(0, out);
}

// Three products of one input, and that input again, summed with its skip.
void MatMulNBitsQkv(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() == 0) return;
  Shape out = *n.ShapeOf(0);
  n.SetShape(3, out);
  for (int i = 0; i < 3; ++i) {
    out[out.rank() - 1] = n.Int(i == 0 ? "Nq" : "Nkv", 0);
    n.SetShape(i, out);
  }
}

void MatMulNBitsMlp(NodeInference& n) {
  MatMulNBits(n);
  n.Out(1).shape = n.ShapeOf(0);
}

// Gather from a quantized table: the type is that of the scales (input 2); four bits packed in bytes are two elements
// each.
void GatherBlockQuantized(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  Shape data = *n.ShapeOf(0);
  const auto axis = n.Axis(n.Int("gather_axis", 0), data.rank());
  if (!axis) return;
  if (n.In(0).type == DType::kUint8 && n.Int("bits", 4) == 4) data[data.rank() - 1] = data.FromEnd(1) * Dim(2);
  std::vector<Dim> out(data.begin(), data.begin() + *axis);
  out.insert(out.end(), n.ShapeOf(1)->begin(), n.ShapeOf(1)->end());
  out.insert(out.end(), data.begin() + *axis + 1, data.end());
  n.SetShape(0, out);
}

// The output, and a mask of bits in 32-bit words.
void BitmaskDropout(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  n.Out(1).type = DType::kUint32;
  if (n.ShapeOf(0)) n.SetShape(1, Shape{CeilDivide(n.ShapeOf(0)->Elements(), 32)});
}

void BiasDropout(NodeInference& n) {
  SameShape(n);
  n.Out(1).type = DType::kBool;
}

// [.., n] to [.., n/2 + 1, 2] and back (the signal is the last axis).
void Rfft(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() == 0) return;
  std::vector<Dim> out(n.ShapeOf(0)->begin(), n.ShapeOf(0)->end());
  if (n.Int("onesided", 1) != 0) out.back() = FloorDivide(out.back(), 2) + Dim(1);
  out.push_back(2);
  n.SetShape(0, out);
}

void Irfft(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() < 2) return;
  std::vector<Dim> out(n.ShapeOf(0)->begin(), n.ShapeOf(0)->end() - 1);
  if (n.Int("onesided", 1) != 0) out.back() = (out.back() - Dim(1)) * Dim(2);
  n.SetShape(0, out);
}

// [N, C, height, width] of regions [R, 4], each resized to crop_size.
void CropAndResize(NodeInference& n) {
  const auto size = n.Target(3);
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || !size || size->size() != 2) return;
  if (n.ShapeOf(0)->rank() != 4 || n.ShapeOf(1)->rank() != 2) return;
  n.SetShape(0, Shape{(*n.ShapeOf(1))[0], (*n.ShapeOf(0))[1], (*size)[0], (*size)[1]});
}

// Weight [V, H] and indices.
void TorchEmbedding(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || n.ShapeOf(0)->rank() != 2) return;
  std::vector<Dim> out(n.ShapeOf(1)->begin(), n.ShapeOf(1)->end());
  out.push_back(n.ShapeOf(0)->FromEnd(1));
  n.SetShape(0, out);
}

void LikeSecond(NodeInference& n) { n.Out(0).shape = n.ShapeOf(1); }
void Scalar(NodeInference& n) { n.SetShape(0, Shape{}); }

// input, skip, ...: output like the input, mean and deviation with the last axis 1, and the sum like the input.
void SkipLayerNormalization(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape statistics = *n.ShapeOf(0);
  if (statistics.rank() > 0) statistics[statistics.rank() - 1] = 1;
  for (int i = 0; i < n.outputs(); ++i) n.SetShape(i, i == 1 || i == 2 ? statistics : *n.ShapeOf(0));
}

// input_ids [B, S], segment_ids, word_embedding [V, H]: output [B, S, H], mask index [B], sum [B, S, H].
void EmbedLayerNormalization(NodeInference& n) {
  n.Out(1).type = DType::kInt32;
  n.Out(0).type = n.Out(2).type = n.In(2).type;
  if (!n.ShapeOf(0) || !n.ShapeOf(2) || n.ShapeOf(0)->rank() != 2 || n.ShapeOf(2)->rank() != 2) return;
  const Shape& ids = *n.ShapeOf(0);
  const Shape out{ids[0], ids[1], (*n.ShapeOf(2))[1]};
  n.SetShape(0, out);
  n.SetShape(1, Shape{ids[0]});
  n.SetShape(2, out);
}

void BiasSplitGelu(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() == 0) return;
  Shape out = *n.ShapeOf(0);
  out[out.rank() - 1] = FloorDivide(out.FromEnd(1), 2);
  n.SetShape(0, out);
}

constexpr RuleRow kMicrosoftRows[] = {
    {"BiasAdd", SameShape},
    {"BiasDropout", BiasDropout},
    {"BiasGelu", SameShape},
    {"BiasSoftmax", SameShape},
    {"BiasSplitGelu", BiasSplitGelu},
    {"BitmaskBiasDropout", BitmaskDropout},
    {"BitmaskDropout", BitmaskDropout},
    {"ComplexMul", SameShape},
    {"ComplexMulConj", SameShape},
    {"CropAndResize", CropAndResize},
    {"EmbedLayerNormalization", EmbedLayerNormalization, Type::kRule},
    {"FastGelu", SameShape},
    {"FusedConv", FusedConv},
    {"FusedGemm", Gemm},
    {"FusedMatMul", FusedMatMul},
    {"FusedMatMulActivation", FusedMatMul},
    {"GatherBlockQuantized", GatherBlockQuantized, Type::kThirdInput},
    {"Gelu", SameShape},
    {"GemmFastGelu", MatMul},
    {"GroupNorm", SameShape},
    {"Inverse", SameShape},
    {"Irfft", Irfft},
    {"IsAllFinite", Scalar, Type::kBool},
    {"LayerNormalization", LayerNormalization},
    {"MatMulBnb4", MatMulNBits},
    {"MatMulFpQ4", MatMulFpQ4},
    {"MatMulInteger16", MatMul, Type::kInt32},
    {"MatMulNBits", MatMulNBits},
    {"MatMulNBitsMlp", MatMulNBitsMlp},
    {"MatMulNBitsQkv", MatMulNBitsQkv},
    {"MoE", SameShape},
    {"NGramRepeatBlock", LikeSecond, Type::kSecondInput},
    {"NhwcConv", NhwcConv},
    {"NhwcFusedConv", NhwcConv},
    {"NhwcMaxPool", NhwcMaxPool},
    {"QMoE", SameShape},
    {"QuickGelu", SameShape},
    {"Rfft", Rfft},
    {"ScaledSiLU", SameShape},
    {"SimplifiedLayerNormalization", LayerNormalization},
    {"SkipGroupNorm", SameShape},
    {"SkipLayerNormalization", SkipLayerNormalization},
    {"SkipSimplifiedLayerNormalization", SkipLayerNormalization},
    {"TorchEmbedding", TorchEmbedding},
    {"TransposeMatMul", FusedMatMul},
    {"Trilu", SameShape},
};

}  // namespace

constinit const std::span<const RuleRow> kMicrosoftRules(kMicrosoftRows);

}  // namespace vramplan
