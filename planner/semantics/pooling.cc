// Pooling: max keeps its input and an int64 index per output; average keeps its whole input although only its sizes
// matter; an average over everything is a mean and keeps nothing (aten/src/ATen/native/cuda/DilatedMaxPool2d.cu,
// AveragePool2d.cu, AdaptiveAveragePooling.cu).
#include "planner/semantics/concat.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// Whether pooling finds channels-last memory. Pooling over one axis is pooling over two of x.unsqueeze(-2)
// (aten/src/ATen/native/Pooling.cpp 2.10): a [B, C, L] that is a permuted [B, L, C] is channels-last there.
bool ChannelsFastest(const TensorImpl& x, int axes) {
  if (axes == 0 || IsContiguous(x)) return false;
  if (axes != 1) return x.dim() == axes + 2 && IsChannelsLast(x);
  return x.dim() == 3 && x.lengths[1] > 1 && x.strides[1] == 1 && x.strides[2] >= x.lengths[1] &&
         x.strides[0] >= x.strides[2] * x.lengths[2];
}

Tensor Laid(Eager& e, const Shape& sizes, DType type, bool channels_last) {
  return channels_last ? e.EmptyStrided(sizes, ChannelsLastStrides(e.At(sizes)), type) : e.Empty(sizes, type);
}

// The gradient of the input is there before the one that arrived is laid like the input.
void SetLaid(GradContext& g, bool channels_last) {
  g.Set(0, Laid(g.e, g.saved(0)->sizes, g.saved(0)->dtype, channels_last));
  const Tensor& grad = g.grad();
  if (channels_last ? grad->strides[1] != 1 : !IsContiguous(*grad))
    g.e.Empty(grad->sizes, grad->dtype);  // dies at once
}

// A part of a channels-last tensor, which kernels copy in their layout.
bool IsPart(const TensorImpl& x) { return !IsContiguous(x) && !IsNonOverlappingAndDense(x); }

// input.contiguous(input.suggest_memory_format()) in the forward and over two axes again in the backward; over three,
// input.contiguous() (AveragePool2d.cu, AveragePool3d.cu 2.10; recorded).
void Average(Call& c, int axes) {
  OpScope scope(c.e, "aten::avg_pool2d");
  const Tensor& x = c.In(0);
  const bool channels_last = axes < 3 && ChannelsFastest(*x, axes);
  const bool copies = channels_last ? IsPart(*x) : !IsContiguous(*x);
  Tensor out = Laid(c.e, c.OutShape(), x->dtype, channels_last);
  if (copies) c.e.Empty(x->sizes, x->dtype);  // dies at once
  if (GradNode* node = c.e.Record("AvgPool2DBackward0", {x}, {out})) {
    node->Save(x);
    node->Backward([channels_last, copies, axes](GradContext& g) {
      SetLaid(g, channels_last);
      if (copies && axes < 3) g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype);
    });
  }
  c.Return(std::move(out));
}

void Max(Call& c, const char* op, const char* name, int axes) {
  OpScope scope(c.e, op);
  const Tensor& x = c.In(0);
  // max_pool works on channels-last memory as it lies; the others copy. Over one axis and two a strided input is copied
  // once the results are there, and, where it is not adaptive, again in the backward (recorded with 2.10).
  const bool channels_last = ChannelsFastest(*x, axes);
  const Tensor input = channels_last || axes > 0 ? x : Contiguous(c.e, x);
  const bool copies = axes > 0 && (channels_last ? IsPart(*x) : !IsContiguous(*x));
  const bool again = copies && !c.layer.op.starts_with("adaptive");
  Tensor out = Laid(c.e, c.OutShape(), x->dtype, channels_last);
  Tensor indices = Laid(c.e, c.OutShape(), DType::kInt64, channels_last);
  if (copies) c.e.Empty(x->sizes, x->dtype);  // dies at once
  if (GradNode* node = c.e.Record(name, {input}, {out})) {
    node->Save(input).Save(indices);
    node->Backward([channels_last, again](GradContext& g) {
      SetLaid(g, channels_last);
      if (again) g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype);
    });
  }
  c.Return(std::move(out));
  if (c.outputs.size() > 1) c.Return(std::move(indices), 1);
}

// max_unpool (MaxUnpooling.cpp, cuda/MaxUnpooling.cu): keeps the indices; the gradient is gathered at them.
void Unpool(Call& c) {
  OpScope scope(c.e, "aten::max_unpool2d");
  const Tensor& x = c.In(0);
  Tensor out = c.e.Empty(c.OutShape(), x->dtype);
  if (GradNode* node = c.e.Record("MaxUnpool2DBackward0", {x}, {out})) {
    node->Save(c.In(1));
    node->Backward([](GradContext& g) { g.Set(0, g.e.Empty(g.saved(0)->sizes, g.grad()->dtype)); });
  }
  c.Return(std::move(out));
}

// fractional_max_pool (cuda/FractionalMaxPool2d.cu): values and int64 places, which are kept with the input.
void FractionalMax(Call& c) {
  OpScope scope(c.e, "aten::fractional_max_pool2d");
  const Tensor& x = c.In(0);
  Tensor out = c.e.Empty(c.OutShape(), x->dtype), places = c.e.Empty(c.OutShape(), DType::kInt64);
  if (GradNode* node = c.e.Record("FractionalMaxPool2DBackward0", {x}, {out})) {
    node->Save(x).Save(places);
    node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.saved(0))); });
  }
  if (c.outputs.size() > 1) c.Return(std::move(places), 1);
  c.Return(std::move(out));
}

// AdaptiveAveragePooling.cu 2.10: a copy in front of the output where memory is neither contiguous nor channels-last;
// the gradient is read as it arrives (recorded).
void AdaptiveAverageOf(Call& c, int axes) {
  OpScope scope(c.e, "aten::adaptive_avg_pool2d");
  const Tensor& x = c.In(0);
  const bool channels_last = axes < 3 && ChannelsFastest(*x, axes);
  Tensor copy;
  if (!channels_last && !IsContiguous(*x)) copy = c.e.Empty(x->sizes, x->dtype);
  Tensor out = Laid(c.e, c.OutShape(), x->dtype, channels_last);
  copy = Tensor();
  if (GradNode* node = c.e.Record("AdaptiveAvgPool2DBackward0", {x}, {out})) {
    node->Save(x);
    node->Backward(
        [channels_last](GradContext& g) { g.Set(0, Laid(g.e, g.saved(0)->sizes, g.saved(0)->dtype, channels_last)); });
  }
  c.Return(std::move(out));
}

// adaptive_avg_pool to length 1 everywhere is mean over those axes (AdaptiveAveragePooling.cpp).
void AdaptiveAverage(Call& c) {
  const Tensor& x = c.In(0);
  const int first = 2;
  bool ones = true;
  std::vector<int> axes;
  for (int i = first; i < x->dim(); ++i) {
    ones = ones && c.OutShape()[i].Is(1);
    axes.push_back(i);
  }
  if (!ones) {
    AdaptiveAverageOf(c, x->dim() - first);
    return;
  }
  OpScope scope(c.e, "aten::adaptive_avg_pool2d");
  Tensor mean = Mean(c.e, x, axes, true);
  if (x->dim() >= 4 && IsChannelsLast(*x)) {  // out.as_strided_({n, c, 1, 1}, {c, 1, c, c})
    mean = Strided(c.e, mean, mean->sizes, ChannelsLastStrides(c.e.At(mean->sizes)), "AsStridedBackward1");
  }
  c.Return(std::move(mean));
}

template <int kAxes>
void MaxOver(Call& c) {
  Max(c, "aten::max_pool2d", "MaxPool2DWithIndicesBackward0", kAxes);
}
template <int kAxes>
void AverageOver(Call& c) {
  Average(c, kAxes);
}
template <int kAxes>
void AdaptiveMaxOver(Call& c) {
  Max(c, "aten::adaptive_max_pool2d", "AdaptiveMaxPool2DBackward0", kAxes);
}
// No axes: what is not contiguous is copied. max_pool3d itself takes channels-last memory as it lies, but the networks
// that would give it such call contiguous() in front, which no export keeps (torchvision/models/video/mvit.py 0.25,
// _pool).
constexpr int kCopies = 0;

}  // namespace

std::vector<OpRule> PoolingRules() {
  return {
      {"max_pool1d", MaxOver<1>},
      {"max_pool2d", MaxOver<2>},
      {"max_pool3d", MaxOver<kCopies>},
      {"avg_pool1d", AverageOver<1>},
      {"avg_pool2d", AverageOver<2>},
      {"avg_pool3d", AverageOver<3>},
      {"fractional_max_pool2d", FractionalMax},
      {"fractional_max_pool3d", FractionalMax},
      {"max_unpool1d", Unpool},
      {"max_unpool2d", Unpool},
      {"max_unpool3d", Unpool},
      {"adaptive_avg_pool1d", AdaptiveAverage},
      {"adaptive_avg_pool2d", AdaptiveAverage},
      {"adaptive_avg_pool3d", AdaptiveAverage},
      {"adaptive_max_pool1d", AdaptiveMaxOver<kCopies>},
      {"adaptive_max_pool2d", AdaptiveMaxOver<2>},
      {"adaptive_max_pool3d", AdaptiveMaxOver<kCopies>},
  };
}

}  // namespace vramplan::eager
