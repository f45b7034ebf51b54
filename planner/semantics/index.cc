// Indexing: what is read by number keeps the numbers; its gradient is a tensor of the whole, zeros but for what was
// read.
#include <algorithm>

#include "planner/semantics/embedding.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduce_config.h"
#include "planner/semantics/scatter_reduce.h"
#include "planner/semantics/sort_scratch.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

Tensor Whole(GradContext& g, const Shape& sizes) { return g.e.Empty(sizes, g.grad()->dtype); }

// One new tensor; keeps the numbers; backward makes zeros of the whole and scatters into them.
void ReadByNumber(Call& c, const char* name, const char* entry, bool keeps_self) {
  Eager& e = c.e;
  OpScope scope(e, name);
  const Tensor& x = c.In(0);
  Tensor out = e.Empty(c.OutShape(), x->dtype);
  if (GradNode* node = e.Record(entry, {x}, {out})) {
    node->Save(c.In(1));
    if (keeps_self) node->Save(x);  // gather_backward takes self itself, not its sizes
    node->Backward([sizes = x->sizes](GradContext& g) { g.Set(0, Whole(g, sizes)); });
  }
  c.Return(std::move(out));
}

// Indices broadcast against each other; with several, all are copied unless their strides agree (AdvancedIndex,
// TensorAdvancedIndexing.cpp).
std::vector<Tensor> Broadcast(Eager& e, const std::vector<Tensor>& indices, bool align) {
  Shape sizes;
  for (const Tensor& index : indices) {
    if (index->dim() > sizes.rank() || index->numel() > 1) {
      Shape wider = index->dim() >= sizes.rank() ? index->sizes : sizes;
      const Shape& other = index->dim() >= sizes.rank() ? sizes : index->sizes;
      for (int i = 1; i <= other.rank(); ++i) {
        Dim& axis = wider[wider.rank() - i];
        if (axis.Is(1)) axis = other.FromEnd(i);
      }
      sizes = wider;
    }
  }
  std::vector<Tensor> out;
  for (const Tensor& index : indices) out.push_back(Expand(e, index, sizes));
  bool match = true;
  for (const Tensor& index : out) match = match && index->strides == out[0]->strides;
  if (align && !match) {
    for (Tensor& index : out) index = Contiguous(e, index);
  }
  return out;
}

// _index_put_impl_ with accumulate (cuda/Indexing.cu index_put_with_sort_kernel): one number for each element, sorted.
void IndexPutScratch(Eager& e, const std::vector<Tensor>& indices, const Tensor& value, int64_t addressed) {
  OpScope scope(e, "aten::_index_put_impl_");
  const std::vector<Tensor> expanded = Broadcast(e, indices, false);
  Tensor linear;
  for (const Tensor& index : expanded) {
    Tensor wrapped = e.EmptyLike(index);  // remainder
    const Tensor scaled = e.EmptyLike(index);
    wrapped = Tensor();
    if (!linear) linear = scaled;  // the others are added in place
  }
  const Tensor contiguous = Contiguous(e, value);
  const Tensor sorted = e.EmptyLike(linear), original = e.EmptyLike(linear), range = e.EmptyLike(linear);
  e.Scratch(RadixSortScratch(e.spec().capability, linear->numel(), 8, 8, BitsOf(addressed)));
}

// x[:, i, j]: omitted indices are whole axes.
void Index(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::index");
  const Tensor& x = c.In(0);
  std::vector<Tensor> indices;
  int64_t addressed = 1;
  for (size_t i = 1; i < c.inputs.size(); ++i) {
    if (!c.In(i)) continue;
    indices.push_back(c.In(i));
    if (static_cast<int>(i) <= x->dim()) addressed = SaturatingMultiply(addressed, x->lengths[static_cast<int>(i) - 1]);
  }
  if (indices.empty()) {
    c.Return(e.Alias(x));
    return;
  }
  const bool masks =
      indices[0]->dtype == DType::kBool;  // how many are true only the data knows: the file's shape is taken
  Tensor out;
  {
    std::vector<Tensor> aligned = masks ? indices : Broadcast(e, indices, true);
    out = e.Empty(c.OutShape(), x->dtype);
    while (!aligned.empty()) aligned.pop_back();  // a SmallVector dies from its end
  }
  if (GradNode* node = e.Record("IndexBackward0", {x}, {out})) {
    for (const Tensor& index : indices) node->Save(index);
    node->Backward([sizes = x->sizes, addressed, masks](GradContext& g) {
      Tensor whole = Whole(g, sizes);
      if (!masks) IndexPutScratch(g.e, {g.node.saved.begin(), g.node.saved.end()}, g.grad(), addressed);
      g.Set(0, std::move(whole));
    });
  }
  c.Return(std::move(out));
}

// scatter: a copy of self with src written into it. Backward: grad.scatter(index, 0) for self, grad.gather(index) for
// src.
void Scatter(Call& c, bool adds) {
  Eager& e = c.e;
  OpScope scope(e, adds ? "aten::scatter_add" : "aten::scatter");
  const Tensor &x = c.In(0), &index = c.In(1), &source = c.In(2);
  Tensor out = c.InPlace() ? e.Overwrite(x) : e.EmptyLike(x);
  if (GradNode* node = e.Record(adds ? "ScatterAddBackward0" : "ScatterBackward0", {x, source}, {out})) {
    node->Save(index);
    node->Backward([adds](GradContext& g) {
      if (g.Needs(0)) g.Set(0, adds ? g.grad() : g.e.EmptyLike(g.grad()));
      if (g.Needs(1)) g.Set(1, g.e.Empty(g.saved(0)->sizes, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

// slice_scatter, select_scatter: a copy of self with src written into it; the gradient of self is a copy with zeros
// written into it. That of src is a view.
void Overwrite(Call& c, const char* name, const char* entry) {
  Eager& e = c.e;
  OpScope scope(e, name);
  const Tensor& x = c.In(0);
  const Tensor& source = c.In(1);
  Tensor out = e.EmptyLike(x);
  if (GradNode* node = e.Record(entry, {x, source}, {out})) {
    node->Backward([sizes = source ? source->sizes : Shape()](GradContext& g) {
      if (g.Needs(0)) {
        const Tensor zeros = g.e.Empty(sizes, g.grad()->dtype);
        g.Set(0, g.e.EmptyLike(g.grad()));
      }
      if (!g.Needs(1)) return;
      Ints strides = ContiguousStrides(g.e.At(sizes));  // of a part of the whole: not dense
      if (strides.n > 0) strides[0] = std::max(strides[0], g.grad()->strides[0]);
      g.Set(1, g.e.AsStrided(g.grad(), sizes, strides));
    });
  }
  c.Return(std::move(out));
}

// index_put: the same by number. With accumulate (derivatives.yaml 2.10, index_put) the gradient of self is the one
// that came; that of the values is what it has there.
void IndexPut(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::index_put");
  const Tensor& x = c.In(0);
  const Tensor& source = c.In(c.inputs.size() - 1);
  const bool adds = c.Int("accumulate") != 0;
  std::vector<Tensor> indices;
  int64_t addressed = 1;
  for (size_t i = 1; i + 1 < c.inputs.size(); ++i) {
    if (!c.In(i)) continue;
    indices.push_back(c.In(i));
    if (static_cast<int>(i) <= x->dim()) addressed = SaturatingMultiply(addressed, x->lengths[static_cast<int>(i) - 1]);
  }
  Tensor out = c.InPlace() ? e.Overwrite(x) : e.EmptyLike(x);
  const bool sorts = adds && source && !indices.empty() && indices[0]->dtype != DType::kBool;
  if (sorts) IndexPutScratch(e, indices, source, addressed);
  if (GradNode* node = e.Record("IndexPutBackward0", {x, source}, {out})) {
    for (const Tensor& index : indices) node->Save(index);
    node->Backward([sizes = source ? source->sizes : Shape(), adds](GradContext& g) {
      if (g.Needs(0) && adds) g.Set(0, g.grad());
      if (g.Needs(0) && !adds) {
        const Tensor zeros = g.e.Empty(sizes, g.grad()->dtype);
        g.Set(0, g.e.EmptyLike(g.grad()));
      }
      if (g.Needs(1)) g.Set(1, g.e.Empty(sizes, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

// x[a:b] op= source, as one call: views of x, then the operator in place; nothing is new but what the operator keeps of
// the part as it was. On the tape a CopySlices (autograd/functions/tensor.cpp): the whole gradient is copied, then the
// part, which the operator's own entry works on, and whose gradient is copied back. A third operand has the part's size.
void WritePart(Call& c) {
  Eager& e = c.e;
  const Tensor &x = c.In(0), &source = c.In(1), &part = c.In(2);
  const std::string update = c.layer.attributes.Text("update", "copy");
  if (x->requires_grad || e.spec().inplace == Inplace::kOff) {  // a leaf cannot be written
    Overwrite(c, "aten::slice_scatter", "SliceScatterBackward0");
    return;
  }
  OpScope scope(e, "aten::copy_");
  if (!e.grad_mode) return c.Return(x);  // its history stays
  Tensor out = e.Alias(x);
  const Shape sizes = part ? part->sizes : source ? source->sizes : Shape();
  if (GradNode* node = e.Record("torch::autograd::CopySlices", {x, source}, {out})) {
    const bool scales = update == "mul" && source;
    if (scales) {
      node->Save(x->tracked() ? source : Tensor());
      node->Save(source->tracked() && part ? e.Empty(sizes, x->dtype) : Tensor());
    }
    const bool overwrites = update == "copy" || update == "fill";
    node->Backward([sizes, overwrites, scales](GradContext& g) {
      Tensor whole = g.e.EmptyLike(g.grad());
      const auto made = [&] { return sizes.rank() > 0 ? g.e.Empty(sizes, g.grad()->dtype) : Tensor(); };
      Tensor slice = made();
      const bool multiplies = scales && g.saved(1);
      Tensor of_source = multiplies ? made() : g.Needs(1) ? slice : Tensor();
      const Tensor of_part = overwrites || multiplies ? made() : Tensor();
      slice = Tensor();
      if (g.Needs(1)) g.Set(1, std::move(of_source));
      g.Set(0, std::move(whole));
    });
  }
  c.Return(std::move(out));
}

// sort (cuda/Sort.cpp): up to 4096 elements in place with a range of numbers; longer rows by radix sort over
// everything, then by row.
void SortScratch(Eager& e, const Tensor& x, int axis, const Tensor&) {
  constexpr int64_t kSmall = 4096;
  const int64_t length = x->lengths[axis], items = x->numel();
  const Capability card = e.spec().capability;
  const int width = std::max(BitWidth(x->dtype) / 8, 1);
  const int64_t rows = length == 0 ? 0 : items / length;
  if (length <= kSmall || rows == 1) {
    const Tensor range = e.Empty(Shape{x->sizes[axis]}, DType::kInt64);
    if (length > kSmall) e.Scratch(RadixSortScratch(card, items, width, 8, 8 * width));
    return;
  }
  const Tensor places = e.Empty(x->sizes, DType::kInt64), sorted_places = e.Empty(x->sizes, DType::kInt64);
  {
    const Tensor keys = e.Empty(x->sizes, x->dtype);
    e.Scratch(RadixSortScratch(card, items, width, 8, 8 * width));
  }
  e.Scratch(RadixSortScratch(card, items, 8, 8, BitsOf(rows)));
}

// topk (cuda/TensorTopK.cu, sbtopk and mbtopk): many blocks of threads for a long row; the winners are then sorted.
void TopKScratch(Eager& e, const Tensor& x, int axis, const Tensor& values) {
  const int64_t length = x->lengths[axis], rows = length == 0 ? 0 : x->numel() / length;
  struct Limit {
    int64_t most_rows, shortest;
  };
  constexpr Limit kLimits[] = {{20, 20000}, {40, 10000}, {80, 8000}, {199, 5000}, {799, 3000}, {4000, 800}};
  int64_t shortest = 400;
  for (auto limit = std::rbegin(kLimits); limit != std::rend(kLimits); ++limit) {
    if (rows <= limit->most_rows) shortest = limit->shortest;
  }
  if (rows > 0 && length >= shortest) {
    constexpr int64_t kThreads = 256, kBlocksPerProcessor = 6;  // 40 registers a thread
    const int64_t at_once = CardOf(e.spec()).multiprocessors * kBlocksPerProcessor * kThreads;
    const int64_t items = std::clamp<int64_t>((length * rows + at_once - 1) / at_once, 4, 64) * kThreads;
    const int64_t blocks = (length + items - 1) / items * rows;
    const int64_t width = std::max(BitWidth(x->dtype) / 8, 1);
    const Bytes one = Bytes::Of(1);
    const Storage kth = e.Scratch(one * (width * rows)), semaphores = e.Scratch(one * (8 * rows));
    const Storage find = e.Scratch(one * (8 * rows)), counts = e.Scratch(one * (512 * blocks));
    const Storage digits = e.Scratch(one * (1024 * rows));
    const Storage within = e.Scratch(one * (4 * blocks)), equal = e.Scratch(one * (4 * blocks));
    for (int scan = 0; scan < 2; ++scan) e.Scratch(ScanByKeyScratch(blocks));
  }
  constexpr int64_t kSmall = 4096;
  if (values->lengths[axis] > kSmall) {
    const Tensor places = e.Empty(values->sizes, DType::kInt64), copy = e.EmptyLike(values);
    SortScratch(e, values, axis, values);
    const Tensor gathered = e.Empty(values->sizes, DType::kInt64);
  }
}

// Values and int64 places; keeps the places. Backward: zeros of the whole (value_selecting_reduction_backward).
void SelectValues(Call& c, const char* name, const char* entry,
                  void (*scratch)(Eager&, const Tensor&, int, const Tensor&)) {
  Eager& e = c.e;
  OpScope scope(e, name);
  const Tensor& x = c.In(0);
  const Shape sizes = c.OutShape();
  Tensor values = e.Empty(sizes, x->dtype);
  Tensor places = e.Empty(sizes, DType::kInt64);
  if (scratch != nullptr && x->dim() > 0)
    scratch(e, x, c.layer.attributes.Has("dim") ? c.Axis() : x->dim() - 1, values);
  if (GradNode* node = e.Record(entry, {x}, {values})) {
    node->Save(places);
    node->Backward([whole = x->sizes](GradContext& g) { g.Set(0, Whole(g, whole)); });
  }
  if (c.outputs.size() > 1) c.Return(std::move(places), 1);
  c.Return(std::move(values));
}
void SelectAlongAxis(Call& c, const char* name, const char* entry) { SelectValues(c, name, entry, nullptr); }

// index_add, index_copy, index_fill along one axis. self: the gradient itself, or filled with 0 where it was written;
// source: what the gradient has there.
enum class Writes : uint8_t { kAdds, kCopies, kFills };
template <Writes how>
void WriteByNumber(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::index_add");
  const Tensor &x = c.In(0), &index = c.In(1);
  const Tensor source = how == Writes::kFills ? Tensor() : c.In(2);
  // Both have one type (TensorAdvancedIndexing.cpp 2.10, TORCH_CHECK in index_add): under autocast, self was made in
  // that of the source.
  const DType type = source ? source->dtype : x->dtype;
  Tensor out = c.Int("inplace") != 0 && !x->requires_grad ? e.Overwrite(x) : e.EmptyLike(x, type);
  if (GradNode* node = e.Record("IndexAddBackward0", {x, source}, {out})) {
    node->Save(index).Save(source);
    node->Backward([](GradContext& g) {
      if (g.Needs(0)) g.Set(0, how == Writes::kAdds ? g.grad() : g.e.EmptyLike(g.grad()));
      if (g.Needs(1)) g.Set(1, g.e.Empty(g.saved(1)->sizes, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

// cummax, cummin: as a choice along an axis, but the whole operand is kept, too (derivatives.yaml 2.10,
// cummaxmin_backward(grad, self, indices, dim): zeros, into which the gradient is added by number).
void RunningChoice(Call& c) {
  OpScope scope(c.e, "aten::cummax");
  const Tensor& x = c.In(0);
  Tensor values = c.e.Empty(x->sizes, x->dtype), places = c.e.Empty(x->sizes, DType::kInt64);
  if (GradNode* node = c.e.Record("CummaxBackward0", {x}, {values})) {
    node->Save(x).Save(places);
    node->Backward([](GradContext& g) { g.Set(0, g.e.Empty(g.saved(0)->sizes, g.grad()->dtype)); });
  }
  if (c.outputs.size() > 1) c.Return(std::move(places), 1);
  c.Return(std::move(values));
}

void Argsort(Call& c) {
  OpScope scope(c.e, "aten::argsort");
  const Tensor& x = c.In(0);
  const Tensor values = c.e.Empty(x->sizes, x->dtype);
  Tensor places = c.e.Empty(x->sizes, DType::kInt64);
  if (x->dim() > 0) SortScratch(c.e, x, c.layer.attributes.Has("dim") ? c.Axis() : x->dim() - 1, values);
  c.Return(std::move(places));
}

void Flip(Call& c) {
  const Tensor& x = c.In(0);
  Tensor out = c.e.EmptyLike(x);
  if (GradNode* node = c.e.Record("FlipBackward0", {x}, {out})) {
    node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.grad())); });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> IndexRules() {
  return {
      {"embedding", [](Call& c) { c.Return(Embedding(c.e, c.In(0), c.In(1), c.Int("scale_grad_by_freq") != 0)); }},
      {"gather", [](Call& c) { ReadByNumber(c, "aten::gather", "GatherBackward0", true); }},
      {"index_select", [](Call& c) { ReadByNumber(c, "aten::index_select", "IndexSelectBackward0", false); }},
      {"index", Index},
      {"scatter", [](Call& c) { Scatter(c, false); }},
      {"scatter_add", [](Call& c) { Scatter(c, true); }},
      {"scatter_reduce", ScatterReduce},
      {"slice_scatter",
       [](Call& c) {
         if (c.Int("inplace") != 0) return WritePart(c);
         Overwrite(c, "aten::slice_scatter", "SliceScatterBackward0");
       }},
      {"select_scatter", [](Call& c) { Overwrite(c, "aten::select_scatter", "SelectScatterBackward0"); }},
      {"index_put", IndexPut},
      {"topk", [](Call& c) { SelectValues(c, "aten::topk", "TopkBackward0", TopKScratch); }},
      {"sort", [](Call& c) { SelectValues(c, "aten::sort", "SortBackward0", SortScratch); }},
      {"argsort", Argsort},
      {"cummax", RunningChoice},
      {"cummin", RunningChoice},
      {"median", [](Call& c) { SelectAlongAxis(c, "aten::median", "MedianBackward1"); }},
      {"kthvalue", [](Call& c) { SelectAlongAxis(c, "aten::kthvalue", "KthvalueBackward0"); }},
      {"mode", [](Call& c) { SelectAlongAxis(c, "aten::mode", "ModeBackward0"); }},
      {"index_add", WriteByNumber<Writes::kAdds>},
      {"index_copy", WriteByNumber<Writes::kCopies>},
      {"index_fill", WriteByNumber<Writes::kFills>},
      {"bucketize", [](Call& c) { c.Return(c.e.Empty(c.OutShape(), DType::kInt64)); }},
      {"one_hot", [](Call& c) { c.Return(c.e.Empty(c.OutShape(), DType::kInt64)); }},
      {"flip", Flip},
  };
}

}  // namespace vramplan::eager
