#include "planner/semantics/reduction.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

int Width(DType type) { return std::max(BitWidth(type) / 8, 1); }

// Sums of halves are kept in fp32 (at::opmath_type).
ReduceKernel SumOf(DType input, DType output) {
  ReduceKernel kernel;
  kernel.input_bytes = Width(input);
  kernel.output_bytes = Width(output);
  kernel.accumulator_bytes = IsHalf(output) ? 4 : Width(output);
  kernel.accumulates_in_output = !(IsHalf(input) && input == output);
  return kernel;
}

// Comparisons keep the input's type; with the place of the winner (argmax, max over an axis) a pair of value and int64.
ReduceKernel ExtremumOf(DType input) {
  ReduceKernel kernel = SumOf(input, input);
  kernel.accumulator_bytes = Width(input);
  return kernel;
}
ReduceKernel PlaceOf(DType input, DType output) {
  ReduceKernel kernel = SumOf(input, output);
  kernel.accumulator_bytes = 16;
  return kernel;
}

// WelfordData: mean, sum of squares, two counts; two values per load (ReduceMomentKernel.cu).
ReduceKernel VarianceOf(DType input) {
  ReduceKernel kernel = SumOf(input, input);
  kernel.accumulator_bytes = input == DType::kFloat64 ? 32 : 16;
  kernel.values_per_load = 2;
  return kernel;
}

// One output by a reduction kernel: the output first, then the scratch.
Tensor Kernel(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim, DType type,
              const ReduceKernel& kernel) {
  Tensor out = e.Empty(ReducedSizes(t, axes, keepdim), type);
  AllocateReduceScratch(e, *t, axes, kernel);
  return out;
}

bool IsAmp(const Eager& e) { return IsAutocast(e.spec().precision); }

// Autocast asks sum, prod and norms for an fp32 result (fp32_set_opt_dtype); the kernel converts while it reads.
DType SumType(const Eager& e, DType input) {
  if (!IsFloating(input)) return DType::kInt64;
  return IsAmp(e) && IsHalf(input) ? DType::kFloat32 : input;
}

// A reduced tensor with its axes of length 1 again.
Tensor Restored(Eager& e, const Tensor& t, const Shape& whole, const std::vector<int>& axes) {
  if (t->dim() == whole.rank()) return t;
  Shape sizes = whole;
  for (int i = 0; i < whole.rank(); ++i) {
    if (axes.empty() || std::find(axes.begin(), axes.end(), i) != axes.end()) sizes[i] = Dim(1);
  }
  return Reshape(e, t, sizes);
}

Tensor Like(Eager& e, const Tensor& a, const Tensor& b, DType type) { return e.EmptyIterator({&a, &b}, type); }

struct Reduction {
  std::vector<int> axes;
  bool keepdim = false;
};

Reduction ReductionOf(const Call& c) {
  Reduction r;
  const int rank = c.In(0)->dim();
  std::vector<int64_t> axes = c.Ints("dim");
  if (axes.empty() && c.layer.attributes.Get<int64_t>("dim") != nullptr) axes = {c.Int("dim")};
  for (int64_t axis : axes) r.axes.push_back(static_cast<int>(axis < 0 ? axis + rank : axis));
  r.keepdim = c.Int("keepdim") != 0;
  return r;
}

void RunMean(Call& c) {
  const auto [axes, keepdim] = ReductionOf(c);
  c.Return(Mean(c.e, c.In(0), axes, keepdim));
}

void RunSum(Call& c) {
  const auto [axes, keepdim] = ReductionOf(c);
  c.Return(Sum(c.e, c.In(0), axes, keepdim));
}

// amax, amin: (grad / (result == self).sum(dims)) * (result == self), scale_grad_by_count (FunctionsManual.cpp).
void RunAmax(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::amax");
  const Tensor& x = c.In(0);
  const auto [axes, keepdim] = ReductionOf(c);
  Tensor out = Kernel(e, x, axes, keepdim, x->dtype, ExtremumOf(x->dtype));
  if (GradNode* node = e.Record("AmaxBackward0", {x}, {out})) {
    node->Save(x).SaveOutput(out);
    node->Backward([axes = axes](GradContext& g) {
      const Tensor& self = g.saved(0);
      const Tensor result = Restored(g.e, g.saved(1), self->sizes, axes);
      const Tensor grad = Restored(g.e, g.grad(), self->sizes, axes);
      const Tensor mask = Like(g.e, result, self, DType::kBool);
      const Tensor count = SumKernel(g.e, mask, axes, true);
      const Tensor share = Like(g.e, grad, count, grad->dtype);
      g.Set(0, Like(g.e, share, mask, grad->dtype));
    });
  }
  c.Return(std::move(out));
}

// max and min over one axis: values and int64 places; keep the places (value_selecting_reduction_backward: zeros, then
// scatter).
void RunMaxAlongAxis(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::max");
  const Tensor& x = c.In(0);
  const auto [axes, keepdim] = ReductionOf(c);
  const Shape sizes = ReducedSizes(x, axes, keepdim);
  Tensor values = e.Empty(sizes, x->dtype);
  Tensor places = e.Empty(sizes, DType::kInt64);
  AllocateReduceScratch(e, *x, axes, PlaceOf(x->dtype, x->dtype));
  if (GradNode* node = e.Record("MaxBackward0", {x}, {values})) {
    node->SaveOutput(places);
    node->Backward([sizes = x->sizes](GradContext& g) { g.Set(0, g.e.Empty(sizes, g.grad()->dtype)); });
  }
  if (c.outputs.size() > 1) c.Return(places, 1);
  c.Return(std::move(values));
}

// max and min of everything: the gradient is shared between equals (evenly_distribute_backward).
void RunMaxOfAll(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::max");
  const Tensor& x = c.In(0);
  Tensor out = Kernel(e, x, {}, false, x->dtype, ExtremumOf(x->dtype));
  if (GradNode* node = e.Record("MaxBackward1", {x}, {out})) {
    node->Save(x).SaveOutput(out);
    node->Backward([](GradContext& g) {
      // (input == value).logical_or_(input.isnan().logical_and_(value.isnan()))
      const Tensor mask = g.e.EmptyLike(g.saved(0), DType::kBool);
      const Tensor value_is_nan = g.e.EmptyLike(g.saved(1), DType::kBool);
      const Tensor is_nan = g.e.EmptyLike(g.saved(0), DType::kBool);
      const Tensor count = SumKernel(g.e, mask, {}, false);
      const Tensor share = g.e.EmptyLike(g.grad());
      g.Set(0, Like(g.e, mask, share, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

void RunMax(Call& c) { c.outputs.size() > 1 || !ReductionOf(c).axes.empty() ? RunMaxAlongAxis(c) : RunMaxOfAll(c); }

void RunArgmax(Call& c) {
  OpScope scope(c.e, "aten::argmax");
  const Tensor& x = c.In(0);
  const auto [axes, keepdim] = ReductionOf(c);
  c.Return(Kernel(c.e, x, axes, keepdim, DType::kInt64, PlaceOf(x->dtype, DType::kInt64)));
}

// prod: grad * (result / input), where no element is zero; the zeros are counted first.
void RunProd(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::prod");
  const Tensor& x = c.In(0);
  const auto [axes, keepdim] = ReductionOf(c);
  const DType type = SumType(e, x->dtype);
  Tensor out = Kernel(e, x, axes, keepdim, type, SumOf(x->dtype, type));
  if (GradNode* node = e.Record("ProdBackward0", {x}, {out})) {
    node->Save(x).SaveOutput(out);
    node->Backward([axes = axes](GradContext& g) {
      const Tensor& self = g.saved(0);
      const Tensor zeros = g.e.EmptyLike(self, DType::kBool);
      const Tensor count = SumKernel(g.e, zeros, axes, true);
      { const Tensor total = SumKernel(g.e, count, {}, false); }
      const Tensor ratio = Like(g.e, Restored(g.e, g.saved(1), self->sizes, axes), self, g.grad()->dtype);
      g.Set(0, Like(g.e, Restored(g.e, g.grad(), self->sizes, axes), ratio, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

// var_backward: (2 / degrees of freedom * grad) * (self - self.mean()), the right operand first.
Tensor VarianceGradient(Eager& e, const Tensor& grad, const Tensor& self, const std::vector<int>& axes) {
  const Tensor mean = Kernel(e, self, axes, !axes.empty(), self->dtype, SumOf(self->dtype, self->dtype));
  const Tensor centred = Like(e, self, mean, self->dtype);
  const Tensor scaled = e.EmptyLike(grad);
  return Like(e, scaled, centred, grad->dtype);
}

// std_backward: (grad / (result * 2)).masked_fill_(result == 0, 0)
Tensor RootGradient(GradContext& g) {
  const Tensor doubled = g.e.EmptyLike(g.saved(1));
  Tensor grad = Like(g.e, g.grad(), doubled, g.grad()->dtype);
  const Tensor zero = g.e.EmptyLike(g.saved(1), DType::kBool);
  return grad;
}

template <bool take_root>
void RunVariance(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, take_root ? "aten::std" : "aten::var");
  const Tensor& x = c.In(0);
  const auto [axes, keepdim] = ReductionOf(c);
  Tensor out = Kernel(e, x, axes, keepdim, x->dtype, VarianceOf(x->dtype));
  if (GradNode* node = e.Record(take_root ? "StdBackward0" : "VarBackward0", {x}, {out})) {
    node->Save(x);
    if (take_root) node->SaveOutput(out);
    node->Backward([axes = axes](GradContext& g) {
      const Tensor& self = g.saved(0);
      Tensor grad = take_root ? RootGradient(g) : g.grad();
      grad = Restored(g.e, grad, self->sizes, axes);
      g.Set(0, VarianceGradient(g.e, grad, self, axes));
    });
  }
  c.Return(std::move(out));
}

// var_mean, std_mean: the mean has a gradient of its own (var_mean_backward: that of the variance, and what the mean's
// spreads, are added).
template <bool take_root>
void RunVarianceAndMean(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, take_root ? "aten::std_mean" : "aten::var_mean");
  const Tensor& x = c.In(0);
  const auto [axes, keepdim] = ReductionOf(c);
  Tensor out = Kernel(e, x, axes, keepdim, x->dtype, VarianceOf(x->dtype));
  Tensor mean = e.EmptyLike(out);
  if (GradNode* node = e.Record(take_root ? "StdMeanBackward0" : "VarMeanBackward0", {x}, {out, mean})) {
    node->Save(x);
    if (take_root) node->SaveOutput(out);
    node->Backward([axes = axes](GradContext& g) {
      const Tensor& self = g.saved(0);
      Tensor of_variance, of_mean;
      if (g.grad(0)) {
        const Tensor grad = take_root ? RootGradient(g) : g.grad(0);
        of_variance = VarianceGradient(g.e, Restored(g.e, grad, self->sizes, axes), self, axes);
      }
      if (g.grad(1)) {
        const Tensor spread = Expand(g.e, Restored(g.e, g.grad(1), self->sizes, axes), self->sizes);
        of_mean = g.e.EmptyLike(spread);
      }
      if (of_variance && of_mean) of_variance = Like(g.e, of_variance, of_mean, of_variance->dtype);
      g.Set(0, of_variance ? std::move(of_variance) : std::move(of_mean));
    });
  }
  c.Return(std::move(out));
  if (c.outputs.size() > 1) c.Return(std::move(mean), 1);
}

// aminmax has no gradient (derivatives.yaml 2.10): both ends in one pass.
void RunBothEnds(Call& c) {
  const Tensor& x = c.In(0);
  const auto [axes, keepdim] = ReductionOf(c);
  Tensor low = Kernel(c.e, x, axes, keepdim, x->dtype, ExtremumOf(x->dtype));
  if (c.outputs.size() > 1) c.Return(c.e.EmptyLike(low), 1);
  c.Return(std::move(low));
}

// norm_backward (FunctionsManual.cpp). p = 1: grad * self.sgn(). p = 2: grad * (self / norm).masked_fill_(norm == 0,
// 0). Else: self * self.abs().pow_(p - 2) * (grad / norm.pow(p - 1)).masked_fill_(norm == 0, 0).
Tensor NormGradient(Eager& e, const Tensor& grad, const Tensor& self, const Tensor& norm, double order,
                    const std::vector<int>& axes) {
  constexpr double kInfinite = 1e18;  // a recorded program has 1e300
  if (order == 1) {
    const Tensor sign = e.EmptyLike(self);
    return Like(e, grad, sign, grad->dtype);
  }
  if (std::abs(order) >= kInfinite) {  // sgn(self) * (grad / mask.sum() * mask)
    const Tensor magnitude = e.EmptyLike(self);
    Tensor mask;
    {
      const Tensor equal = Like(e, self, norm, DType::kBool), nan = e.EmptyLike(self, DType::kBool);
      mask = e.EmptyLike(self, DType::kBool);
    }
    const Tensor count = SumKernel(e, mask, axes, true);
    const Tensor share = Like(e, grad, count, grad->dtype);
    const Tensor sign = e.EmptyLike(self);
    const Tensor spread = Like(e, share, mask, grad->dtype);
    return Like(e, sign, spread, grad->dtype);
  }
  if (order == 2) {
    const Tensor direction = Like(e, self, norm, norm->dtype);
    const Tensor zero = e.EmptyLike(norm, DType::kBool);
    return Like(e, grad, direction, grad->dtype);
  }
  Tensor scaled, share;
  {
    const Tensor power = e.EmptyLike(self);
    scaled = e.EmptyLike(self);
  }
  {
    const Tensor power = e.EmptyLike(norm);
    share = Like(e, grad, power, grad->dtype);
  }
  { const Tensor zero = e.EmptyLike(norm, DType::kBool); }
  Tensor result = Like(e, scaled, share, grad->dtype);
  share = Tensor();
  return result;
}

void RunNorm(Call& c) {
  const auto [axes, keepdim] = ReductionOf(c);
  c.Return(VectorNorm(c.e, c.In(0), axes, keepdim, c.Real("ord", 2)));
}

// logsumexp (ReduceOps.cpp): maxes, a copy of the input less them, exponentials summed. Backward grad * (self -
// result).exp().
void RunLogSumExp(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::logsumexp");
  const Tensor& x = c.In(0);
  const auto [axes, keepdim] = ReductionOf(c);
  Tensor out;
  {
    const Tensor maxes = Kernel(e, x, axes, true, x->dtype, ExtremumOf(x->dtype));
    const Tensor squeezed = keepdim ? maxes : Reshape(e, e.Alias(maxes), ReducedSizes(x, axes, false));
    {
      const Tensor magnitude = e.EmptyLike(squeezed);
      const Tensor infinite = e.EmptyLike(squeezed, DType::kBool);
    }
    const Tensor exponentials = Like(e, x, maxes, x->dtype);
    out = Kernel(e, exponentials, axes, keepdim, x->dtype, SumOf(x->dtype, x->dtype));
  }
  if (GradNode* node = e.Record("LogsumexpBackward0", {x}, {out})) {
    node->Save(x).SaveOutput(out);
    node->Backward([axes = axes](GradContext& g) {
      const Tensor& self = g.saved(0);
      const Tensor difference = Like(g.e, self, Restored(g.e, g.saved(1), self->sizes, axes), self->dtype);
      const Tensor exponential = g.e.EmptyLike(difference);
      g.Set(0, Like(g.e, Restored(g.e, g.grad(), self->sizes, axes), exponential, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

void RunAll(Call& c) {
  const Tensor& x = c.In(0);
  const auto [axes, keepdim] = ReductionOf(c);
  ReduceKernel kernel = SumOf(x->dtype, DType::kBool);
  kernel.accumulator_bytes = 1;
  c.Return(Kernel(c.e, x, axes, keepdim, DType::kBool, kernel));
}

}  // namespace

Shape ReducedSizes(const Tensor& t, const std::vector<int>& axes, bool keepdim) {
  Shape sizes;
  for (int i = 0; i < t->dim(); ++i) {
    const bool reduced = axes.empty() || std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced) {
      sizes.Append(t->sizes[i]);
    } else if (keepdim) {
      sizes.Append(Dim(1));
    }
  }
  return sizes;
}

ReduceScratch AllocateReduceScratch(Eager& e, const TensorImpl& t, const std::vector<int>& axes,
                                    const ReduceKernel& kernel) {
  const ReduceBlocks blocks = ConfigureReduction(t.lengths, t.strides, axes, kernel, CardOf(e.spec()));
  ReduceScratch scratch;
  scratch.accumulation = e.Scratch(blocks.accumulation);
  scratch.buffer = e.Scratch(blocks.partial);
  scratch.semaphores = e.Scratch(blocks.semaphores);
  return scratch;
}

ReduceScratch AllocateReduceScratch(Eager& e, const TensorImpl& t, const std::vector<int>& axes, DType output) {
  return AllocateReduceScratch(e, t, axes, SumOf(t.dtype, output));
}

Tensor SumKernel(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim) {
  OpScope scope(e, "aten::sum");
  if (IsFloating(t->dtype)) return Kernel(e, t, axes, keepdim, t->dtype, SumOf(t->dtype, t->dtype));
  Tensor out = e.Empty(ReducedSizes(t, axes, keepdim), DType::kInt64);
  const Tensor converted = t->dtype == DType::kInt64 ? t : e.EmptyLike(t, DType::kInt64);
  AllocateReduceScratch(e, *converted, axes, SumOf(DType::kInt64, DType::kInt64));
  return out;
}

Tensor Sum(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim) {
  OpScope scope(e, "aten::sum");
  const DType type = SumType(e, t->dtype);
  Tensor out =
      IsFloating(t->dtype) ? Kernel(e, t, axes, keepdim, type, SumOf(t->dtype, type)) : SumKernel(e, t, axes, keepdim);
  if (GradNode* node = e.Record("SumBackward1", {t}, {out})) {  // sum_backward: a view of the gradient
    node->Backward([sizes = t->sizes, from = t->dtype, axes](GradContext& g) {
      Tensor expanded = Expand(g.e, Restored(g.e, g.grad(), sizes, axes), sizes);
      g.Set(0, ToType(g.e, expanded, from));
    });
  }
  return out;
}

Tensor Mean(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim) {
  OpScope scope(e, "aten::mean");
  Tensor out = Kernel(e, t, axes, keepdim, t->dtype, SumOf(t->dtype, t->dtype));
  if (GradNode* node = e.Record(axes.empty() ? "MeanBackward0" : "MeanBackward1", {t}, {out})) {
    node->Backward([sizes = t->sizes, axes](GradContext& g) {
      OpScope backward(g.e, "aten::div");
      g.Set(0, g.e.EmptyLike(Expand(g.e, Restored(g.e, g.grad(), sizes, axes), sizes)));
    });
  }
  return out;
}

Tensor VectorNorm(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim, double order) {
  OpScope scope(e, "aten::linalg_vector_norm");
  const DType type = SumType(e, t->dtype);
  Tensor out = Kernel(e, t, axes, keepdim, type, SumOf(t->dtype, type));
  if (GradNode* node = e.Record("LinalgVectorNormBackward0", {t}, {out})) {
    node->Save(t).SaveOutput(out);
    node->Backward([axes, order](GradContext& g) {
      const Tensor& self = g.saved(0);
      const Tensor norm = Restored(g.e, g.saved(1), self->sizes, axes);
      const Tensor grad = Restored(g.e, g.grad(), self->sizes, axes);
      g.Set(0, ToType(g.e, NormGradient(g.e, grad, self, norm, order, axes), self->dtype));
    });
  }
  return out;
}

std::vector<OpRule> ReductionRules() {
  return {
      {"mean", RunMean},
      {"sum", RunSum},
      {"amax", RunAmax},
      {"amin", RunAmax},
      {"max", RunMax},
      {"min", RunMax},
      {"argmax", RunArgmax},
      {"argmin", RunArgmax},
      {"prod", RunProd},
      {"var", RunVariance<false>},
      {"std", RunVariance<true>},
      {"var_mean", RunVarianceAndMean<false>},
      {"std_mean", RunVarianceAndMean<true>},
      {"aminmax", RunBothEnds},
      {"norm", RunNorm},
      {"linalg_vector_norm", RunNorm},
      {"logsumexp", RunLogSumExp, Cast::kFloat32},
      {"all", RunAll},
      {"any", RunAll},
  };
}

}  // namespace vramplan::eager
