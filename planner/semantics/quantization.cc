// Fake quantisation, as training for integers has it: rounded values in the type that came in. Linear layers of
// bitsandbytes with packed weights.
#include <utility>

#include "planner/semantics/blas.h"
#include "planner/semantics/packed_weight.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// quantized/FakeQuantPerTensorAffine.cpp, FakeQuantPerChannelAffine.cpp: the result, and a mask of what was not clamped,
// which is kept. Of channels, the smallest and the largest zero point are looked at first.
template <bool of_channels>
void FakeQuantize(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::fake_quantize");
  const Tensor& x = c.In(0);
  if (of_channels) const Tensor least = e.Empty(Shape(), DType::kInt32), most = e.Empty(Shape(), DType::kInt32);
  Tensor out = e.EmptyLike(x), mask = e.EmptyLike(x, DType::kBool);
  if (GradNode* node = e.Record("FakeQuantizeCachemaskBackward0", {x}, {out})) {
    node->SaveOutput(mask);
    node->Backward([](GradContext& g) { g.Set(0, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype)); });
  }
  if (c.outputs.size() > 1) c.Return(std::move(mask), 1);
  c.Return(std::move(out));
}

Shape ScalesOf(const PackedWeight& weight) {
  constexpr int64_t kBlock = 64;
  return Shape{Dim((weight.shape[0].At(1) * weight.shape[1].At(1) + kBlock - 1) / kBlock)};
}

// bitsandbytes 0.50, Linear4bit.forward (nn/modules.py) and MatMul4Bit (autograd/_functions.py; backends/cuda/ops.py,
// _dequant_linear_fallback): the input in the type of the product, the scales, the weight, the product, and that in the
// input's type. Only the packed weight is kept, and a backward makes the whole one again, in the type that it had before,
// then in the gradient's. Kernels that multiply packed weights, for a few tokens, are not modelled.
void Linear4Bit(Call& c) {
  Eager& e = c.e;
  const auto computed = static_cast<DType>(c.Int("computed"));
  const PackedWeight weight = PackedWeightOf(c);
  const DType type = c.In(0)->dtype;
  Tensor x = ToType(e, c.In(0), computed);
  Tensor result;
  {
    OpScope scope(e, "MatMul4Bit");
    NoGradGuard forward(e);
    Tensor whole, rough, shifted;
    const Shape scales = ScalesOf(weight);
    if (weight.nested) rough = e.Empty(scales, DType::kFloat32), shifted = e.Empty(scales, DType::kFloat32);
    whole = e.Empty(weight.shape, computed);
    result = Linear(e, x, whole, c.In(2));
    forward.Leave();
    if (GradNode* node = e.Record("MatMul4Bit", {x}, {result})) {
      node->Backward([=, packed = c.In(1)](GradContext& g) {  // an attribute of the context
        const Tensor made = Unpacked(g.e, weight);
        g.Set(0, Matmul(g.e, g.grad(), ToType(g.e, made, g.grad()->dtype)));
      });
    }
  }
  x = Tensor();  // a local of matmul_4bit's caller
  c.Return(ToType(e, result, type));
}

Dim RowsOf(const Tensor& t) {
  Shape rows;
  for (int i = 0; i + 1 < t->dim(); ++i) rows.Append(t->sizes[i]);
  return rows.Elements();
}

// int8_vectorwise_quant of a matrix in fp16 (backends/cuda/ops.py): a scale for each row, and a search for columns with
// outliers. That there are none is taken: each takes two bytes of a row that is kept, and a column of the weight for a while.
std::pair<Tensor, Tensor> InEightBits(Eager& e, const Tensor& matrix, bool seeks_outliers) {
  Tensor scales = e.Empty(Shape{matrix->sizes[0]}, DType::kFloat32);
  Tensor packed = e.EmptyLike(matrix, DType::kInt8);
  if (seeks_outliers) {
    Tensor magnitudes = e.EmptyLike(matrix);
    const Tensor outliers = e.EmptyLike(matrix, DType::kBool);
    magnitudes = Tensor();
  }
  return {scales, packed};
}

// bitsandbytes 0.50, Linear8bitLt.forward (nn/modules.py) and MatMul8bitLt (autograd/_functions.py) with its threshold of
// 6: the input in fp16, then in eight bits, the product in int32, fp16 and the input's type. The input is kept, and a
// backward makes a whole weight.
void Linear8Bit(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);  // a bias is added in place
  const DType type = x->dtype;
  const int last = x->dim() - 1;
  const Dim out{c.Int("out")}, in{c.Int("in")};
  const OpScope scope(e, "MatMul8bitLt");
  NoGradGuard forward(e);
  const Tensor matrix = x->dim() == 2 ? x : Reshape(e, x, Shape{RowsOf(x), in});
  Tensor halves = ToType(e, matrix, DType::kFloat16);
  const std::pair<Tensor, Tensor> quantized = InEightBits(e, halves, c.Int("outliers") != 0);
  halves = Tensor();
  Tensor result;
  {
    const Tensor product = e.Empty(Shape{matrix->sizes[0], out}, DType::kInt32);
    result = ToType(e, e.EmptyLike(product, DType::kFloat16), type);
  }
  Shape sizes = x->sizes;
  sizes[last] = out;
  result = x->dim() == 2 ? result : Reshape(e, result, sizes);
  forward.Leave();
  if (GradNode* node = e.Record("MatMul8bitLt", {x}, {result})) {
    node->Backward([=, shape = x->sizes, packed = c.In(1)](GradContext& g) {  // attributes of the context
      Tensor gradient = Contiguous(g.e, Reshape(g.e, g.grad(), Shape{matrix->sizes[0], out}));
      Tensor weight = g.e.Empty(Shape{out, in}, type);
      { const Tensor of_rows = g.e.Empty(Shape{out, 1}, DType::kFloat32); }
      g.Set(0, Reshape(g.e, Matmul(g.e, ToType(g.e, gradient, type), weight), shape));
    });
  }
  c.Return(result);
}

}  // namespace

PackedWeight PackedWeightOf(const Call& c) {
  return {Shape{Dim(c.Int("out")), Dim(c.Int("in"))}, c.Int("nested") != 0, static_cast<DType>(c.Int("stored"))};
}

Tensor Unpacked(Eager& e, const PackedWeight& weight) {
  Tensor scales;
  if (weight.nested) scales = e.Empty(ScalesOf(weight), DType::kFloat32);
  return e.Empty(weight.shape, weight.stored);
}

std::vector<OpRule> QuantizationRules() {
  return {{"fake_quantize", FakeQuantize<false>},
          {"fake_quantize_channels", FakeQuantize<true>},
          {"linear_4bit", Linear4Bit},
          {"linear_8bit", Linear8Bit}};
}

}  // namespace vramplan::eager
