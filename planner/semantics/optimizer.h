// Optimizers: their state, and what a step needs beside it. One row per optimizer of torch.optim (torch/optim/*.py,
// PyTorch 2.10).
//
//   Adam, foreach, 25.6 M parameters     first step  + 2 P of state, then P of square roots while it runs
//                                        later       P while it runs
//   Adam, for-loop                       three tensors of the largest parameters at a time
//   Adam, fused                          nothing; the step counters live on the card (4 B each)
#pragma once

#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan::eager {

class OptimizerState {
 public:
  // Constructs the optimizer: Adagrad makes its state here, the others at the first step.
  OptimizerState(Eager& e, std::vector<Tensor> parameters);

  void Step(Eager& e);
  // zero_grad(set_to_none=True): gradients are let go in order.
  void ZeroGrad();
  const std::vector<Tensor>& parameters() const { return parameters_; }

 private:
  void MakeState(Eager& e);
  void StepForeach(Eager& e);
  void StepForLoop(Eager& e);
  std::vector<Tensor> WithGradient() const;

  std::vector<Tensor> parameters_;
  std::vector<Tensor> state_;
  bool initialised_ = false;
};

// True when torch.optim has this implementation of the optimizer.
bool HasFused(Optimizer optimizer);

}  // namespace vramplan::eager
