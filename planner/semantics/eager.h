// Eager: one process of PyTorch eager on one card, without arithmetic: allocates, keeps the tape, remembers which
// library handles exist. The rules of this folder are written in its terms, as PyTorch's own operators are written in
// ATen's.
//
//   Tensor Relu(Eager& e, const Tensor& x) {
//     Tensor y = e.EmptyLike(x);                                   // one block
//     if (GradNode* node = e.Record("ReluBackward0", {x}, {y})) {  // nothing is saved when no input requires a
//     gradient
//       node->SaveOutput(y);                                       // derivatives.yaml: relu: threshold_backward(grad,
//       result, 0) node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.saved(0))); });
//     }
//     return y;
//   }
#pragma once

#include <initializer_list>
#include <map>
#include <string>

#include "graph/base/note.h"
#include "planner/semantics/tensor.h"
#include "planner/spec/spec.h"

namespace vramplan::eager {

class Eager {
 public:
  Eager(Memory& memory, const TrainingSpec& spec, int64_t batch, Notes* notes);

  const TrainingSpec& spec() const { return spec_; }
  int64_t batch() const { return batch_; }
  Notes* notes() const { return notes_; }

  // New contiguous tensor. Elements of an unknown shape saturate, which makes a plan not fit.
  Tensor Empty(const Shape& sizes, DType dtype);
  Tensor EmptyStrided(const Shape& sizes, const Ints& strides, DType dtype);
  // torch.empty_like: the same strides when dense, else those of a permutation-preserving copy (c10
  // infer_dense_strides).
  Tensor EmptyLike(const Tensor& t) { return EmptyLike(t, t->dtype); }
  Tensor EmptyLike(const Tensor& t, DType dtype);
  // Output of a pointwise operator over these operands (aten/src/ATen/TensorIterator.cpp): broadcast sizes, the
  // operands' layout.
  Tensor EmptyIterator(std::initializer_list<const Tensor*> operands, DType dtype);
  // A block without a tensor: scratch that dies with the returned reference. Zero bytes: no block.
  Storage Scratch(Bytes bytes, Category category = Category::kTemporaries);
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
  // The type that a value of the file has in this run: fp32 becomes the model's precision under pure fp16, bf16 and
  // fp64.
  DType ModelType(DType in_file) const;
  int64_t At(Dim dim) const { return dim.known() ? dim.At(batch_) : 0; }

  // Puts an entry on the tape and makes `outputs` its results; null when no input is tracked or gradients are off. Null
  // inputs are allowed and take an edge.
  GradNode* Record(const char* name, std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs);
  GradNode* Record(const char* name, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs);
  bool grad_mode = true;
  // What saving a tensor means; null: keeping it.
  SavedTensorHooks* hooks = nullptr;
  // From here on nothing is allocated: the operator that runs is given up (torch/utils/checkpoint.py stops a
  // recomputation by an exception, which would leave the operator at this place).
  bool given_up = false;
  // What the operator that runs asks for, library workspaces aside, in order: noted here, or taken from here instead of
  // the device, nothing being allocated then (selective checkpoints, timeline/selective.h). Null: neither.
  std::vector<BlockId>* noted = nullptr;
  std::vector<Storage>* given = nullptr;
  size_t next_given = 0;
  // Blocks that operators wrote into, in this forward.
  std::vector<BlockId> overwritten;
  // The latest birth: what is younger than a mark taken from here was born after it.
  BlockId newest() const { return newest_; }

  // Library handles (planner/semantics/blas.h): blocks that outlive the operator which first needed them, by thread.
  enum class Thread : uint8_t { kMain, kAutograd };
  Thread thread = Thread::kMain;
  std::map<std::string, Storage> handles;

  // Who asks for the blocks made from here on.
  Origin origin;
  Category category = Category::kActivations;

 private:
  BlockId Allocate(SizeExpr bytes, Category use);
  Storage NewStorage(SizeExpr bytes, Category use);
  Ref<GradNode> NewNode(const char* name, const std::vector<Tensor>& inputs);
  void RebaseHistory(const Ref<GradNode>& function, const Tensor& view);

  Memory& memory_;
  TrainingSpec spec_;
  int64_t batch_;
  Notes* notes_;
  int64_t sequence_ = 0;
  BlockId newest_;
};

// Sets origin.op for the time of one operator.
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
