// Checkpoints: torch.utils.checkpoint(use_reentrant=False) around module calls (torch/utils/checkpoint.py, PyTorch
// 2.10).
//
//   forward    the call's arguments are kept; a holder stands for each tensor that an entry of the tape saves inside
//   backward   when the first holder is unpacked, the call runs again, up to the last tensor that was saved; a
//              recomputed tensor is freed with the entry that unpacks it, the arguments with the last holder
//
//   bytes |        __                 ___
//         |   ____/  \___        ____/   \     saved again, then consumed
//         | _/  forward  \______/         \__
//         +------------------------------------> events
//             a block's outputs are gone before the next one runs; its backward begins with a second forward
//
// Calls may be nested: an inner call's arguments are saved by the outer one, so that an inner recomputation asks for
// the outer one first. Invariant: a recomputation saves as many tensors as the forward did.
#pragma once

#include <vector>

#include "planner/semantics/eager.h"
#include "planner/timeline/checkpoint_frame.h"
#include "planner/timeline/checkpointed_calls.h"
#include "planner/timeline/recorder.h"

namespace vramplan {

// Who runs layers, in the forward and again.
class LayerRunner {
 public:
  virtual ~LayerRunner() = default;
  // Everything that is there without a forward, by ValueId.
  virtual const std::vector<eager::Tensor>& resident() const = 0;
  // Runs a layer on these values and lets go of what Python lets go of then.
  virtual void Run(size_t layer, std::vector<eager::Tensor>& values) = 0;
  virtual void LeaveAutocast() = 0;
  virtual const std::string& PathOf(ModuleId module) const = 0;
};

class Checkpoints : private FrameOwner {
 public:
  Checkpoints(eager::Eager& e, Recorder& recorder, LayerRunner& runner, size_t layers,
              std::vector<CheckpointedCall> calls);

  // Around each layer of the forward: opens and closes calls. Nothing without calls.
  void Before(size_t layer, const std::vector<eager::Tensor>& values) {
    if (!calls_.empty()) Open(layer, values);
  }
  void After(size_t layer) {
    if (!calls_.empty()) Close(layer);
  }
  // A new forward begins, and is over with the loss.
  void BeginForward();
  void EndForward();
  // Inside a layer, when its casts are done and its operator begins.
  void BeginOperator();

 private:
  CheckpointRun& RunOf(size_t run) override;
  void Recompute(CheckpointFrame& frame) override;
  Ref<CheckpointFrame> NewFrame(int call);

  // One run of layers: the forward, or a recomputation of one call.
  struct Pass {
    int call = -1;                     // recomputed; -1: the forward
    CheckpointHooks* hooks = nullptr;  // outside the calls that it opens
    std::vector<Ref<CheckpointFrame>> open;
  };

  void Open(size_t layer, const std::vector<eager::Tensor>& values);
  void Close(size_t layer);
  void Use(CheckpointHooks* hooks);
  void RunAgain(CheckpointFrame& frame, std::vector<eager::Tensor> values);
  const CheckpointedCall& CallOf(int call) const { return calls_[static_cast<size_t>(call)]; }

  eager::Eager& e_;
  Recorder& recorder_;
  LayerRunner& runner_;
  std::vector<CheckpointedCall> calls_;
  std::vector<int> innermost_;  // call, by layer; -1: none
  Pass pass_;
  CheckpointHooks* hooks_ = nullptr;  // those of e_
};

}  // namespace vramplan
