#include "planner/semantics/eager.h"

#include <algorithm>
#include <numeric>

namespace vramplan::eager {

Eager::Eager(Memory& memory, const TrainingSpec& spec, int64_t batch, Notes* notes)
    : memory_(memory), spec_(spec), batch_(batch), notes_(notes) {}

DType Eager::ModelType(DType in_file) const { return TypeInRun(in_file, spec_); }

Ints Eager::At(const Shape& sizes) const {
  Ints lengths;
  lengths.n = sizes.rank();
  for (int i = 0; i < lengths.n; ++i) lengths[i] = At(sizes[i]);
  return lengths;
}

BlockId Eager::Allocate(SizeExpr bytes, Category use, SizeExpr most) {
  const bool chosen = most.At(batch_) > bytes.At(batch_);
  if (given_up || (bytes.At(batch_) == Bytes() && !chosen)) return BlockId();
  newest_ = chosen ? memory_.AllocateUpTo(bytes, most, use, origin) : memory_.Allocate(bytes, use, origin);
  return newest_;
}

Storage Eager::NewStorage(SizeExpr bytes, Category use, SizeExpr most) {
  if (given != nullptr) {
    const size_t request = use == Category::kWorkspace ? given->size() : next_given++;
    if (request < given->size() && (*given)[request]) return std::move((*given)[request]);
    return MakeRef<StorageImpl>(&memory_, BlockId(), bytes);
  }
  Storage storage = MakeRef<StorageImpl>(&memory_, Allocate(bytes, use, most), bytes);
  if (noted != nullptr && use != Category::kWorkspace) noted->push_back(storage->block);
  return storage;
}

Tensor Eager::Empty(const Shape& sizes, DType dtype) {
  return NewTensor(LayoutOf(sizes, ContiguousStrides(At(sizes))), dtype);
}

Tensor Eager::EmptyStrided(const Shape& sizes, const Ints& strides, DType dtype) {
  return NewTensor(LayoutOf(sizes, strides), dtype);
}

Tensor Eager::NewTensor(Ref<Layout> layout, DType dtype) {
  const SizeExpr bytes = SizeExpr::Of(dtype, layout->elements);
  return MakeRef<TensorImpl>(NewStorage(bytes, category), std::move(layout), dtype);
}

Ref<Layout> Eager::LayoutOf(const Shape& sizes, const Ints& strides) {
  constexpr uint64_t kPrime = 0x9e3779b97f4a7c15;
  uint64_t hash = 0;
  const auto add = [&hash](int64_t number) { hash = (hash ^ static_cast<uint64_t>(number)) * kPrime; };
  for (int i = 0; i < sizes.rank(); ++i) {
    for (const int64_t number : {sizes[i].c0(), sizes[i].c1(), sizes[i].c2(), strides[i]}) add(number);
  }
  Ref<Layout>& last = layouts_[hash >> 56];
  const bool same = last && last->sizes.rank() == sizes.rank() && last->strides == strides && last->sizes == sizes;
  if (!same) last = MakeRef<Layout>(sizes, At(sizes), strides);
  return last;
}

Tensor Eager::EmptyLike(const Tensor& t, DType dtype) { return EmptyIterator({&t}, dtype); }

Tensor Eager::EmptyAs(const Tensor& t, DType dtype) {
  return IsNonOverlappingAndDense(*t) ? EmptyStrided(t->sizes, t->strides, dtype) : EmptyLike(t, dtype);
}

Storage Eager::Scratch(Bytes bytes, Category use) { return NewStorage(SizeExpr::Constant(bytes), use); }

Storage Eager::ScratchUpTo(Bytes likely, SizeExpr most, Category use) {
  return NewStorage(SizeExpr::Constant(likely), use, most);
}

Tensor Eager::AsStrided(const Tensor& t, const Shape& sizes, const Ints& strides) {
  Tensor view = MakeRef<TensorImpl>(t->storage, LayoutOf(sizes, strides), t->dtype);
  view->base = t->base ? t->base : t;
  return view;
}

Tensor Eager::Alias(const Tensor& t) { return MakeRef<TensorImpl>(t->storage, t->layout, t->dtype); }

Tensor Eager::Overwrite(const Tensor& t) {
  if (!grad_mode)
    return t;  // what is written under no_grad keeps its history (VariableTypeUtils.h, compute_requires_grad)
  overwritten.push_back(t->storage->block);
  // A view of a leaf PyTorch refuses to overwrite (VariableTypeUtils.h, check_inplace): no history is rebased on it.
  if (!t->base || t->base == t || t->base->requires_grad) return Alias(t);
  Tensor view = AsStrided(t, t->sizes, t->strides);
  view->overwritten_view = true;
  return view;
}

namespace {

// TensorIteratorBase::reorder_dimensions: axes from the fastest to the slowest. An axis moves before another when some
// operand says so; strides of 0 (broadcast) say nothing.
std::array<int, Shape::kMaxRank> IterationOrder(const std::vector<Ints>& operand_strides, const Ints& lengths) {
  std::array<int, Shape::kMaxRank> order{};
  const int n = lengths.n;
  for (int i = 0; i < n; ++i) order[static_cast<size_t>(i)] = n - 1 - i;
  const auto should_swap = [&](int a, int b) {  // 1: b goes before a, -1: stay, 0: no operand knows
    for (const Ints& strides : operand_strides) {
      const int64_t sa = strides[a], sb = strides[b];
      if (sa == 0 || sb == 0) continue;
      if (sa < sb) return -1;
      if (sa > sb) return 1;
      if (lengths[a] > lengths[b]) return 1;
    }
    return 0;
  };
  for (int i = 1; i < n; ++i) {  // insertion sort, as there
    int at = i;
    for (int j = i - 1; j >= 0; --j) {
      const int comparison = should_swap(order[static_cast<size_t>(j)], order[static_cast<size_t>(at)]);
      if (comparison > 0) {
        std::swap(order[static_cast<size_t>(j)], order[static_cast<size_t>(at)]);
        at = j;
      } else if (comparison < 0) {
        break;
      }
    }
  }
  return order;
}

}  // namespace

Tensor Eager::EmptyIterator(std::initializer_list<const Tensor*> operands, DType dtype) {
  // One dense operand, or several of one layout: the output has that layout.
  const TensorImpl& first = ***operands.begin();
  bool same = IsNonOverlappingAndDense(first);
  int rank = 0;
  for (const Tensor* t : operands) {
    rank = std::max(rank, (*t)->dim());
    same = same && ((*t)->layout == first.layout || ((*t)->lengths == first.lengths && (*t)->strides == first.strides));
  }
  // compute_fast_setup_type: contiguous where all are, also where axes of length 1 have other strides.
  if (same && IsContiguous(first) && !first.layout->plain) return Empty(first.sizes, dtype);
  if (same) return NewTensor(first.layout, dtype);

  Shape sizes;
  for (int i = 0; i < rank; ++i) {
    Dim length(1);
    for (const Tensor* t : operands) {
      const int axis = i - (rank - (*t)->dim());
      if (axis >= 0 && (*t)->lengths[axis] != 1) length = (*t)->sizes[axis];
    }
    sizes.Append(length);
  }
  const Ints lengths = At(sizes);
  std::vector<Ints> strides;
  for (const Tensor* t : operands) {
    Ints padded;
    padded.n = rank;
    for (int i = 0; i < rank; ++i) {
      const int axis = i - (rank - (*t)->dim());
      padded[i] = axis < 0 || ((*t)->lengths[axis] == 1 && lengths[i] != 1) ? 0 : (*t)->strides[axis];
    }
    strides.push_back(padded);
  }
  const auto order = IterationOrder(strides, lengths);
  Ints out;
  out.n = rank;
  int64_t running = 1;
  for (int k = 0; k < rank; ++k) {
    out[order[static_cast<size_t>(k)]] = running;
    running = SaturatingMultiply(running, std::max<int64_t>(lengths[order[static_cast<size_t>(k)]], 1));
  }
  return EmptyStrided(sizes, out, dtype);
}

Ref<GradNode> Eager::NewNode(const char* name, Tensors inputs) {
  Ref<GradNode> node = MakeRef<GradNode>(name, sequence_++);
  node->layer = origin.layer;
  node->edges.reserve(inputs.size());
  for (const Tensor& input : inputs) {
    Edge& edge = node->edges.emplace_back();
    if (input && input->grad_fn) {
      edge.node = input->grad_fn;
      edge.input_number = input->output_number;
    } else if (input && input->requires_grad) {
      edge.leaf = input;
    }
  }
  return node;
}

GradNode* Eager::Record(const char* name, Tensors inputs, Tensors outputs) {
  if (hooks != nullptr) hooks->EndCall(name, {outputs.begin(), outputs.end()});
  if (!grad_mode) return nullptr;
  if (std::none_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t && t->tracked(); })) return nullptr;
  Ref<GradNode> node = NewNode(name, inputs);
  node->hooks = hooks;
  if (hooks != nullptr) hooks->Recorded();
  int number = 0;
  node->outputs.reserve(outputs.size());
  for (const Tensor& output : outputs) {
    node->outputs.push_back({output->layout, output->dtype});
    if (output->overwritten_view) {
      RebaseHistory(node, output);
      continue;
    }
    output->grad_fn = node;
    output->output_number = number++;
  }
  return node.get();
}

void Eager::RebaseHistory(const Ref<GradNode>& function, const Tensor& view) {
  const Tensor base = view->base;
  const Ref<GradNode> slices = NewNode("torch::autograd::CopySlices", Tensors(&base, 1));
  slices->edges.insert(slices->edges.end(), function->edges.begin() + 1, function->edges.end());
  slices->outputs.push_back({base->layout, base->dtype});
  slices->Backward([function, base_sizes = base->sizes, base_strides = base->strides, sizes = view->sizes,
                    strides = view->strides](GradContext& g) {
    Tensor result = g.e.EmptyStrided(base_sizes, base_strides, g.grad()->dtype);
    PooledVector<Tensor> part = {g.e.EmptyLike(g.e.AsStrided(result, sizes, strides))};
    GradContext inner(g.e, *function, part);
    function->Unpack();
    function->apply(inner);
    function->DropUnpacked();
    for (size_t i = 1; i < inner.results.size(); ++i) g.Set(static_cast<int>(i), std::move(inner.results[i]));
    part.clear();
    inner.results.clear();
    g.node.saved = std::move(function->saved);  // they die with the entry
    g.node.packed = std::move(function->packed);
    g.Set(0, std::move(result));
  });
  base->grad_fn = slices;
  base->output_number = 0;
  const Ref<GradNode> strided = NewNode("AsStridedBackward0", Tensors(&base, 1));
  strided->outputs.push_back({view->layout, view->dtype});
  strided->Backward([base_sizes = base->sizes, base_strides = base->strides](GradContext& g) {
    const Tensor storage = g.e.Empty(Shape{base_sizes.Elements()}, g.grad()->dtype);
    g.Set(0, g.e.AsStrided(storage, base_sizes, base_strides));
  });
  view->grad_fn = strided;
  view->output_number = 0;
  view->overwritten_view = false;
}

}  // namespace vramplan::eager
