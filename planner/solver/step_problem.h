// StepProblem: a training step as a rematerialisation problem (planner/remat): which values its operators make, what
// they cost and hold, and which others each reads. Its solution is a bound for every way to recompute the step.
//
//   linear -> relu -> linear -> loss       nodes, in order:   linear   relu   linear   loss
//                                          gradients:         loss'   linear' weight, input   relu'   linear' weight
//                                          update
//
// Nodes of a layer's forward: what it makes beside its outputs and keeps for its backward (masks, indices, statistics),
// then its outputs, made of that; the time is split by their bytes. Of its backward: the gradients of its parameters,
// which all wait for the update, then those of its inputs. Views and in-place operators hold nothing of their own:
// their time goes to the value they change. Times are nanoseconds (time_model.h), bytes what was asked for.
//
// Scratch within an operator is a value that costs nothing and that only this operator reads. Not in it: what no
// schedule lets go: parameters, buffers, the optimizer's state, the caller's batch and `out`; libraries' workspaces.
#pragma once

#include "graph/layers/layers.h"
#include "planner/remat/problem.h"
#include "planner/solver/time_model.h"
#include "planner/spec/spec.h"

namespace vramplan {

// Errors: those of Schedule; a step whose loss has no gradient.
Result<RematProblem> StepProblem(const Layers& layers, const TrainingSpec& spec, const Rates& rates, int64_t batch);

}  // namespace vramplan
