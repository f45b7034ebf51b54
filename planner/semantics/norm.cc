// Normalisations: keep their input, and the statistics they computed (fp32, small). Backward makes a gradient of the
// input's size and the gradients of scale and shift.
#include "planner/semantics/norm.h"

#include <algorithm>

#include "planner/semantics/concat.h"
#include "planner/semantics/loss.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

Shape Vector(Dim length) { return Shape{length}; }

Tensor LikeContiguous(Eager& e, const Tensor& t) { return e.Empty(t->sizes, t->dtype); }

DType Statistics(DType type) { return type == DType::kFloat64 ? type : DType::kFloat32; }

// The native kernels of channels-last memory, which [N, C] is too (Normalization.cuh, flexible_launch_configs): partial
// results and semaphores where several blocks of threads share a channel. `values`: floats for each channel and block.
void ChannelsLastScratch(Eager& e, const TensorImpl& x, int values) {
  const auto power = [](int64_t n) {
    int64_t p = 1;
    while (p * 2 <= n) p *= 2;
    return p;
  };
  const int64_t channels = std::max<int64_t>(x.lengths[1], 1), rows = std::max<int64_t>(x.numel() / channels, 1);
  constexpr int64_t kThreads = 512, kTileWidth = 32, kRowsPerThread = 16, kMostBlocks = 128, kFewestBlocks = 8;
  int64_t width = std::min(power(channels), kTileWidth);
  const int64_t height = std::min(power((rows + kRowsPerThread - 1) / kRowsPerThread), kThreads / width);
  if (width * height != kThreads) width = std::min(power(channels), kThreads / height);
  const int64_t blocks = std::min((rows + height * kRowsPerThread - 1) / (height * kRowsPerThread), kMostBlocks);
  if (blocks < kFewestBlocks) return;
  const Storage staging = e.Scratch(Bytes::Of(4 * values) * (channels * blocks));
  const Storage semaphores = e.Scratch(Bytes::Of(4) * ((channels + width - 1) / width));
}

Tensor InverseOf(Eager& e, const Tensor& x) { return e.Empty(Vector(x->sizes[1]), Statistics(x->dtype)); }

// input.contiguous(input.suggest_memory_format()) in front of cuDNN's (_batch_norm_impl_index): the copy is what is kept.
Tensor InItsLayout(Eager& e, const Tensor& x, bool channels_last) {
  if (!channels_last) return Contiguous(e, x);
  return IsNonOverlappingAndDense(*x) ? x : CloneChannelsLast(e, x);
}

// aten::batch_norm over `x` [N, C, ...]: cuDNN's when scale and shift are there (Normalization.cpp
// _batch_norm_impl_index), else the native kernel; the same blocks either way. cuDNN's reserve is 0 bytes outside its
// channels-last mode. Running statistics are given where nothing else holds them.
Tensor BatchNorm(Eager& e, const Tensor& x, const Tensor& weight, const Tensor& bias, bool training,
                 const Tensor& running_mean = Tensor(), const Tensor& running_var = Tensor()) {
  const bool channels_last = IsChannelsLast(*x);
  // Normalization.cpp, _select_batch_norm_backend: halves only with parameters in fp32.
  const bool half =
      x->dtype == DType::kBFloat16 || (weight && x->dtype == DType::kFloat16 && weight->dtype != DType::kFloat32);
  const bool cudnn = weight && bias && x->dim() >= 3 && !half && x->dtype != DType::kFloat64;
  const Tensor input = cudnn ? InItsLayout(e, x, channels_last) : x;
  Tensor out = cudnn ? e.EmptyStrided(input->sizes, input->strides, input->dtype) : e.EmptyLike(x);
  Tensor mean, inverse;
  if (training || !cudnn) {  // batch_norm_cuda makes them also in evaluation
    mean = e.Empty(Vector(x->sizes[1]), Statistics(x->dtype));
    inverse = e.Empty(Vector(x->sizes[1]), Statistics(x->dtype));
  }
  const bool rows = !cudnn && training && (IsContiguous(*x) ? x->strides[1] == 1 : IsChannelsLast(*x));
  if (rows) ChannelsLastScratch(e, *x, 4);
  if (GradNode* node =
          e.Record(cudnn ? "CudnnBatchNormBackward0" : "NativeBatchNormBackward0", {input, weight, bias}, {out})) {
    node->Save(input).Save(running_mean).Save(running_var).Save(weight).Save(mean).Save(inverse);
    // derivatives.yaml, cudnn_batch_norm: without training its backward is native_batch_norm_backward.
    node->Backward([by_cudnn = cudnn && training, training, channels_last, rows](GradContext& g) {
      if (rows) {  // batch_norm_backward_reduce, then the input's gradient
        const Tensor sum = g.e.EmptyLike(g.saved(4)), centred = g.e.EmptyLike(g.saved(4));
        if (g.Needs(1)) g.Set(1, LikeContiguous(g.e, g.saved(3)));
        if (g.Needs(2)) g.Set(2, LikeContiguous(g.e, g.saved(3)));
        ChannelsLastScratch(g.e, *g.saved(0), 2);
        if (g.Needs(0)) g.Set(0, g.e.EmptyLike(g.saved(0)));
        return;
      }
      const Tensor grad = by_cudnn ? ContiguousIn(g.e, g.grad(), channels_last) : g.grad();
      const Tensor saved = by_cudnn ? ContiguousIn(g.e, g.saved(0), channels_last) : g.saved(0);
      // cuDNN's kernel makes all three, wanted or not; the native one what is asked for (grad_input_mask), and with
      // running statistics and nothing to sum it computes 1 / sqrt(variance + eps) first (batch_norm_backward_cuda).
      const Tensor inverse_again =
          !by_cudnn && !training && !g.Needs(1) && !g.Needs(2) && !g.saved(5) ? InverseOf(g.e, g.saved(0)) : Tensor();
      Tensor input_grad, scale, shift;
      if (by_cudnn || g.Needs(0)) input_grad = g.e.EmptyStrided(saved->sizes, saved->strides, saved->dtype);
      if (g.saved(3) && (by_cudnn || g.Needs(1))) scale = LikeContiguous(g.e, g.saved(3));
      if (g.saved(3) && (by_cudnn || g.Needs(2))) shift = LikeContiguous(g.e, g.saved(3));
      if (g.Needs(1)) g.Set(1, std::move(scale));
      if (g.Needs(2)) g.Set(2, std::move(shift));
      g.Set(0, std::move(input_grad));
    });
  }
  return out;
}

void RunBatchNorm(Call& c) {
  OpScope scope(c.e, "aten::batch_norm");
  // Without running statistics those of the batch are taken in evaluation, too (torch/nn/modules/batchnorm.py).
  const bool training = c.Int("training", 1) != 0 && (c.e.spec().mode == Mode::kTrain || !c.Has(3));
  c.Return(BatchNorm(c.e, c.In(0), c.In(1), c.In(2), training));
}

// instance_norm (Normalization.cpp): scale, shift and running statistics are repeated for each sample, and a batch norm
// runs over [1, N*C, ...]. Afterwards each statistic is that of all samples, whatever the mode: their mean is copied.
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
  const Tensor mean = repeated(c.In(3)), variance = repeated(c.In(4));
  Shape folded{Dim(1), channels};
  for (int i = 2; i < x->dim(); ++i) folded.Append(x->sizes[i]);
  const bool of_batch = c.Int("use_input_stats", 1) != 0 || !mean;
  const Tensor out = BatchNorm(e, Reshape(e, Contiguous(e, x), folded), weight, bias, of_batch, mean, variance);
  for (const Tensor& statistic : {mean, variance}) {
    if (statistic) SumKernel(e, Reshape(e, statistic, Shape{x->sizes[0], x->sizes[1]}), {0}, false);
  }
  c.Return(Reshape(e, out, x->sizes));
}

// Many rows of few columns: the gradients of scale and shift are summed in parts first (cuda/layer_norm_kernel.cu,
// LaunchGammaBetaBackwardCUDAKernel; measured in PyTorch 2.10, not there in 2.6).
void SumParts(GradContext& g, Dim rows, int64_t columns, DType type) {
  constexpr Framework kSumsInParts{2, 8};
  constexpr int64_t kManyRows = 64 * 1024, kWidth = 32, kRowsPerBlock = 32, kMostBlocks = 32 * 1024;
  Eager& e = g.e;
  const int64_t wide = columns / kWidth;
  if (e.spec().framework < kSumsInParts || e.At(rows) <= kManyRows || wide >= e.spec().multiprocessors / 2) return;
  const int64_t across = (columns + kWidth - 1) / kWidth;
  const int64_t down = std::min(kMostBlocks / across, (e.At(rows) + kRowsPerBlock - 1) / kRowsPerBlock);
  const Shape sizes{Dim(down), Dim(columns)};
  const Tensor scale = g.Needs(1) ? e.Empty(sizes, type) : Tensor();
  const Tensor shift = g.Needs(2) ? e.Empty(sizes, type) : Tensor();
  if (scale) g.Set(1, SumKernel(e, scale, {0}, false));
  if (shift) g.Set(2, SumKernel(e, shift, {0}, false));
}

void RunLayerNorm(Call& c) {
  const int normalized = static_cast<int>(std::max<int64_t>(c.Int("normalized_axes", 1), 1));
  c.Return(LayerNorm(c.e, c.In(0), c.In(1), c.In(2), normalized));
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
  if (weight || bias) {  // scale and shift of each channel
    const Tensor a = e.Empty(channels, type);
    const Tensor b = e.Empty(channels, type);
  }
  if (GradNode* node = e.Record("NativeGroupNormBackward0", {input, weight, bias}, {out})) {
    node->Save(input).Save(weight).Save(mean).Save(inverse);
    node->Backward([groups, channels, type](GradContext& g) {
      const Tensor grad = IsContiguous(*g.grad()) ? g.grad() : LikeContiguous(g.e, g.grad());
      Tensor input_grad = g.Needs(0) ? LikeContiguous(g.e, g.saved(0)) : Tensor();
      Tensor scale = g.Needs(1) ? LikeContiguous(g.e, g.saved(1)) : Tensor();
      Tensor shift = g.Needs(2) ? LikeContiguous(g.e, g.saved(1)) : Tensor();
      const Tensor ds = g.e.Empty(channels, type), db = g.e.Empty(channels, type);
      if (input_grad) {
        Tensor c1;
        const Tensor c2 = g.e.Empty(groups, type), c3 = g.e.Empty(groups, type);
        if (g.saved(1)) c1 = g.e.Empty(channels, type);
      }
      g.Set(0, std::move(input_grad));
      g.Set(1, std::move(scale));
      g.Set(2, std::move(shift));
    });
  }
  c.Return(std::move(out));
}

// A weight of another type than the input, as autocast leaves them: rms_norm_composite (layer_norm.cpp): the input in
// fp32, times rsqrt(its square's mean), times the weight, and back.
Tensor ComposedRmsNorm(Eager& e, const Tensor& given, const Tensor& weight) {
  const Tensor x = ToType(e, given, Statistics(given->dtype));
  Tensor root;
  {
    const Tensor square = e.EmptyLike(x);
    if (GradNode* node = e.Record("PowBackward0", {x}, {square})) {
      node->Save(x);
      node->Backward([](GradContext& g) {  // grad * (2 * self.pow(1))
        const Tensor power = g.e.EmptyLike(g.saved(0)), scaled = g.e.EmptyLike(power);
        g.Set(0, g.e.EmptyLike(g.saved(0)));
      });
    }
    const Tensor mean = Mean(e, square, {x->dim() - 1}, true);
    root = e.EmptyLike(mean);
    if (GradNode* node = e.Record("RsqrtBackward0", {mean}, {root})) {
      node->SaveOutput(root);
      node->Backward([](GradContext& g) {  // -0.5 * grad * result.pow(3)
        const Tensor cube = g.e.EmptyLike(g.saved(0)), scaled = g.e.EmptyLike(g.grad());
        g.Set(0, g.e.EmptyLike(g.grad()));
      });
    }
  }
  Tensor result = Mul(e, x, root);
  result = Mul(e, result, weight);
  return ToType(e, result, given->dtype);
}

// Fused since 2.8 (_fused_rms_norm): keeps input, rstd and weight.
void RunRmsNorm(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::rms_norm");
  const Tensor& x = c.In(0);
  const Tensor& weight = c.In(1);
  if (weight && weight->dtype != x->dtype) return c.Return(ComposedRmsNorm(e, x, weight));
  Shape statistics = x->sizes;
  statistics[statistics.rank() - 1] = Dim(1);
  Tensor out = LikeContiguous(e, x);
  Tensor inverse = e.Empty(statistics, Statistics(x->dtype));
  if (GradNode* node = e.Record("FusedRmsNormBackward0", {x, weight}, {out})) {
    node->Save(x).Save(inverse).Save(weight);
    node->Backward([](GradContext& g) {
      Tensor input_grad = g.Needs(0) ? LikeContiguous(g.e, g.saved(0)) : Tensor();
      if (g.Needs(1)) g.Set(1, LikeContiguous(g.e, g.saved(2)));
      g.Set(0, std::move(input_grad));
    });
  }
  c.Return(std::move(out));
}

// One new tensor each way; the pool keeps its input.
Tensor Windowed(Eager& e, const Tensor& x, const Shape& sizes, const char* entry, bool keeps) {
  Tensor out = e.Empty(sizes, x->dtype);
  if (GradNode* node = e.Record(entry, {x}, {out})) {
    if (keeps) node->Save(x);
    node->Backward([from = x->sizes](GradContext& g) { g.Set(0, g.e.Empty(from, g.grad()->dtype)); });
  }
  return out;
}

// torch.nn.functional.local_response_norm is Python: the squares padded by size - 1 channels and averaged, then
// x / (average * alpha + k) ** beta.
void RunLocalResponseNorm(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  Shape padded = x->sizes;
  padded[1] = padded[1] + Dim(std::max<int64_t>(c.Int("size", 5), 1) - 1);
  Tensor average = Windowed(e, Mul(e, x, x), padded, "ConstantPadNdBackward0", false);
  average = Windowed(e, average, x->sizes, "AvgPool3DBackward0", true);
  Tensor power;
  {
    Tensor shifted = Add(e, Mul(e, average, nullptr), nullptr);
    shifted = InFloat32(e, shifted);  // pow is on autocast's fp32 list
    power = e.EmptyLike(shifted);
    if (GradNode* node = e.Record("PowBackward0", {shifted}, {power})) {
      node->Save(shifted);
      node->Backward([](GradContext& g) {  // grad * (exponent * self.pow(exponent - 1))
        const Tensor less = g.e.EmptyLike(g.saved(0)), scaled = g.e.EmptyLike(less);
        g.Set(0, g.e.EmptyLike(g.grad()));
      });
    }
  }
  average = Tensor();
  c.Return(Div(e, x, power));
}

}  // namespace

// native_layer_norm (cuda/layer_norm_kernel.cu): a strided input is copied for the kernel, in both directions; kept as
// it was.
Tensor LayerNorm(Eager& e, const Tensor& x, const Tensor& weight, const Tensor& bias, int normalized) {
  OpScope scope(e, "aten::layer_norm");
  Dim rows(1);
  Shape statistics;
  for (int i = 0; i < x->dim(); ++i) {
    statistics.Append(i + normalized < x->dim() ? x->sizes[i] : Dim(1));
    if (i + normalized < x->dim()) rows = rows * x->sizes[i];
  }
  Tensor copy = IsContiguous(*x) ? Tensor() : LikeContiguous(e, x);
  Tensor out = LikeContiguous(e, x);
  Tensor mean = e.Empty(statistics, Statistics(x->dtype));
  Tensor inverse = e.Empty(statistics, Statistics(x->dtype));
  copy = Tensor();  // a local of the kernel's function
  if (GradNode* node = e.Record("NativeLayerNormBackward0", {x, weight, bias}, {out})) {
    node->Save(x).Save(mean).Save(inverse).Save(weight).Save(bias);
    node->Backward([rows, normalized](GradContext& g) {
      const Tensor& saved = g.saved(0);
      const Tensor contiguous = IsContiguous(*saved) ? saved : LikeContiguous(g.e, saved);
      Tensor input_grad = g.Needs(0) ? LikeContiguous(g.e, saved) : Tensor();
      Tensor scale = g.Needs(1) ? LikeContiguous(g.e, g.saved(3)) : Tensor();
      Tensor shift = g.Needs(2) ? LikeContiguous(g.e, g.saved(4)) : Tensor();
      const Tensor grad = IsContiguous(*g.grad()) ? g.grad() : LikeContiguous(g.e, g.grad());
      g.Set(0, std::move(input_grad));
      g.Set(1, std::move(scale));
      g.Set(2, std::move(shift));
      if (normalized == 1 && g.saved(3)) SumParts(g, rows, g.saved(3)->numel(), g.saved(3)->dtype);
    });
  }
  mean = Tensor();  // the tuple of results goes from its first to its last
  return out;
}

std::vector<OpRule> NormRules() {
  return {
      {"batch_norm", RunBatchNorm},
      {"instance_norm", RunInstanceNorm},
      {"layer_norm", RunLayerNorm, Cast::kFloat32},
      {"group_norm", RunGroupNorm, Cast::kFloat32},
      {"rms_norm", RunRmsNorm},
      {"local_response_norm", RunLocalResponseNorm},
  };
}

}  // namespace vramplan::eager
