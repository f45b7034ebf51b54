#include <algorithm>
#include <numeric>

#include "planner/semantics/autocast.h"
#include "planner/semantics/concat.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {

Ints ChannelsLastStrides(const Ints& lengths) {
  Ints strides;
  strides.n = lengths.n;
  strides[1] = 1;
  int64_t running = std::max<int64_t>(lengths[1], 1);
  for (int i = lengths.n - 1; i >= 2; --i) {
    strides[i] = running;
    running *= std::max<int64_t>(lengths[i], 1);
  }
  strides[0] = running;
  return strides;
}

bool IsChannelsLast(const TensorImpl& t) {
  if (t.dim() != 4 && t.dim() != 5) return false;
  int64_t least = 0;
  if (t.strides[1] == 0) return false;
  std::array<int, 5> order = {1, t.dim() - 1, t.dim() - 2, t.dim() == 5 ? 2 : 0, 0};
  for (int k = 0; k < t.dim(); ++k) {
    const int axis = order[static_cast<size_t>(k)];
    if (t.lengths[axis] == 0 || t.strides[axis] < least) return false;
    // N111 tensors are ambiguous: contiguous wins.
    if (axis == 0 && least == t.strides[1]) return false;
    least = t.strides[axis];
    if (t.lengths[axis] > 1) least *= t.lengths[axis];
  }
  return true;
}

Tensor ContiguousIn(Eager& e, const Tensor& t, bool channels_last) {
  if (!channels_last) return IsContiguous(*t) ? t : e.Empty(t->sizes, t->dtype);
  const Ints strides = ChannelsLastStrides(t->lengths);
  bool there = true;
  for (int i = 0; i < t->dim(); ++i) there = there && (t->lengths[i] == 1 || t->strides[i] == strides[i]);
  return there ? t : e.EmptyStrided(t->sizes, strides, t->dtype);
}

Tensor Cat(Eager& e, const std::vector<Tensor>& parts, int axis, DType least) {
  OpScope scope(e, "aten::cat");
  Shape sizes = parts.front()->sizes;
  DType type = parts.front()->dtype;
  if (IsFloating(type) && BitWidth(least) > BitWidth(type)) type = least;
  Dim length(0);
  bool channels_last = true;  // at::cat keeps the layout that all inputs agree on (compute_output_memory_format)
  for (const Tensor& part : parts) {
    length = length + part->sizes[axis];
    type = IsFloating(part->dtype) && BitWidth(part->dtype) > BitWidth(type) ? part->dtype : type;
    channels_last = channels_last && IsChannelsLast(*part) && !IsContiguous(*part);
  }
  sizes[axis] = length;
  Tensor out = channels_last ? e.EmptyStrided(sizes, ChannelsLastStrides(e.At(sizes)), type) : e.Empty(sizes, type);
  if (GradNode* node = e.Record("CatBackward0", parts, std::vector<Tensor>{out})) {
    std::vector<Dim> lengths;
    for (const Tensor& part : parts) lengths.push_back(part->sizes[axis]);
    node->Backward([axis, lengths](GradContext& g) {  // cat_tensors_backward: narrow
      for (size_t i = 0; i < lengths.size(); ++i) {
        if (!g.Needs(static_cast<int>(i))) continue;
        g.Set(static_cast<int>(i), Slice(g.e, g.grad(), axis, lengths[i], 1));
      }
    });
  }
  return out;
}

Tensor Stack(Eager& e, const std::vector<Tensor>& parts, int axis) {
  std::vector<Tensor> unsqueezed;
  for (const Tensor& part : parts) {
    Shape sizes = part->sizes;
    sizes.Insert(axis, Dim(1));
    unsqueezed.push_back(Squeeze(e, part, sizes));
  }
  return Cat(e, unsqueezed, axis);
}

namespace {

// One new tensor forward, one new tensor of the input's sizes backward, nothing saved.
void CopyOut(Call& c, const char* name) {
  const Tensor& x = c.In(0);
  Tensor out = c.e.Empty(c.OutShape(), x->dtype);
  if (GradNode* node = c.e.Record(name, {x}, {out})) {
    node->Backward([sizes = x->sizes](GradContext& g) { g.Set(0, g.e.Empty(sizes, g.grad()->dtype)); });
  }
  c.Return(std::move(out));
}

// roll along several axes rolls one after the other (TensorTransformations.cpp roll_common).
Tensor RollKernel(Eager& e, const Tensor& x, size_t axes) {
  Tensor out = e.Empty(x->sizes, x->dtype);
  for (size_t i = 1; i < axes; ++i) out = e.Empty(x->sizes, x->dtype);
  return out;
}

void Roll(Call& c) {
  OpScope scope(c.e, "aten::roll");
  const size_t axes = std::max<size_t>(c.Ints("dims").size(), 1);
  Tensor out = RollKernel(c.e, c.In(0), axes);
  if (GradNode* node = c.e.Record("RollBackward0", {c.In(0)}, {out})) {
    node->Backward([axes](GradContext& g) {
      OpScope backward(g.e, "aten::roll");
      g.Set(0, RollKernel(g.e, g.grad(), axes));
    });
  }
  c.Return(std::move(out));
}

void Repeat(Call& c) {
  OpScope scope(c.e, "aten::repeat");
  const Tensor& x = c.In(0);
  Tensor out = c.e.Empty(c.OutShape(), x->dtype);
  if (GradNode* node = c.e.Record("RepeatBackward0", {x}, {out})) {
    // repeat_backward: the copies of every axis become an axis of their own, and are summed.
    node->Backward([sizes = x->sizes, lengths = x->lengths](GradContext& g) {
      struct Part {
        Dim length;
        bool summed;
      };
      std::vector<Part> parts;
      const int leading = g.grad()->dim() - sizes.rank();
      for (int i = 0; i < g.grad()->dim(); ++i) {
        const int from = i - leading;
        if (from < 0) {
          parts.push_back({g.grad()->sizes[i], true});
          continue;
        }
        if (lengths[from] != g.grad()->lengths[i])
          parts.push_back({DivideExactly(g.grad()->sizes[i], sizes[from]).value_or(Dim(1)), true});
        parts.push_back({sizes[from], false});
      }
      const bool coalesce = static_cast<int>(parts.size()) > Shape::kMaxRank;  // kept axes side by side as one
      Shape split;
      std::vector<int> axes;
      bool before_is_summed = false;
      for (const Part& part : parts) {
        if (coalesce && part.length.Is(1)) continue;
        if (coalesce && split.rank() > 0 && part.summed == before_is_summed) {
          split[split.rank() - 1] = split[split.rank() - 1] * part.length;
          continue;
        }
        if (split.rank() == Shape::kMaxRank) {  // five axes repeated and more: the sum alone
          g.Set(0, g.e.Empty(sizes, g.grad()->dtype));
          return;
        }
        before_is_summed = part.summed;
        if (part.summed) axes.push_back(split.rank());
        split.Append(part.length);
      }
      if (axes.empty()) {
        g.Set(0, g.grad());
        return;
      }
      Tensor sum = SumKernel(g.e, Reshape(g.e, g.grad(), split), axes, false);
      g.Set(0, coalesce ? Reshape(g.e, sum, sizes) : sum);
    });
  }
  c.Return(std::move(out));
}

// repeat_interleave by one number (aten/src/ATen/native/Repeat.cpp 2.10, repeat_interleave_symint): unsqueeze, expand,
// clone, flatten. Without an axis it flattens first.
void RepeatInterleave(Call& c) {
  Eager& e = c.e;
  if (c.In(0)->dim() == Shape::kMaxRank) return Repeat(c);  // no axis is left for the copies
  OpScope scope(e, "aten::repeat_interleave");
  Tensor x = c.In(0);
  const Shape out = c.OutShape();
  if (!c.layer.attributes.Has("dim")) x = Reshape(e, x, Shape{x->sizes.Elements()});
  const int axis = c.layer.attributes.Has("dim") ? static_cast<int>(c.Int("dim")) : 0;
  Shape unsqueezed = x->sizes;
  unsqueezed.Insert(axis + 1, Dim(1));
  Shape expanded = unsqueezed;
  expanded[axis + 1] = DivideExactly(out[axis], x->sizes[axis]).value_or(Dim(1));
  c.Return(Reshape(e, Clone(e, Expand(e, Squeeze(e, x, unsqueezed), expanded)), out));
}

// im2col and col2im (cuda/Im2Col.cu, Col2Im.cu) begin with an output of the input's size, which they resize: the
// storage is only made anew where it must grow. A strided input is copied.
Tensor ColumnsKernel(Eager& e, const Tensor& x, const Shape& sizes) {
  Tensor out = e.Empty(x->sizes, x->dtype);
  const Tensor contiguous = ContiguousIn(e, x, false);
  const Bytes there = out->storage->bytes.At(e.batch());
  if (SizeExpr::Of(x->dtype, sizes.Elements()).At(e.batch()) > there) {
    Tensor grown = e.Empty(sizes, x->dtype);
    out = Tensor();
    return grown;
  }
  Tensor resized = e.AsStrided(out, sizes, ContiguousStrides(e.At(sizes)));
  resized->base = Tensor();
  return resized;
}

template <bool folds>
void RunColumns(Call& c) {
  OpScope scope(c.e, folds ? "aten::col2im" : "aten::im2col");
  const Tensor& x = c.In(0);
  Tensor out = ColumnsKernel(c.e, x, c.OutShape());
  if (GradNode* node = c.e.Record(folds ? "Col2ImBackward0" : "Im2ColBackward0", {x}, {out})) {
    node->Backward([sizes = x->sizes](GradContext& g) { g.Set(0, ColumnsKernel(g.e, g.grad(), sizes)); });
  }
  c.Return(std::move(out));
}

}  // namespace

namespace {

// transformers, modeling_t5.py, T5Block: if the states are fp16,
// clamp(x, min=-limit, max=limit) with limit = where(isinf(x).any(), max - 1000, max). Keeps x and both limits.
void ClampInf(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  if (x->dtype != DType::kFloat16) return c.Return(x);
  OpScope scope(e, "aten::clamp");
  Tensor high;
  {
    Tensor magnitude = e.EmptyLike(x);
    Tensor infinite = e.EmptyLike(x, DType::kBool);
    magnitude = Tensor();
    const Tensor any = e.Empty(Shape(), DType::kBool);
    infinite = Tensor();
    const Tensor a = e.Empty(Shape(), DType::kFloat32), b = e.Empty(Shape(), DType::kFloat32);
    high = e.Empty(Shape(), DType::kFloat32);
  }
  const Tensor low = e.Empty(Shape(), DType::kFloat32);
  Tensor out = e.EmptyLike(x);
  if (GradNode* node = e.Record("ClampBackward0", {x}, {out})) {
    node->Save(high).Save(low).Save(x);
    node->Backward([](GradContext& g) {  // where((self >= min) & (self <= max), grad, 0)
      const Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
      const Tensor above = g.e.EmptyLike(g.saved(2), DType::kBool), below = g.e.EmptyLike(g.saved(2), DType::kBool);
      g.Set(0, g.e.EmptyLike(g.grad()));
    });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> CopyRules() {
  return {
      // With a part without elements that autocast left in fp32, which only its type tells.
      {"cat",
       [](Call& c) {
         const DType type = c.In(0)->dtype;
         c.Return(Cat(c.e, c.inputs, c.Axis(), TypeMade(c, type)));
       }},
      {"stack", [](Call& c) { c.Return(Stack(c.e, c.inputs, c.Axis("dim", 1))); }},
      {"roll", Roll},
      {"repeat", Repeat},
      {"repeat_interleave", RepeatInterleave},
      {"clone",
       [](Call& c) {
         c.Return(c.Int("channels_last") != 0 ? CloneChannelsLast(c.e, c.In(0))
                                              : Clone(c.e, c.In(0), c.Int("preserve") != 0));
       }},
      {"to",
       [](Call& c) {
         const DType type = c.e.ModelType(c.OutType());
         c.Return(ToType(c.e, c.In(0), type));
       }},
      // x.float() and x.type_as(y): nothing where the type is the same already.
      {"float",
       [](Call& c) {
         const DType type = c.In(0)->dtype;
         const bool converts = type == DType::kFloat16 || type == DType::kBFloat16 || !IsFloating(type);
         c.Return(converts ? ToType(c.e, c.In(0), DType::kFloat32) : c.In(0));
       }},
      // x.to(y.dtype) of what autocast made lower; in a model of halves, that of the model.
      {"half",
       [](Call& c) {
         const DType type = LowerType(c.e);
         c.Return(c.In(0)->dtype == type ? c.In(0) : ToType(c.e, c.In(0), type));
       }},
      {"clamp_inf", ClampInf},
      {"type_as", [](Call& c) { c.Return(c.Has(1) ? ToType(c.e, c.In(0), c.In(1)->dtype) : c.In(0)); }},
      {"pixel_shuffle", [](Call& c) { CopyOut(c, "PixelShuffleBackward0"); }},
      {"pixel_unshuffle", [](Call& c) { CopyOut(c, "PixelUnshuffleBackward0"); }},
      {"channel_shuffle", [](Call& c) { CopyOut(c, "ChannelShuffleBackward0"); }},
      {"im2col", RunColumns<false>},
      {"col2im", RunColumns<true>},
      {"tril", [](Call& c) { CopyOut(c, "TrilBackward0"); }},
      {"triu", [](Call& c) { CopyOut(c, "TriuBackward0"); }},
  };
}

namespace {

// A tensor like another one has its type, fp16 under autocast where that is (graph/programs/aten.cc).
void Create(Call& c) {
  DType type = c.e.ModelType(c.OutType());
  if (IsFloating(type) && c.Has(0) && IsFloating(c.In(0)->dtype)) type = c.In(0)->dtype;
  type = TypeMade(c, type);
  // zeros_like keeps strides (aten/src/ATen/native/TensorFactories.cpp, empty_like: MemoryFormat::Preserve).
  const bool keeps = c.Int("like_layout") != 0 && c.Has(0) && c.In(0)->sizes == c.OutShape();
  c.Return(keeps ? c.e.EmptyLike(c.In(0), type) : c.e.Empty(c.OutShape(), type));
}

}  // namespace

std::vector<OpRule> CreationRules() {
  return {
      {"arange", [](Call& c) { c.Return(c.e.Empty(c.OutShape(), TypeMade(c, c.e.ModelType(c.OutType())))); }},
      {"zeros", Create},
      {"ones", Create},
      {"full", Create},
      {"empty", Create},
  };
}

}  // namespace vramplan::eager
