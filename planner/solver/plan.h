// Plan: what to run so that the step fits a card (batch, precision, optimizer implementation, modules to checkpoint),
// what that costs in time, and the proof of both.
//
//   batch 32 of fp32, 4 modules checkpointed: fits (replayed), 33 does not (replayed)
//   overhead 4.1 % of the step, no choice of modules costs less than 3.9 %: gap 0.2 % of the time
//
// Invariants: `peak` is a replay of exactly this plan within the capacity; `overhead` >= `bound` >= 0; tier kNone
// if and only if `checkpoint` is empty, kOperators if and only if `saved` is not.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/lifetimes/lifetimes.h"
#include "planner/solver/batch_search.h"
#include "planner/solver/time_model.h"

namespace vramplan {

enum class Tier : uint8_t { kNone, kModules, kOperators };
std::string_view Name(Tier tier);  // "none", "modules", "operators"

struct Plan {
  int64_t batch = 1;
  int64_t accumulate = 1;
  Precision precision = Precision::kFp32;
  OptimizerImpl optimizer_impl = OptimizerImpl::kForeach;
  Tier tier = Tier::kNone;
  std::vector<std::string> checkpoint;  // module paths of the file
  bool every_layer = false;             // they are those of CheckpointedPrograms::every
  std::vector<SavedCall> saved;         // calls of those modules that are saved and do not run again
  Peak peak;
  double overhead = 0;                         // time of the recomputation, as a share of the step without it
  double bound = 0;                            // no plan of this tier has a smaller overhead
  double seconds = 0;                          // estimate for one optimizer step
  std::optional<int64_t> first_failing_batch;  // replayed; nothing: not searched

  // (plan - bound) / plan, of the step's time.
  double gap() const { return (overhead - bound) / (1 + overhead); }
  bool proved_optimal() const { return gap() < 5e-4; }
  double SecondsASample() const { return seconds / static_cast<double>(batch * accumulate); }
};

// What a model runs, and when its values are freed.
struct StepProgram {
  const Layers& layers;
  const Releases& releases;  // of the layers
};

// What a framework runs instead once modules are checkpoints. transformers keeps no key/value cache then: what runs again
// would add to it again (modeling_layers.py, GradientCheckpointingLayer).
struct CheckpointedPrograms {
  StepProgram some, all;           // with some checkpoints; with all of `every`, as its own switch sets them
  std::vector<std::string> every;  // paths of the modules that its own switch makes checkpoints
};

// What plans are made for: one model on one card, with the parts of the spec that a plan does not decide.
struct PlanProblem {
  StepProgram program;
  TrainingSpec spec;  // precision, implementation, accumulation and checkpoints are overridden
  AllocatorConfig config;
  Bytes capacity;  // of the allocator
  Rates rates;
  const CheckpointedPrograms* checkpointed = nullptr;  // null: checkpoints change nothing but what is kept

  // The spec with this plan's choices.
  TrainingSpec With(const Plan& plan) const;
  // What runs with these modules as checkpoints.
  const StepProgram& ProgramOf(const std::vector<std::string>& checkpoint) const;
  // What runs with any: of it modules are chosen.
  const StepProgram& ProgramToWrap() const { return checkpointed == nullptr ? program : checkpointed->some; }
  bool WrapsEvery(const std::vector<std::string>& checkpoint) const;
  Layout LayoutOf(const Plan& plan) const { return LayoutOf(plan, ProgramOf(plan.checkpoint)); }
  Layout LayoutOf(const Plan& plan, const StepProgram& runs) const;
};

// The plan with `wanted`'s precision, implementation and checkpoints at its largest batch. The search begins around
// `wanted.batch`. Nothing: not even batch 1 fits.
Result<std::optional<Plan>> LargestPlan(const PlanProblem& problem, Plan wanted, int64_t asked = 1);

// The peak of a plan that fits in less, and the first batch above it that fails, within this problem's capacity.
Status ProveWithin(const PlanProblem& problem, Plan* plan);

// Fills in `seconds`. The plan's choices and overhead must be set.
void TimePlan(const PlanProblem& problem, Plan* plan);

}  // namespace vramplan
