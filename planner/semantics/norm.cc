// Normalisations: keep their input, and the statistics they computed (fp32, small). Backward makes a gradient of the
// input's size and the gradients of scale and shift.
#include <algorithm>

#include "planner/semantics/concat.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

Shape Vector(Dim length) { return Shape{length}; }

Tensor LikeContiguous(Eager& e, const Tensor& t) { return e.Empty(t->sizes, t->dtype); }

DType Statistics(DType type) { return type == DType::kFloat64 ? type : DType::kFloat32; }

// aten::batch_norm over `x` [N, C, ...]: cuDNN's when scale and shift are there (Normalization.cpp
// _batch_norm_impl_index), else the native kernel; the same blocks either way. cuDNN's reserve is 0 bytes outside its
// channels-last mode.
Tensor BatchNorm(Eager& e, const Tensor& x, const Tensor& weight, const Tensor& bias, bool training) {
  const bool channels_last = IsChannelsLast(*x) && !IsContiguous(*x);
  // Normalization.cpp, _select_batch_norm_backend: halves only with parameters in fp32.
  const bool half =
      x->dtype == DType::kBFloat16 || (weight && x->dtype == DType::kFloat16 && weight->dtype != DType::kFloat32);
  const bool cudnn = weight && bias && x->dim() >= 3 && !half && x->dtype != DType::kFloat64;
  const Tensor input = cudnn ? ContiguousIn(e, x, channels_last) : x;
  Tensor out = cudnn ? e.EmptyStrided(input->sizes, input->strides, input->dtype) : e.EmptyLike(x);
  Tensor mean, inverse;
  if (training || !cudnn) {  // batch_norm_cuda makes them also in evaluation
    mean = e.Empty(Vector(x->sizes[1]), Statistics(x->dtype));
    inverse = e.Empty(Vector(x->sizes[1]), Statistics(x->dtype));
  }
  if (GradNode* node =
          e.Record(cudnn ? "CudnnBatchNormBackward0" : "NativeBatchNormBackward0", {x, weight, bias}, {out})) {
    node->Save(x).Save(weight).Save(mean).Save(inverse);
    node->Backward([cudnn, channels_last](GradContext& g) {
      const Tensor grad = cudnn ? ContiguousIn(g.e, g.grad(), channels_last) : g.grad();
      const Tensor saved = cudnn ? ContiguousIn(g.e, g.saved(0), channels_last) : g.saved(0);
      Tensor input_grad = g.e.EmptyStrided(saved->sizes, saved->strides, saved->dtype);
      if (g.saved(1)) {  // the kernel makes both, wanted or not
        Tensor scale = LikeContiguous(g.e, g.saved(1));
        Tensor shift = LikeContiguous(g.e, g.saved(1));
        if (g.Needs(1)) g.Set(1, std::move(scale));
        if (g.Needs(2)) g.Set(2, std::move(shift));
      }
      g.Set(0, std::move(input_grad));
    });
  }
  return out;
}

void RunBatchNorm(Call& c) {
  OpScope scope(c.e, "aten::batch_norm");
  const bool training = c.Int("training", 1) != 0 && c.e.spec().mode == Mode::kTrain;
  c.Return(BatchNorm(c.e, c.In(0), c.In(1), c.In(2), training));
}

// instance_norm (Normalization.cpp): scale and shift are repeated for each sample, and a batch norm runs over [1, N*C,
// ...].
void RunInstanceNorm(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::instance_norm");
  const Tensor& x = c.In(0);
  const Dim channels = x->sizes[0] * x->sizes[1];
  const auto repeated = [&](const Tensor& t) -> Tensor {
    if (!t) return Tensor();
    Tensor out = e.Empty(Vector(channels), t->dtype);
    if (GradNode* node = e.Record("RepeatBackward0", {t}, {out})) {
      node->Backward([batch = x->sizes[0], each = t->sizes](GradContext& g) {
        g.Set(0, SumKernel(g.e, Reshape(g.e, g.grad(), Shape{batch, each[0]}), {0}, false));
      });
    }
    return out;
  };
  const Tensor weight = repeated(c.In(1));
  const Tensor bias = repeated(c.In(2));
  Shape folded{Dim(1), channels};
  for (int i = 2; i < x->dim(); ++i) folded.Append(x->sizes[i]);
  const Tensor out = BatchNorm(e, Reshape(e, Contiguous(e, x), folded), weight, bias, true);
  c.Return(Reshape(e, out, x->sizes));
}

// native_layer_norm (cuda/layer_norm_kernel.cu): a strided input is copied for the kernel, in both directions; kept as
// it was.
void RunLayerNorm(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::layer_norm");
  const Tensor& x = c.In(0);
  const Tensor &weight = c.In(1), &bias = c.In(2);
  const int normalized = static_cast<int>(std::max<int64_t>(c.Int("normalized_axes", 1), 1));
  Dim rows(1);
  Shape statistics;
  for (int i = 0; i < x->dim(); ++i) {
    statistics.Append(i + normalized < x->dim() ? x->sizes[i] : Dim(1));
    if (i + normalized < x->dim()) rows = rows * x->sizes[i];
  }
  const Tensor input = IsContiguous(*x) ? x : LikeContiguous(e, x);
  Tensor out = LikeContiguous(e, x);
  Tensor mean = e.Empty(statistics, Statistics(x->dtype));
  Tensor inverse = e.Empty(statistics, Statistics(x->dtype));
  if (GradNode* node = e.Record("NativeLayerNormBackward0", {x, weight, bias}, {out})) {
    node->Save(x).Save(mean).Save(inverse).Save(weight).Save(bias);
    node->Backward([](GradContext& g) {
      const Tensor& saved = g.saved(0);
      const Tensor contiguous = IsContiguous(*saved) ? saved : LikeContiguous(g.e, saved);
      Tensor input_grad = LikeContiguous(g.e, saved);
      Tensor scale = g.Needs(1) ? LikeContiguous(g.e, g.saved(3)) : Tensor();
      Tensor shift = g.Needs(2) ? LikeContiguous(g.e, g.saved(4)) : Tensor();
      const Tensor grad = IsContiguous(*g.grad()) ? g.grad() : LikeContiguous(g.e, g.grad());
      g.Set(0, std::move(input_grad));
      g.Set(1, std::move(scale));
      g.Set(2, std::move(shift));
    });
  }
  c.Return(std::move(out));
}

// torch._weight_norm (ATen/native/WeightNorm.cpp, PyTorch 2.10; recorded there: "+2048 +32", backward "+2048 +32 -grad
// -norms"): one fused call over the first or last axis of a fp32 weight, which keeps the direction, the magnitude and
// the norms. Over an axis between them it is v * (g / norm), whose halves the file shows as they are.
void RunWeightNorm(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::_weight_norm");
  const Tensor v = Contiguous(e, c.In(0)), magnitude = Contiguous(e, c.In(1));
  Tensor out = LikeContiguous(e, v);
  const Tensor norms = e.Empty(magnitude->sizes, Statistics(v->dtype));
  if (GradNode* node = e.Record("WeightNormInterfaceBackward0", {c.In(0), c.In(1)}, {out})) {
    node->Save(v).Save(magnitude).Save(norms);
    node->Backward([](GradContext& g) {
      const Tensor grad = Contiguous(g.e, g.grad());
      Tensor direction = LikeContiguous(g.e, g.saved(0));
      Tensor length = LikeContiguous(g.e, g.saved(1));
      g.Set(0, std::move(direction));
      g.Set(1, std::move(length));
    });
  }
  c.Return(std::move(out));
}

// native_group_norm (cuda/group_norm_kernel.cu): coefficients a, b per sample and channel beside the statistics.
void RunGroupNorm(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::group_norm");
  const Tensor& x = c.In(0);
  const Tensor &weight = c.In(1), &bias = c.In(2);
  const Shape groups{x->sizes[0], Dim(c.Int("num_groups", 1))};
  const Shape channels{x->sizes[0], x->sizes[1]};
  const DType type = Statistics(x->dtype);
  const Tensor input = Contiguous(e, x);
  Tensor out = LikeContiguous(e, x);
  Tensor mean = e.Empty(groups, x->dtype);
  Tensor inverse = e.Empty(groups, x->dtype);
  {
    const Tensor a = e.Empty(channels, type);
    const Tensor b = e.Empty(channels, type);
  }
  if (GradNode* node = e.Record("NativeGroupNormBackward0", {input, weight, bias}, {out})) {
    node->Save(input).Save(weight).Save(mean).Save(inverse);
    node->Backward([groups, channels, type](GradContext& g) {
      const Tensor grad = IsContiguous(*g.grad()) ? g.grad() : LikeContiguous(g.e, g.grad());
      Tensor input_grad = LikeContiguous(g.e, g.saved(0));
      Tensor scale = g.Needs(1) ? LikeContiguous(g.e, g.saved(1)) : Tensor();
      Tensor shift = g.Needs(2) ? LikeContiguous(g.e, g.saved(1)) : Tensor();
      const Tensor ds = g.e.Empty(channels, type), db = g.e.Empty(channels, type);
      {
        const Tensor c2 = g.e.Empty(groups, type), c3 = g.e.Empty(groups, type);
        const Tensor c1 = g.e.Empty(channels, type);
      }
      g.Set(0, std::move(input_grad));
      g.Set(1, std::move(scale));
      g.Set(2, std::move(shift));
    });
  }
  c.Return(std::move(out));
}

// Fused since 2.8 (_fused_rms_norm): keeps input, rstd and weight.
void RunRmsNorm(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::rms_norm");
  const Tensor& x = c.In(0);
  const Tensor& weight = c.In(1);
  Shape statistics = x->sizes;
  statistics[statistics.rank() - 1] = Dim(1);
  Tensor out = LikeContiguous(e, x);
  Tensor inverse = e.Empty(statistics, Statistics(x->dtype));
  if (GradNode* node = e.Record("FusedRmsNormBackward0", {x, weight}, {out})) {
    node->Save(x).Save(inverse).Save(weight);
    node->Backward([](GradContext& g) {
      Tensor input_grad = LikeContiguous(g.e, g.saved(0));
      if (g.Needs(1)) g.Set(1, LikeContiguous(g.e, g.saved(2)));
      g.Set(0, std::move(input_grad));
    });
  }
  c.Return(std::move(out));
}

// torch.nn.functional.local_response_norm is Python: x / (avg_pool(x^2) * alpha + k)^beta.
void RunLocalResponseNorm(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  const Tensor square = Mul(e, x, x);
  Tensor pooled = e.EmptyLike(x);
  if (GradNode* node = e.Record("AvgPool3DBackward0", {square}, {pooled})) {
    node->Save(square);
    node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.saved(0))); });
  }
  const Tensor shifted = Add(e, Mul(e, pooled, nullptr), nullptr);
  Tensor power = e.EmptyLike(x);
  if (GradNode* node = e.Record("PowBackward0", {shifted}, {power})) {
    node->Save(shifted);
    node->Backward([](GradContext& g) {
      Tensor t1 = g.e.EmptyLike(g.saved(0));
      Tensor t2 = g.e.EmptyLike(t1);
      g.Set(0, g.e.EmptyLike(g.grad()));
    });
  }
  c.Return(Div(e, x, power));
}

}  // namespace

std::vector<OpRule> NormRules() {
  return {
      {"batch_norm", RunBatchNorm},
      {"instance_norm", RunInstanceNorm},
      {"layer_norm", RunLayerNorm, Cast::kFloat32},
      {"group_norm", RunGroupNorm, Cast::kFloat32},
      {"rms_norm", RunRmsNorm, Cast::kFloat32},
      {"weight_norm", RunWeightNorm},
      {"local_response_norm", RunLocalResponseNorm},
  };
}

}  // namespace vramplan::eager
