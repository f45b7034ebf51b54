// Eager: one process of PyTorch eager on one card, without the arithmetic.
// It allocates, keeps the tape, and remembers which library handles exist. The rules of this folder call it as
// PyTorch's own operators call ATen.
//
//   Tensor Relu(Eager& e, const Tensor& x) {
//     Tensor y = e.EmptyLike(x);                                   // one block
//     if (GradNode* node = e.Record("ReluBackward0", {x}, {y})) {  // null when no input requires a gradient
//       // derivatives.yaml: relu: threshold_backward(grad, result, 0)
//       node->SaveOutput(y);
//       node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.saved(0))); });
//     }
//     return y;
//   }
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <utility>

#include "graph/base/note.h"
#include "planner/semantics/tensor.h"
#include "planner/spec/spec.h"

namespace vramplan::eager {

// Who gathers parameters that this process has a part of, where a rule takes one: DeepSpeed's stage 3.
class ParameterOwner {
 public:
  virtual ~ParameterOwner() = default;
  // False: it is whole. Else it is, until Partition.
  virtual bool Gather(TensorImpl& parameter) = 0;
  virtual void Partition(TensorImpl& parameter) = 0;
};

class Eager {
 public:
  Eager(Memory& memory, const TrainingSpec& spec, int64_t batch, Notes* notes);

  const TrainingSpec& spec() const { return spec_; }
  int64_t batch() const { return batch_; }
  Notes* notes() const { return notes_; }

  // New contiguous tensor. The size of an unknown shape saturates, so that a plan with it does not fit.
  Tensor Empty(const Shape& sizes, DType dtype);
  Tensor EmptyStrided(const Shape& sizes, const Ints& strides, DType dtype);
  // torch.empty_like: the same strides when dense, else those of a permutation-preserving copy (c10
  // infer_dense_strides).
  Tensor EmptyLike(const Tensor& t) { return EmptyLike(t, t->dtype); }
  Tensor EmptyLike(const Tensor& t, DType dtype);
  // The same with all strides of a dense tensor, also those of axes of length 1, which tell a convolution of pooled
  // images its layout: a pointwise kernel makes those anew, to() and clone() do not.
  Tensor EmptyAs(const Tensor& t, DType dtype);
  // Output of a pointwise operator over these operands (aten/src/ATen/TensorIterator.cpp): broadcast sizes, the
  // operands' layout.
  Tensor EmptyIterator(std::initializer_list<const Tensor*> operands, DType dtype);
  // A block without a tensor: scratch that is freed with the returned reference. Zero bytes take no block.
  Storage Scratch(Bytes bytes, Category category = Category::kTemporaries);
  // The same where a library chooses the size.
  Storage ScratchUpTo(Bytes likely, SizeExpr most, Category category);
  // A view of the same storage, not on the tape. It holds its base, also in the backward, so that a gradient which is a
  // view is never added to in place.
  Tensor AsStrided(const Tensor& t, const Shape& sizes, const Ints& strides);
  // Another tensor of the same storage that holds no base: detach.
  Tensor Alias(const Tensor& t);
  // The result of an operator that writes into `t`. Where `t` is a view, Record puts the write on its base's history
  // (rebase_history, autograd/variable.cpp): the entry runs inside a CopySlices, which first copies the whole gradient
  // of the base and then its part (autograd/functions/tensor.cpp), and the view's own gradient comes through an
  // AsStridedBackward0, which makes one of the base's size.
  Tensor Overwrite(const Tensor& t);
  Ints At(const Shape& sizes) const;
  DType ModelType(DType in_file) const;
  int64_t At(Dim dim) const { return dim.known() ? dim.At(batch_) : 0; }

  // Puts an entry on the tape and makes `outputs` its results; null when no input is tracked or gradients are off. Null
  // inputs are allowed and take an edge.
  GradNode* Record(const char* name, std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs) {
    return Record(name, Tensors(inputs.begin(), inputs.size()), Tensors(outputs.begin(), outputs.size()));
  }
  GradNode* Record(const char* name, std::initializer_list<Tensor> inputs, const std::vector<Tensor>& outputs) {
    return Record(name, Tensors(inputs.begin(), inputs.size()), Tensors(outputs));
  }
  GradNode* Record(const char* name, const std::vector<Tensor>& inputs, std::initializer_list<Tensor> outputs) {
    return Record(name, Tensors(inputs), Tensors(outputs.begin(), outputs.size()));
  }
  GradNode* Record(const char* name, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs) {
    return Record(name, Tensors(inputs), Tensors(outputs));
  }
  bool grad_mode = true;
  // What happens when a tensor is saved; null: it is kept.
  SavedTensorHooks* hooks = nullptr;
  // While this is true nothing is allocated, because the running operator is abandoned (torch/utils/checkpoint.py stops
  // a recomputation with an exception, which would leave the operator at this point).
  bool given_up = false;
  // Selective checkpoints (timeline/selective.h): the blocks of the running operator, except library workspaces, are
  // recorded in `noted`, or taken in order from `given` instead of being allocated. Null: neither.
  std::vector<BlockId>* noted = nullptr;
  std::vector<Storage>* given = nullptr;
  size_t next_given = 0;
  // Some layer was read wrong, and the note about it is there (table.cc).
  bool told_parting = false;
  uint32_t engine_runs = 0;  // so far; see Visit
  // register_post_accumulate_grad_hook of every leaf; null: none.
  std::function<void(TensorImpl&)> accumulated;
  ParameterOwner* owner = nullptr;  // null: parameters are whole
  // What is saved is saved when the operator has run, as a torch.autograd.Function does it.
  bool saves_at_end = false;
  // Blocks that operators wrote into, in this forward.
  std::vector<BlockId> overwritten;
  // The block allocated last. Blocks with a larger id were allocated later.
  BlockId newest() const { return newest_; }

  // Library handles (planner/semantics/blas.h): blocks that outlive the operator which first needed them, by thread.
  enum class Thread : uint8_t { kMain, kAutograd };
  Thread thread = Thread::kMain;
  std::map<std::string, Storage> handles;

  // Layer and operator to which the next blocks belong.
  Origin origin;
  Category category = Category::kActivations;

 private:
  BlockId Allocate(SizeExpr bytes, Category use, SizeExpr most);
  Tensor NewTensor(Ref<Layout> layout, DType dtype);
  // The one that tensors of these sizes and strides have, unless another took its place since.
  Ref<Layout> LayoutOf(const Shape& sizes, const Ints& strides);
  Storage NewStorage(SizeExpr bytes, Category use, SizeExpr most = {});
  using Tensors = std::span<const Tensor>;
  GradNode* Record(const char* name, Tensors inputs, Tensors outputs);
  Ref<GradNode> NewNode(const char* name, Tensors inputs);
  void RebaseHistory(const Ref<GradNode>& function, const Tensor& view);

  Memory& memory_;
  TrainingSpec spec_;
  int64_t batch_;
  Notes* notes_;
  int64_t sequence_ = 0;
  std::array<Ref<Layout>, 256> layouts_;  // by a hash, the last one of each
  BlockId newest_;
};

// Gradients are off while it lives, or until Leave.
class NoGradGuard {
 public:
  explicit NoGradGuard(Eager& e) : e_(e), before_(std::exchange(e.grad_mode, false)) {}
  ~NoGradGuard() { Leave(); }
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;
  void Leave() { e_.grad_mode = before_; }

 private:
  Eager& e_;
  const bool before_;
};

// What is saved while it lives is saved as a torch.autograd.Function does it.
class SavesAtEnd {
 public:
  explicit SavesAtEnd(Eager& e) : e_(e), before_(std::exchange(e.saves_at_end, true)) {}
  ~SavesAtEnd() { e_.saves_at_end = before_; }
  SavesAtEnd(const SavesAtEnd&) = delete;
  SavesAtEnd& operator=(const SavesAtEnd&) = delete;

 private:
  Eager& e_;
  const bool before_;
};

// Sets origin.op while one operator runs.
class OpScope {
 public:
  OpScope(Eager& e, const char* op) : e_(e), before_(e.origin.op) {
    e.origin.op = op;
    if (e.hooks != nullptr) e.hooks->BeginCall(op);
  }
  ~OpScope() { e_.origin.op = before_; }
  OpScope(const OpScope&) = delete;
  OpScope& operator=(const OpScope&) = delete;

 private:
  Eager& e_;
  const char* before_;
};

}  // namespace vramplan::eager
