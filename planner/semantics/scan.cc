// Running sums and products along an axis.
#include "planner/semantics/concat.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/sort_scratch.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

// The result lies row by row, and so does what is read: a copy of an operand that does not (ReduceOps.cpp
// meta_func_cum_ops; ScanUtils.cuh scan_dim: self.expect_contiguous()). A tensor that is one row is scanned by CUB
// (self.numel() == self.size(dim)); others by kernels without scratch.
Tensor ScanKernel(Eager& e, const Tensor& x, DType type) {
  Tensor out = e.Empty(x->sizes, type);
  const Tensor converted = x->dtype == type ? x : e.EmptyLike(x, type);
  const Tensor read = ContiguousIn(e, converted, false);
  if (x->dim() == 1) e.Scratch(InclusiveScanScratch(x->numel(), std::max(BitWidth(type) / 8, 1)));
  return out;
}

// Sums of integers are int64 unless the code names another type, which the operand is converted to first
// (ReduceOps.cpp, meta_func_cum_ops).
DType OfIntegers(const Call& c) {
  return c.OutType() == DType::kUndefined ? DType::kInt64 : c.e.ModelType(c.OutType());
}

// Autocast asks for an fp32 result (fp32_set_opt_dtype, autocast_mode.h); the gradient is of the operand's type.
DType ScannedType(const Call& c, DType type) {
  if (!IsFloating(type)) return OfIntegers(c);
  const Precision precision = c.e.spec().precision;
  const bool amp = IsAutocast(precision);
  return amp && BitWidth(type) == 16 ? DType::kFloat32 : type;
}

void Cumsum(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::cumsum");
  const Tensor& x = c.In(0);
  const DType type = ScannedType(c, x->dtype);
  Tensor out = ScanKernel(e, x, type);
  if (GradNode* node = e.Record("CumsumBackward0", {x}, {out})) {
    const bool one = x->numel() <= 1 || x->lengths[c.Axis()] == 1;
    node->Backward([one, of = x->dtype](GradContext& g) {  // cumsum_backward: grad.flip(dim).cumsum(dim).flip(dim)
      const Tensor grad = g.grad()->dtype == of ? g.grad() : g.e.EmptyLike(g.grad(), of);
      if (one) return g.Set(0, grad);
      const Tensor flipped = g.e.EmptyLike(grad);
      const Tensor summed = ScanKernel(g.e, flipped, flipped->dtype);
      g.Set(0, g.e.EmptyLike(grad));
    });
  }
  c.Return(std::move(out));
}

// cumprod_backward without a zero in the input: reversed_cumsum(output * grad) / input, of a gradient in the operand's
// type; what comes out wider is converted by the engine (validate_outputs).
Tensor CumprodGradient(GradContext& g) {
  const Tensor &self = g.saved(0), &result = g.saved(1);
  const Tensor grad = g.grad()->dtype == self->dtype ? g.grad() : g.e.EmptyLike(g.grad(), self->dtype);
  const Tensor product = Iterate(g.e, result, grad, result->dtype);
  const Tensor is_zero = g.e.EmptyLike(self, DType::kBool);
  { const Tensor any = g.e.Empty(Shape(), DType::kBool); }
  Tensor reversed;
  {
    const Tensor flipped = g.e.EmptyLike(product);
    const Tensor summed = ScanKernel(g.e, flipped, flipped->dtype);
    reversed = g.e.EmptyLike(summed);
  }
  return Iterate(g.e, reversed, self, result->dtype);
}

void Cumprod(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::cumprod");
  const Tensor& x = c.In(0);
  Tensor out = ScanKernel(e, x, ScannedType(c, x->dtype));
  if (GradNode* node = e.Record("CumprodBackward0", {x}, {out})) {
    node->Save(x).SaveOutput(out);
    node->Backward([](GradContext& g) { g.Set(0, ToType(g.e, CumprodGradient(g), g.saved(0)->dtype)); });
  }
  c.Return(std::move(out));
}

// logcumsumexp_backward (FunctionsManual.cpp): for positive and for negative gradients,
// (reversed_logcumsumexp(log |grad| - result) + self).exp().
void LogCumsumExp(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::logcumsumexp");
  const Tensor& x = c.In(0);
  Tensor out = e.Empty(x->sizes, x->dtype);
  if (GradNode* node = e.Record("LogcumsumexpBackward0", {x}, {out})) {
    node->Save(x).SaveOutput(out);
    node->Backward([](GradContext& g) {
      const Tensor& like = g.saved(0);
      const auto made = [&] { return g.e.EmptyLike(like); };
      const Tensor least = g.e.Empty(Shape(), g.grad()->dtype);
      Tensor magnitude = made();
      const Tensor logarithm = made();
      magnitude = Tensor();
      const auto of_sign = [&] {
        const Tensor sign = g.e.EmptyLike(like, DType::kBool);
        return made();
      };
      const Tensor positive = of_sign(), negative = of_sign();
      const auto half = [&] {
        const Tensor difference = made();
        Tensor flipped = made(), summed = made();
        const Tensor reversed = made();
        summed = Tensor();
        flipped = Tensor();
        const Tensor sum = made();
        return made();
      };
      const Tensor of_positive = half(), of_negative = half();
      g.Set(0, made());
    });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> ScanRules() { return {{"cumsum", Cumsum}, {"cumprod", Cumprod}, {"logcumsumexp", LogCumsumExp}}; }

}  // namespace vramplan::eager
