// Tensor, Storage, GradNode: PyTorch's objects without arithmetic. A Storage is a block of device memory that is freed
// with its last reference; a Tensor is sizes and strides over a storage; a GradNode is one entry of the autograd tape.
//
//   x: [8, 197, 768] contiguous, one storage of 4'841'472 B
//   q = transpose(view(x, [8, 197, 12, 64]), 1, 2): [8, 12, 197, 64], strides (151296, 64, 768, 1), the same storage
//   reshape(q, [96, 197, 64]): no strides can say this: a copy, a second storage
//
// Reference counts are part of the model: the engine adds in place into, and .grad steals, a tensor that nobody else
// holds (torch/csrc/autograd/input_buffer.cpp, functions/accumulate_grad.h). Sizes are polynomials in the batch;
// strides are numbers at the batch that is being laid out, because only decisions depend on them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "graph/base/ref.h"
#include "graph/ir/shape.h"
#include "planner/semantics/memory.h"

namespace vramplan::eager {

class Eager;
class GradNode;
class GradContext;

// A fixed-capacity list of lengths or strides, at the batch. What is copied is what there is.
struct Ints {
  int n = 0;
  std::array<int64_t, Shape::kMaxRank> v;
  Ints() : v{} {}
  Ints(const Ints& other) : n(other.n) { std::copy_n(other.v.begin(), n, v.begin()); }
  Ints& operator=(const Ints& other) {
    n = other.n;
    std::copy_n(other.v.begin(), n, v.begin());
    return *this;
  }
  ~Ints() = default;
  int64_t& operator[](int i) { return v[static_cast<size_t>(i)]; }
  int64_t operator[](int i) const { return v[static_cast<size_t>(i)]; }
  bool operator==(const Ints& other) const;
};

struct StorageImpl : RefCounted<StorageImpl> {
  StorageImpl(Memory* m, BlockId b, SizeExpr s) : memory(m), block(b), bytes(s) {}
  ~StorageImpl() {
    if (block.valid()) memory->Free(block);
  }
  Memory* memory;
  BlockId block;  // invalid: zero bytes, no block
  SizeExpr bytes;
};
using Storage = Ref<StorageImpl>;

// What tensors of the same sizes and strides share: a step has thousands of tensors, and tens of layouts
// (Eager::LayoutOf).
struct Layout : RefCounted<Layout> {
  Layout(const Shape& shape, const Ints& at_batch, const Ints& apart);
  const Shape sizes;
  const Ints lengths;  // sizes at the batch
  const Ints strides;
  const Dim elements;
  const bool contiguous;  // IsContiguous
  const bool dense;       // IsNonOverlappingAndDense
  const bool plain;       // strides are those that an empty tensor of these lengths has
};

// Where one run of the engine keeps what it knows of an entry or a leaf: runs inside a run restore what they found.
struct Visit {
  uint32_t run = 0;  // 0: none
  uint32_t task = 0;
};

struct TensorImpl : RefCounted<TensorImpl> {
  TensorImpl(Storage s, Ref<Layout> laid_out, DType type)
      : storage(std::move(s)),
        dtype(type),
        layout(std::move(laid_out)),
        sizes(layout->sizes),
        lengths(layout->lengths),
        strides(layout->strides) {}

  Storage storage;
  Ref<GradNode> grad_fn;  // of a result of the tape
  Ref<TensorImpl> grad;   // of a leaf, once accumulated
  Ref<TensorImpl> base;   // of a view: what it looks at (DifferentiableViewMeta of autograd/variable.h)
  int output_number = 0;
  DType dtype;
  bool requires_grad = false;     // of a leaf: a parameter
  bool overwritten_view = false;  // the result of an operator that wrote into a view; see Eager::Overwrite
  Visit visit;                    // of a leaf
  const Ref<Layout> layout;
  const Shape& sizes;
  const Ints& lengths;
  const Ints& strides;

  int dim() const { return sizes.rank(); }
  int64_t numel() const;
  bool tracked() const { return requires_grad || static_cast<bool>(grad_fn); }
};
using Tensor = Ref<TensorImpl>;  // null: None

// c10/core/TensorImpl.h: dims of length 1 do not matter, empty tensors are contiguous.
inline bool IsContiguous(const TensorImpl& t) { return t.layout->contiguous; }
// A permutation of a contiguous tensor.
inline bool IsNonOverlappingAndDense(const TensorImpl& t) { return t.layout->dense; }
Ints ContiguousStrides(const Ints& lengths);

// Where a gradient goes: the tape entry that made the tensor, or the leaf itself (then AccumulateGrad).
struct Edge {
  Ref<GradNode> node;
  Tensor leaf;
  int input_number = 0;  // which output of `node` the tensor was
  bool valid() const { return static_cast<bool>(node) || static_cast<bool>(leaf); }
};

// What stands on the tape for a tensor that hooks packed away; the last entry that needs it lets it go.
class PackedTensor : public RefCounted<PackedTensor> {
 public:
  virtual ~PackedTensor() = default;
  // The tensor, for one backward: the second time there is none.
  virtual Tensor Unpack() = 0;
};

// torch.autograd.graph.saved_tensors_hooks: asked about everything that entries of the tape save while they are set
// (Eager::hooks). Numbers of the program are not asked about (torch/csrc/autograd/saved_variable.cpp: wrapped numbers).
class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  // A new entry, of which nothing is saved yet.
  virtual void Recorded() = 0;
  // An operator begins (OpScope), and has run: the name of its entry, whether or not one is made, and its results.
  virtual void BeginCall(const char*) {}
  virtual void EndCall(const char*, const std::vector<Tensor>&) {}
  // Null: the entry keeps *tensor itself, which may have been exchanged.
  virtual Ref<PackedTensor> Pack(Tensor* tensor) = 0;
};

// One entry of the tape. `apply` allocates the gradients of the inputs; saved tensors die when it returned.
class GradNode : public RefCounted<GradNode> {
 public:
  struct OutputFacts {  // of the forward's outputs: what an arriving gradient must look like
    Ref<Layout> layout;
    DType dtype;
  };

  GradNode(const char* node_name, int64_t number) : name(node_name), sequence(number) {}
  ~GradNode();

  // Input: the caller's tensor itself is kept. Output: its storage is kept, not its place on the tape.
  GradNode& Save(const Tensor& input);
  GradNode& SaveOutput(const Tensor& output);
  void Backward(std::function<void(GradContext&)> function) { apply = std::move(function); }

  // Before `apply`: what was packed is there again. After it: what was unpacked was a local of it and dies, before its
  // results are validated; the rest dies with Release (torch/csrc/autograd/engine.cpp: release_variables).
  void Unpack();
  void DropUnpacked();
  void Release();

  const char* name;  // "AddmmBackward0"
  int64_t sequence;  // later entries run first
  int32_t layer = -1;
  Visit visit;
  PooledVector<Edge> edges;  // one per differentiable input
  PooledVector<OutputFacts> outputs;
  PooledVector<Tensor> saved;
  SavedTensorHooks* hooks = nullptr;      // set while the entry is made
  std::vector<Ref<PackedTensor>> packed;  // empty, or one for each of `saved`: null where the tensor itself is kept
  std::function<void()> before;           // a hook of its result: what runs before it
  std::function<void(GradContext&)> apply;
};

// What `apply` sees.
class GradContext {
 public:
  GradContext(Eager& eager, GradNode& grad_node, PooledVector<Tensor>& gradients)
      : e(eager), node(grad_node), grads(gradients), results(grad_node.edges.size()) {}
  const Tensor& grad(int output = 0) const { return grads[static_cast<size_t>(output)]; }
  const Tensor& saved(int i) const { return node.saved[static_cast<size_t>(i)]; }
  bool Needs(int input) const { return node.edges[static_cast<size_t>(input)].valid(); }
  void Set(int input, Tensor gradient) { results[static_cast<size_t>(input)] = std::move(gradient); }

  Eager& e;
  GradNode& node;
  PooledVector<Tensor>& grads;   // of the outputs; null: undefined
  PooledVector<Tensor> results;  // of the inputs
};

}  // namespace vramplan::eager
