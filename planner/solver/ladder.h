// Ladder: what each single change of the step would bring: bytes at the batch that is asked about, and the batch that
// it allows; sorted by what it costs in time.
//
//   fused optimizer       saves  98 MiB   batch 172   - 1 %
//   amp-fp16              saves 5.1 GiB   batch 331   -61 %
//   checkpoint 4 modules  saves 4.2 GiB   batch 260   + 9 %
#pragma once

#include <string>
#include <vector>

#include "planner/solver/plan.h"

namespace vramplan {

struct PlanRung {
  std::string change;  // in words: "fused optimizer"
  std::string option;  // as typed: "--optimizer-impl fused"
  Bytes saves;         // of the reserved peak at the ladder's batch, as two fits differ; below zero: it takes more
  int64_t batch = 0;   // the largest that fits with this change alone; 0: none
  double time = 0;     // a sample takes so much more: 0.09 is 9 %, below zero: less
};

struct PlanLadder {
  Plan start;           // the step as the user has it, at the ladder's batch; its peak as fit has it
  int64_t largest = 0;  // batch that fits as it is
  std::vector<PlanRung> rungs;
};

// A change of the question itself, such as another length of an input.
struct ChangedProblem {
  std::string change, option;
  PlanProblem problem;
};

// `start`: precision, implementation and batch of the step as it is. `precisions`: what may be changed to. `wrapped`: a plan
// in the precision of `start` whose modules are those that are checkpointed; null: those of the largest batch are looked
// for.
Result<PlanLadder> ClimbLadder(const PlanProblem& problem, const Plan& start, const std::vector<Precision>& precisions,
                               const std::vector<ChangedProblem>& others = {}, const Plan* wrapped = nullptr);

}  // namespace vramplan
