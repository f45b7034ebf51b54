// What torchvision has kernels for: features of regions, and convolutions whose places are learned (torchvision 0.25,
// torchvision/csrc/ops).
#include <algorithm>

#include "planner/semantics/blas.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// ops/autocast: every operand to fp32, and the result to the type that the first one had, which is the lower one behind
// convolutions and linear layers.
bool UnderAutocast(const Call& c) {
  const bool amp = IsAutocast(c.e.spec().precision);
  return amp && c.Int("autocast", 1) != 0;
}
Tensor InFull(Call& c, const Tensor& x) {
  return UnderAutocast(c) && x && IsFloating(x->dtype) ? ToType(c.e, x, DType::kFloat32) : x;
}

// ops/cuda/roi_align_kernel.cu: input and boxes are made contiguous; ops/autograd keeps the boxes alone.
void RoiAlign(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "torchvision::roi_align");
  const DType given = c.In(0)->dtype;
  const Tensor x = InFull(c, c.In(0)), rois = InFull(c, c.In(1));
  Tensor out;
  {
    const Tensor dense = Contiguous(e, e.Alias(x)), boxes = Contiguous(e, e.Alias(rois));
    out = e.Empty(c.OutShape(), x->dtype);
  }
  if (GradNode* node = e.Record("ROIAlignFunction", {x, rois}, {out})) {
    node->Save(rois);
    node->Backward([sizes = x->sizes, type = x->dtype](GradContext& g) { g.Set(0, g.e.Empty(sizes, type)); });
  }
  c.Return(ToType(e, out, given));
}

// ops/cuda/deform_conv2d_kernel.cu: so many images at once, at most 32.
int64_t ImagesAtOnce(int64_t batch) {
  for (int64_t images = std::min<int64_t>(batch, 32); images > 1; --images) {
    if (batch % images == 0) return images;
  }
  return 1;
}

Shape ColumnsOf(Eager& e, const Tensor& x, const Tensor& weight, const Shape& out) {
  const int64_t images = ImagesAtOnce(e.At(x->sizes[0]));
  return {x->sizes[1] * weight->sizes[2] * weight->sizes[3], Dim(images) * out[2] * out[3]};
}

void DeformConv(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "torchvision::deform_conv2d");
  const DType given = c.In(0)->dtype;
  const Tensor x = InFull(c, c.In(0)), weight = InFull(c, c.In(1)), offset = InFull(c, c.In(2)),
               mask = InFull(c, c.In(3)), bias = InFull(c, c.In(4));
  Tensor out;
  {
    const Tensor whole = e.Empty(c.OutShape(), x->dtype);
    const Tensor buffer = e.Empty(c.OutShape(), x->dtype);
    const Tensor columns = e.Empty(ColumnsOf(e, x, weight, c.OutShape()), x->dtype);
    const Storage workspace = CublasWorkspace(e);
    out = e.EmptyLike(whole);  // out + bias, while all the others are there
  }
  if (GradNode* node = e.Record("DeformConv2dFunction", {x, weight, offset, mask, bias}, {out})) {
    node->Save(x).Save(weight).Save(offset).Save(mask).Save(bias);
    node->Backward([columns = ColumnsOf(e, x, weight, c.OutShape())](GradContext& g) {
      const Tensor &image = g.saved(0), &kernel = g.saved(1);
      const DType type = image->dtype;
      const Tensor grad = Contiguous(g.e, g.e.Alias(g.grad()));
      Tensor to_image = g.e.EmptyLike(image), to_offset = g.e.EmptyLike(g.saved(2));
      Tensor to_mask = g.saved(3) ? g.e.EmptyLike(g.saved(3)) : Tensor();
      {
        const Tensor lines = g.e.Empty(columns, type);
        const Tensor part = g.e.Empty(grad->sizes, type);
        const Storage workspace = CublasWorkspace(g.e);
      }
      Tensor to_kernel = g.e.EmptyLike(kernel);
      {
        const Tensor buffer = g.e.Empty(grad->sizes, type);
        const Tensor lines = g.e.Empty(columns, type);
      }
      if (g.saved(4)) {
        Tensor ones = g.e.EmptyLike(g.saved(4)), sum = g.e.EmptyLike(g.saved(4));
        Tensor to_bias = g.e.EmptyLike(g.saved(4));
        if (g.Needs(4)) g.Set(4, std::move(to_bias));
      }
      g.Set(0, std::move(to_image));
      if (g.Needs(1)) g.Set(1, std::move(to_kernel));
      if (g.Needs(2)) g.Set(2, std::move(to_offset));
      if (g.Needs(3)) g.Set(3, std::move(to_mask));
    });
  }
  c.Return(ToType(e, out, given));
}

}  // namespace

std::vector<OpRule> RegionRules() { return {{"roi_align", RoiAlign}, {"deform_conv2d", DeformConv}}; }

}  // namespace vramplan::eager
