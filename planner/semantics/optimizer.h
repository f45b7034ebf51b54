// Optimizers: their state, and what a step needs beside it. One row per optimizer in optimizer_rows.cc.
//
//   Adam, foreach, 25.6 M parameters     first step  + 2 P of state, then P of square roots while it runs
//                                        later       P while it runs
//   Adam, for-loop                       three tensors of the largest parameters at a time
//   Adam, fused                          nothing; the step counters live on the card (4 B each)
#pragma once

#include <vector>

#include "planner/semantics/eager.h"
#include "planner/semantics/optimizer_rows.h"

namespace vramplan::eager {

class OptimizerState {
 public:
  // Constructs the optimizer: Adagrad makes its state here, the others at the first step. Muon leaves embeddings to
  // AdamW although they are matrices.
  OptimizerState(Eager& e, std::vector<Tensor> parameters, const ParameterUses& uses = {});

  void Step(Eager& e);
  // zero_grad(set_to_none=True): gradients are let go in order.
  void ZeroGrad();

 private:
  struct Group {  // parameters of one optimizer class
    const OptimizerRow* row;
    std::vector<Tensor> parameters;
  };
  void MakeState(Eager& e, const OptimizerRow& row, const Tensor& parameter);
  void StepGroup(Eager& e, const Group& group);

  std::vector<Group> groups_;
  OptimizerStates states_;
};

// Whether the optimizer has this implementation; the one that its library takes when the script says nothing.
bool HasImpl(Optimizer optimizer, OptimizerImpl impl);
OptimizerImpl UsualImpl(Optimizer optimizer);

}  // namespace vramplan::eager
