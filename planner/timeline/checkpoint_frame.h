// CheckpointFrame: what one checkpointed call of the forward leaves for its backward: the arguments, a holder for each
// saved tensor, and the tensors themselves once they are recomputed (_CheckpointFrame of torch/utils/checkpoint.py,
// PyTorch 2.10).
//
//   forward: tanh saves t, dropout saves its mask    holders 0 and 1; the last save is a result, by dropout's entry
//   backward of dropout unpacks holder 1             the call runs again and makes t and the mask; the mask is freed
//   backward of tanh unpacks holder 0                t is freed; no holder is left, so frame and arguments are freed
#pragma once

#include <vector>

#include "planner/semantics/eager.h"
#include "planner/timeline/checkpointed_calls.h"
#include "planner/timeline/recorder.h"
#include "planner/timeline/selective.h"

namespace vramplan {

// Hooks that know how far a call has run: autograd saves an operator's inputs before it runs and its results after
// (torch/csrc/autograd, generated VariableType), the rules do both at its end.
class CheckpointHooks : public eager::SavedTensorHooks {
 public:
  struct Place {
    size_t layer = 0;
    int entry = -1;       // of the layer's operator; -1: before it, where an inner call's arguments are saved
    bool result = false;  // one of the tensors was made by the operator itself
  };

  explicit CheckpointHooks(eager::Eager& e) : e_(e) {}
  virtual void BeginLayer(size_t layer);
  virtual void BeginOperator();
  void Recorded() override;

 protected:
  Place PlaceOf(const eager::Tensor& saved) const;
  eager::Eager& e_;
  size_t layer_ = 0;
  int entries_ = -1;  // of the operator so far
  BlockId youngest_, youngest_before_;
};

class CheckpointFrame;

// What a frame asks of those who made it.
class FrameOwner {
 public:
  virtual ~FrameOwner() = default;
  virtual CheckpointRun& RunOf(size_t run) = 0;
  // Runs the frame's call again, which hands over the tensors.
  virtual void Recompute(CheckpointFrame& frame) = 0;
};

// Lives as long as a holder does.
class CheckpointFrame : public RefCounted<CheckpointFrame>, public CheckpointHooks {
 public:
  CheckpointFrame(FrameOwner& owner, eager::Eager& e, const CheckpointedCall& call, size_t run)
      : CheckpointHooks(e), owner_(owner), call_(call), run_(run) {}

  const CheckpointedCall& call() const { return call_; }
  size_t run() const { return run_; }
  const Place& last() const { return last_; }
  size_t saves() const { return waited_for_.size(); }

  // _NoopSaveInputs: saved like any input of an operator, by the call around this one when there is one.
  void KeepArguments(const std::vector<eager::Tensor>& values, CheckpointHooks* around);
  // The arguments on the tape again; may run the call around this one.
  std::vector<eager::Tensor> Arguments();
  Ref<eager::PackedTensor> Pack(eager::Tensor* tensor) override;
  void BeginLayer(size_t layer) override;
  void BeginCall(const char* op) override;
  void EndCall(const char* node, const std::vector<eager::Tensor>& results) override;
  // What the forward kept of this call; null: it runs again.
  KeptCall* Kept(std::string_view overload, int occurrence);
  // From the recomputation, in the order of the forward. Nobody may be waiting any more.
  void Recomputed(size_t index, eager::Tensor tensor);

 private:
  struct Argument {
    bool known = false;
    eager::Tensor tensor;
    Ref<eager::PackedTensor> packed;
    Ref<eager::GradNode> grad_fn;
    int output_number = 0;
  };
  class Holder;

  // Results of the operator that has just run: returned, or saved for its own backward.
  void Result(const eager::Tensor& tensor);
  eager::Tensor Unpack(size_t index);
  void LetGo(size_t index);

  FrameOwner& owner_;
  const CheckpointedCall& call_;
  std::vector<Argument> arguments_;
  std::vector<bool> waited_for_;  // by number of the save: its holder lives
  std::vector<eager::Tensor> recomputed_;
  Place last_;        // of the last save
  const size_t run_;  // index into Timeline::checkpoints
  CallCounter counter_;
  const SaveableOperator* running_ = nullptr;
  std::vector<BlockId> noted_;  // of the operator that runs, or has just run
  bool just_ran_ = false, keeps_ = false;
  std::vector<KeptCall> kept_;
};

}  // namespace vramplan
