// ReentrantCheckpoints: torch.utils.checkpoint(use_reentrant=True) around module calls (CheckpointFunction of
// torch/utils/checkpoint.py, PyTorch 2.10).
//
//   forward    the call runs without gradients; its results are those of one entry of the tape, which keeps the arguments
//   backward   the whole call runs again on detached arguments; then a backward of its own runs from its results, which
//              stay, like the gradients that arrived, until it is done
//
//   arguments --call, no_grad--> results        entry: saves the arguments
//   gradients of the results  -->  call again, backward inside  -->  gradients of the arguments
#pragma once

#include <optional>
#include <vector>

#include "planner/timeline/checkpoint.h"
#include "planner/timeline/checkpointed_calls.h"
#include "planner/timeline/recorder.h"

namespace vramplan {

class ReentrantCheckpoints {
 public:
  // Takes the reentrant ones from `calls`, where none is inside or around another checkpoint and its layers are in a row.
  ReentrantCheckpoints(eager::Eager& e, Recorder& recorder, LayerRunner& runner, const Layers& layers,
                       std::vector<CheckpointedCall>* calls);

  // Runs the call that begins with this layer: its last one; nothing: none begins here.
  std::optional<size_t> Run(size_t layer, std::vector<eager::Tensor>& values);

 private:
  struct ReentrantCall {
    std::vector<size_t> layers;
    std::vector<ValueId> arguments, results;
  };
  std::vector<eager::Tensor> RunAgain(const ReentrantCall& call, const std::vector<eager::Tensor>& arguments);

  eager::Eager& e_;
  Recorder& recorder_;
  LayerRunner& runner_;
  std::vector<ReentrantCall> calls_;
  std::vector<int> begins_;  // by layer: the call; -1: none
};

}  // namespace vramplan
