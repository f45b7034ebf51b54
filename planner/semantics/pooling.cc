// Pooling: max keeps its input and an int64 index per output; average keeps its whole input although only its sizes
// matter; an average over everything is a mean and keeps nothing (aten/src/ATen/native/cuda/DilatedMaxPool2d.cu,
// AveragePool2d.cu, AdaptiveAveragePooling.cu).
#include "planner/semantics/concat.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

void Average(Call& c, const char* op, const char* name) {
  OpScope scope(c.e, op);
  const Tensor& x = c.In(0);
  Tensor out = c.e.Empty(c.OutShape(), x->dtype);
  if (GradNode* node = c.e.Record(name, {x}, {out})) {
    node->Save(x);
    node->Backward([](GradContext& g) { g.Set(0, g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype)); });
  }
  c.Return(std::move(out));
}

void Max(Call& c, const char* op, const char* name) {
  OpScope scope(c.e, op);
  const Tensor& x = c.In(0);
  // max_pool2d works on channels-last memory as it lies; the others copy.
  const bool channels_last = x->dim() == 4 && IsChannelsLast(*x) && !IsContiguous(*x);
  const Tensor input = channels_last ? x : Contiguous(c.e, x);
  const auto empty = [&](DType type) {
    if (!channels_last) return c.e.Empty(c.OutShape(), type);
    return c.e.EmptyStrided(c.OutShape(), ChannelsLastStrides(c.e.At(c.OutShape())), type);
  };
  Tensor out = empty(x->dtype);
  Tensor indices = empty(DType::kInt64);
  if (GradNode* node = c.e.Record(name, {input}, {out})) {
    node->Save(input).Save(indices);
    node->Backward([channels_last](GradContext& g) {  // gradOutput_.contiguous(memory_format)
      const Tensor grad = channels_last || IsContiguous(*g.grad()) ? g.grad() : Clone(g.e, g.grad());
      g.Set(0, channels_last ? g.e.EmptyLike(g.saved(0)) : g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype));
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
    Average(c, "aten::adaptive_avg_pool2d", "AdaptiveAvgPool2DBackward0");
    return;
  }
  OpScope scope(c.e, "aten::adaptive_avg_pool2d");
  Tensor mean = Mean(c.e, x, axes, true);
  if (x->dim() >= 4 && IsChannelsLast(*x)) {  // out.as_strided_({n, c, 1, 1}, {c, 1, c, c})
    mean = Strided(c.e, mean, mean->sizes, ChannelsLastStrides(c.e.At(mean->sizes)), "AsStridedBackward1");
  }
  c.Return(std::move(mean));
}

}  // namespace

std::vector<OpRule> PoolingRules() {
  const auto max = [](Call& c) { Max(c, "aten::max_pool2d", "MaxPool2DWithIndicesBackward0"); };
  const auto average = [](Call& c) { Average(c, "aten::avg_pool2d", "AvgPool2DBackward0"); };
  const auto adaptive_max = [](Call& c) { Max(c, "aten::adaptive_max_pool2d", "AdaptiveMaxPool2DBackward0"); };
  return {
      {"max_pool1d", max},
      {"max_pool2d", max},
      {"max_pool3d", max},
      {"avg_pool1d", average},
      {"avg_pool2d", average},
      {"avg_pool3d", average},
      {"max_unpool1d", Unpool},
      {"max_unpool2d", Unpool},
      {"max_unpool3d", Unpool},
      {"adaptive_avg_pool1d", AdaptiveAverage},
      {"adaptive_avg_pool2d", AdaptiveAverage},
      {"adaptive_avg_pool3d", AdaptiveAverage},
      {"adaptive_max_pool1d", adaptive_max},
      {"adaptive_max_pool2d", adaptive_max},
      {"adaptive_max_pool3d", adaptive_max},
  };
}

}  // namespace vramplan::eager
