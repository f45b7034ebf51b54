#include "planner/semantics/view.h"

#include <algorithm>
#include <utility>

#include "planner/semantics/concat.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {

std::optional<Ints> ViewStrides(const TensorImpl& t, const Ints& lengths) {
  const int64_t elements = t.numel();
  Ints strides;
  strides.n = lengths.n;
  if (elements == 0) return ContiguousStrides(lengths);
  int view_axis = lengths.n - 1;
  int64_t chunk_stride = t.lengths.n == 0 ? 1 : t.strides[t.lengths.n - 1];
  int64_t chunk = 1, view_chunk = 1;
  for (int axis = t.lengths.n - 1; axis >= 0; --axis) {
    chunk *= t.lengths[axis];
    // The end of a run of axes that lie contiguously: the new axes must divide it.
    if (axis == 0 || (t.lengths[axis - 1] != 1 && t.strides[axis - 1] != chunk * chunk_stride)) {
      while (view_axis >= 0 && (view_chunk < chunk || lengths[view_axis] == 1)) {
        strides[view_axis] = view_chunk * chunk_stride;
        view_chunk *= lengths[view_axis];
        --view_axis;
      }
      if (view_chunk != chunk) return std::nullopt;
      if (axis > 0) {
        chunk_stride = t.strides[axis - 1];
        chunk = 1;
        view_chunk = 1;
      }
    }
  }
  if (t.lengths.n == 0) {  // a scalar seen with axes of length 1
    for (; view_axis >= 0; --view_axis) strides[view_axis] = 1;
  }
  if (view_axis != -1) return std::nullopt;
  return strides;
}

namespace {

// The gradient of a view that only changed sizes: the same numbers under the old sizes, copied when its strides do not
// allow.
void RecordReshape(Eager& e, const char* name, const Tensor& from, const Tensor& to) {
  if (GradNode* node = e.Record(name, {from}, {to})) {
    node->Backward([sizes = from->sizes](GradContext& g) { g.Set(0, Reshape(g.e, g.grad(), sizes)); });
  }
}

}  // namespace

Tensor Clone(Eager& e, const Tensor& t, bool keeps_layout) {
  Tensor copy = keeps_layout ? e.EmptyAs(t, t->dtype) : e.Empty(t->sizes, t->dtype);
  if (GradNode* node = e.Record("CloneBackward0", {t}, {copy})) {
    node->Backward([](GradContext& g) { g.Set(0, g.grad()); });
  }
  return copy;
}

Tensor CloneChannelsLast(Eager& e, const Tensor& t) {
  Tensor copy = e.EmptyStrided(t->sizes, ChannelsLastStrides(e.At(t->sizes)), t->dtype);
  if (GradNode* node = e.Record("CloneBackward0", {t}, {copy})) {
    node->Backward([](GradContext& g) { g.Set(0, g.grad()); });
  }
  return copy;
}

Tensor Contiguous(Eager& e, const Tensor& t) { return IsContiguous(*t) ? t : Clone(e, t); }

Tensor UnsafeView(Eager& e, const Tensor& t, const Shape& sizes) {
  Tensor view = e.AsStrided(t, sizes, ContiguousStrides(e.At(sizes)));
  view->base = Tensor();  // no view to autograd: writing into it concerns nothing else (_unsafe_view, TensorShape.cpp)
  RecordReshape(e, "UnsafeViewBackward0", t, view);
  return view;
}

Tensor Reshape(Eager& e, const Tensor& t, const Shape& sizes) {
  if (const auto strides = ViewStrides(*t, e.At(sizes))) {
    Tensor view = e.AsStrided(t, sizes, *strides);
    RecordReshape(e, "ViewBackward0", t, view);
    return view;
  }
  return UnsafeView(e, Clone(e, t), sizes);
}

// as_strided_backward: the gradient is scattered into new_zeros of the memory that the input spans, and what comes back
// is a view of that, which holds its base: the engine never adds to it in place (torch/csrc/autograd/FunctionsManual.cpp;
// recorded in PyTorch 2.10).
Tensor Strided(Eager& e, const Tensor& t, const Shape& sizes, const Ints& strides, const char* node_name) {
  Tensor view = e.AsStrided(t, sizes, strides);
  if (GradNode* node = e.Record(node_name, {t}, {view})) {
    node->Backward([sizes = t->sizes](GradContext& g) {
      const Tensor whole = g.e.Empty(sizes, g.grad()->dtype);
      g.Set(0, g.e.AsStrided(whole, whole->sizes, whole->strides));
    });
  }
  return view;
}

namespace {

// Strides of a view with more elements than there are, x [n, 1024, 64] as [n, 3, 512, 64]: windows that lie evenly over
// one axis and overlap, which transformers' sliding chunks are (modeling_longformer.py, _chunk and
// _sliding_chunks_matmul_attn_probs_value). Files do not say strides that were computed. Nothing: it is no such view.
std::optional<Ints> WindowStrides(const TensorImpl& t, const Ints& lengths) {
  const int rank = t.lengths.n, more = lengths.n - rank;
  if (!t.layout->contiguous || (more != 0 && more != 1)) return std::nullopt;
  int axis = 0, same = 0;  // of the windows; axes behind theirs
  while (axis < rank && t.lengths[axis] == lengths[axis]) ++axis;
  while (axis < rank && same < rank - axis - 1 && t.lengths[rank - 1 - same] == lengths[lengths.n - 1 - same]) ++same;
  if (axis + same + 1 != rank || lengths[axis] < 2) return std::nullopt;
  // [.., length, ..] as [.., count, window, ..], or [.., count of those apart, ..] as [.., count, ..]
  const int64_t spare = t.lengths[axis] - (more == 1 ? lengths[axis + 1] : 1);
  if (spare < 0) return std::nullopt;
  Ints strides;
  strides.n = lengths.n;
  for (int i = 0; i < lengths.n; ++i) strides[i] = t.strides[i <= axis ? i : i - more];
  strides[axis] = spare * t.strides[axis] / (lengths[axis] - 1);
  return strides;
}

int64_t ElementsOf(const Ints& lengths) {
  int64_t elements = 1;
  for (int i = 0; i < lengths.n; ++i) elements *= lengths[i];
  return elements;
}

// Scattered by index where elements overlap: arange over the memory, what the view sees of that, and the gradient, both
// in a row (FunctionsManual.cpp, as_strided_backward; recorded in PyTorch 2.10).
Tensor Windows(Eager& e, const Tensor& t, const Shape& sizes, const Ints& strides) {
  Tensor view = e.AsStrided(t, sizes, strides);
  if (GradNode* node = e.Record("AsStridedBackward0", {t}, {view})) {
    node->Backward([from = t->sizes, sizes](GradContext& g) {
      const Tensor whole = g.e.Empty(from, g.grad()->dtype);
      {
        const Tensor places = g.e.Empty(Shape{from.Elements()}, DType::kInt64);
        const Tensor seen = g.e.Empty(Shape{sizes.Elements()}, DType::kInt64);
        const Tensor flat = Reshape(g.e, g.grad(), Shape{sizes.Elements()});
      }
      g.Set(0, g.e.AsStrided(whole, whole->sizes, whole->strides));
    });
  }
  return view;
}

}  // namespace

Tensor View(Eager& e, const Tensor& t, const Shape& sizes) { return Reshape(e, t, sizes); }

Tensor Permute(Eager& e, const Tensor& t, const std::vector<int>& axes) {
  Shape sizes;
  Ints strides;
  strides.n = t->dim();
  for (int i = 0; i < t->dim(); ++i) {
    const int from = axes[static_cast<size_t>(i)];
    sizes.Append(t->sizes[from]);
    strides[i] = t->strides[from];
  }
  Tensor view = e.AsStrided(t, sizes, strides);
  if (GradNode* node = e.Record("PermuteBackward0", {t}, {view})) {
    std::vector<int> back(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) back[static_cast<size_t>(axes[i])] = static_cast<int>(i);
    node->Backward([back](GradContext& g) { g.Set(0, Permute(g.e, g.grad(), back)); });
  }
  return view;
}

Tensor Transpose(Eager& e, const Tensor& t, int axis0, int axis1) {
  if (axis0 < 0) axis0 += t->dim();
  if (axis1 < 0) axis1 += t->dim();
  Shape sizes = t->sizes;
  std::swap(sizes[axis0], sizes[axis1]);
  Ints strides = t->strides;
  std::swap(strides[axis0], strides[axis1]);
  Tensor view = e.AsStrided(t, sizes, strides);
  if (GradNode* node = e.Record("PermuteBackward0", {t}, {view}))
    node->Backward([axis0, axis1](GradContext& g) { g.Set(0, Transpose(g.e, g.grad(), axis0, axis1)); });
  return view;
}

Tensor T(Eager& e, const Tensor& t) { return t->dim() < 2 ? t : Transpose(e, t, 0, 1); }

Tensor Expand(Eager& e, const Tensor& t, const Shape& sizes) {
  const Ints lengths = e.At(sizes);
  Ints strides;
  strides.n = lengths.n;
  const int offset = lengths.n - t->dim();
  for (int i = 0; i < lengths.n; ++i) {
    const int from = i - offset;
    strides[i] = from < 0 || (t->lengths[from] == 1 && lengths[i] != 1) ? 0 : t->strides[from];
  }
  Tensor view = e.AsStrided(t, sizes, strides);
  if (GradNode* node = e.Record("ExpandBackward0", {t}, {view})) {
    node->Backward([from = t->sizes](GradContext& g) { g.Set(0, SumTo(g.e, g.grad(), from)); });
  }
  return view;
}

Tensor Select(Eager& e, const Tensor& t, int axis) {
  Shape sizes = t->sizes;
  sizes.Remove(axis);
  Ints strides;
  strides.n = sizes.rank();
  for (int i = 0; i < strides.n; ++i) strides[i] = t->strides[i < axis ? i : i + 1];
  Tensor view = e.AsStrided(t, sizes, strides);
  if (GradNode* node = e.Record("SelectBackward0", {t}, {view})) {
    // select_backward: zeros of the whole, the gradient copied into its place.
    node->Backward([whole = t->sizes](GradContext& g) {
      OpScope scope(g.e, "aten::select_backward");
      g.Set(0, g.e.Empty(whole, g.grad()->dtype));
    });
  }
  return view;
}

Tensor Diagonal(Eager& e, const Tensor& t, int64_t offset, int first, int second) {
  Shape sizes;
  Ints strides;
  for (int i = 0; i < t->dim(); ++i) {
    if (i == first || i == second) continue;
    sizes.Append(t->sizes[i]);
    strides[strides.n++] = t->strides[i];
  }
  const int64_t rows = t->lengths[first] + std::min<int64_t>(offset, 0);
  const int64_t columns = t->lengths[second] - std::max<int64_t>(offset, 0);
  const bool whole = offset == 0 && t->lengths[first] <= t->lengths[second];
  sizes.Append(whole ? t->sizes[first] : Dim(std::max<int64_t>(std::min(rows, columns), 0)));
  strides[strides.n++] = t->strides[first] + t->strides[second];
  Tensor view = e.AsStrided(t, sizes, strides);
  if (GradNode* node = e.Record("DiagonalBackward0", {t}, {view})) {
    node->Backward([whole_sizes = t->sizes](GradContext& g) {  // diagonal_backward: zeros of the whole
      OpScope scope(g.e, "aten::diagonal_backward");
      g.Set(0, g.e.Empty(whole_sizes, g.grad()->dtype));
    });
  }
  return view;
}

Tensor Slice(Eager& e, const Tensor& t, int axis, Dim length, int64_t step) {
  Shape sizes = t->sizes;
  sizes[axis] = length;
  Ints strides = t->strides;
  strides[axis] *= step;
  Tensor view = e.AsStrided(t, sizes, strides);
  if (GradNode* node = e.Record("SliceBackward0", {t}, {view})) {
    node->Backward([whole = t->sizes](GradContext& g) {
      OpScope scope(g.e, "aten::slice_backward");
      g.Set(0, g.e.Empty(whole, g.grad()->dtype));
    });
  }
  return view;
}

Tensor Squeeze(Eager& e, const Tensor& t, const Shape& sizes) {
  const Ints lengths = e.At(sizes);
  Ints strides = ContiguousStrides(lengths);
  int from = 0;
  for (int i = 0; i < lengths.n; ++i) {
    if (lengths[i] == 1) continue;
    while (from < t->dim() && t->lengths[from] == 1) ++from;
    if (from < t->dim()) strides[i] = t->strides[from++];
  }
  Tensor view = e.AsStrided(t, sizes, strides);
  RecordReshape(e, "SqueezeBackward0", t, view);
  return view;
}

std::vector<Tensor> Split(Eager& e, const Tensor& t, int axis, const std::vector<Dim>& lengths) {
  std::vector<Tensor> parts;
  for (const Dim& length : lengths) {
    Shape sizes = t->sizes;
    sizes[axis] = length;
    parts.push_back(e.AsStrided(t, sizes, t->strides));
  }
  if (GradNode* node = e.Record("SplitBackward0", std::vector<Tensor>{t}, parts)) {
    // split_with_sizes_backward: one cat of all parts; a part without a gradient is zeros.
    node->Backward([axis](GradContext& g) {
      std::vector<Tensor> grads;
      for (size_t i = 0; i < g.grads.size(); ++i) {
        const auto& facts = g.node.outputs[i];
        grads.push_back(g.grads[i] ? g.grads[i] : g.e.Empty(facts.layout->sizes, facts.dtype));
      }
      g.Set(0, Cat(g.e, grads, axis));
    });
  }
  return parts;
}

std::vector<Tensor> Unbind(Eager& e, const Tensor& t, int axis) {
  Shape sizes = t->sizes;
  sizes.Remove(axis);
  Ints strides;
  strides.n = sizes.rank();
  for (int i = 0; i < strides.n; ++i) strides[i] = t->strides[i < axis ? i : i + 1];
  std::vector<Tensor> parts;
  for (int64_t i = 0; i < t->lengths[axis]; ++i) parts.push_back(e.AsStrided(t, sizes, strides));
  if (GradNode* node = e.Record("UnbindBackward0", std::vector<Tensor>{t}, parts)) {
    node->Backward([axis](GradContext& g) {  // unbind_backward: stack
      std::vector<Tensor> grads;
      for (size_t i = 0; i < g.grads.size(); ++i) {
        const auto& facts = g.node.outputs[i];
        grads.push_back(g.grads[i] ? g.grads[i] : g.e.Empty(facts.layout->sizes, facts.dtype));
      }
      g.Set(0, Stack(g.e, grads, axis));
    });
  }
  return parts;
}

Tensor SumTo(Eager& e, const Tensor& t, const Shape& sizes) {
  const Ints lengths = e.At(sizes);
  if (t->lengths == lengths) return t;
  if (t->dim() < lengths.n) return e.Empty(sizes, t->dtype);  // no gradient of a broadcast
  std::vector<int> axes;
  const int leading = t->dim() - lengths.n;
  for (int i = 0; i < t->dim(); ++i) {
    if (i < leading || (lengths[i - leading] == 1 && t->lengths[i] != 1)) axes.push_back(i);
  }
  if (axes.empty()) return Reshape(e, t, sizes);
  Tensor summed = SumKernel(e, t, axes, true);
  return leading > 0 ? Reshape(e, summed, sizes) : summed;  // at::sum_to views the leading ones away
}

namespace {

// x.unfold(dimension, size, step): windows along an axis as one more axis. Its gradient is a tensor of the whole
// (unfold_backward); windows that share elements are summed
// place by place (UnfoldBackward.cpp).
void Unfold(Call& c) {
  const Tensor& x = c.In(0);
  const Shape sizes = c.OutShape();
  const int axis = static_cast<int>(c.Int("dimension"));
  if (sizes.rank() != x->dim() + 1 || axis < 0 || axis >= x->dim()) return RunUnknown(c, "has windows of another rank");
  Ints strides = x->strides;
  strides[strides.n++] = x->strides[axis];
  strides[axis] *= c.Int("step", 1);
  Tensor view = c.e.AsStrided(x, sizes, strides);
  if (GradNode* node = c.e.Record("UnfoldBackward0", {x}, {view})) {
    const bool overlaps = c.e.At(sizes)[x->dim()] > c.Int("step", 1);
    node->Backward([whole = x->sizes, axis, overlaps](GradContext& g) {
      OpScope scope(g.e, "aten::unfold_backward");
      Tensor result = g.e.Empty(whole, g.grad()->dtype);
      if (overlaps) const Tensor places = g.e.Empty(Shape{whole[axis]}, DType::kInt64);
      g.Set(0, std::move(result));
    });
  }
  c.Return(std::move(view));
}

// x.contiguous(), or of memory_format=torch.channels_last.
void RunContiguous(Call& c) {
  const Tensor& t = c.In(0);
  if (c.Int("channels_last") == 0) return c.Return(Contiguous(c.e, t));
  const bool lies_so = IsChannelsLast(*t) && IsNonOverlappingAndDense(*t);
  c.Return(lies_so ? t : CloneChannelsLast(c.e, t));
}

}  // namespace

std::vector<OpRule> ViewRules() {
  const auto reshape = [](Call& c) { c.Return(Reshape(c.e, c.In(0), c.OutShape())); };
  const auto squeeze = [](Call& c) { c.Return(Squeeze(c.e, c.In(0), c.OutShape())); };
  return {
      {"view", reshape},
      // A second operand is a view that lies in memory as the result does.
      {"as_strided",
       [](Call& c) {
         const Ints lengths = c.e.At(c.OutShape());
         if (!c.Has(1) && ElementsOf(lengths) > c.In(0)->numel()) {
           if (const auto windows = WindowStrides(*c.In(0), lengths))
             return c.Return(Windows(c.e, c.In(0), c.OutShape(), *windows));
         }
         const Ints strides = c.Has(1) ? c.In(1)->strides : ContiguousStrides(lengths);
         c.Return(Strided(c.e, c.In(0), c.OutShape(), strides, "AsStridedBackward0"));
       }},
      {"reshape", reshape},
      {"unfold", Unfold},
      {"squeeze", squeeze},
      {"unsqueeze", squeeze},
      {"permute",
       [](Call& c) {
         std::vector<int> axes;
         for (int64_t axis : c.Ints("dims")) axes.push_back(static_cast<int>(axis < 0 ? axis + c.In(0)->dim() : axis));
         c.Return(Permute(c.e, c.In(0), axes));
       }},
      {"transpose", [](Call& c) { c.Return(Transpose(c.e, c.In(0), c.Axis("dim0"), c.Axis("dim1"))); }},
      {"expand", [](Call& c) { c.Return(Expand(c.e, c.In(0), c.OutShape())); }},
      {"select", [](Call& c) { c.Return(Select(c.e, c.In(0), c.Axis())); }},
      {"diagonal", [](Call& c) { c.Return(Diagonal(c.e, c.In(0), c.Int("offset"), c.Axis("dim1"), c.Axis("dim2"))); }},
      {"diag_embed",  // zeros, and a copy into a diagonal of them (TensorShape.cpp); the gradient is a view
       [](Call& c) {
         Tensor out = c.e.Empty(c.OutShape(), c.In(0)->dtype);
         if (GradNode* node = c.e.Record("DiagEmbedBackward0", {c.In(0)}, {out})) {
           const int last = out->dim() - 1;
           node->Backward([last](GradContext& g) { g.Set(0, Diagonal(g.e, g.grad(), 0, last - 1, last)); });
         }
         c.Return(std::move(out));
       }},
      {"slice",
       [](Call& c) {
         const int axis = c.Axis();
         // x[:n] of all n is x itself (torch/csrc/autograd/python_variable_indexing.cpp, applySlicing).
         if (c.OutShape() == c.In(0)->sizes) return c.Return(c.In(0));
         c.Return(Slice(c.e, c.In(0), axis, c.OutShape()[axis], c.Int("step", 1)));
       }},
      {"detach", [](Call& c) { c.Return(c.e.Alias(c.In(0))); }},
      {"diagonal_copy",  // torch.diag of a matrix (TensorShape.cpp); the gradient is written into zeros
       [](Call& c) {
         const Tensor& x = c.In(0);
         Tensor out = c.e.Empty(c.OutShape(), x->dtype);
         if (GradNode* node = c.e.Record("DiagonalBackward0_copy", {x}, {out}))
           node->Backward([sizes = x->sizes](GradContext& g) { g.Set(0, g.e.Empty(sizes, g.grad()->dtype)); });
         c.Return(std::move(out));
       }},
      {"leaf",  // requires_grad_() (torch/csrc/autograd/python_variable.cpp): its gradient is accumulated for it
       [](Call& c) {
         Tensor leaf = c.e.Alias(c.In(0));
         leaf->requires_grad = c.e.grad_mode && IsFloating(leaf->dtype);
         c.Return(std::move(leaf));
       }},
      {"contiguous", RunContiguous},
      {"split",
       [](Call& c) {
         const int axis = c.Axis();
         std::vector<Dim> lengths;
         for (size_t i = 0; i < c.outputs.size(); ++i) lengths.push_back(c.OutShape(i)[axis]);
         c.outputs = Split(c.e, c.In(0), axis, lengths);
       }},
      {"unbind",
       [](Call& c) {
         std::vector<Tensor> parts = Unbind(c.e, c.In(0), c.Axis());
         parts.resize(c.outputs.size());
         c.outputs = std::move(parts);
       }},
  };
}

}  // namespace vramplan::eager
