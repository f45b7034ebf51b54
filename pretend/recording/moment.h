// MomentOf: the highest moment of a recorded run: who holds how much then, by the line of Python that asked for it.
//
//   requested 321 MB in the backward of step 2
//     89 MB   train.py:6 <module>        before the first step      the parameters
//     45 MB   sgd.py:31 _init_group      in the update of step 1    the optimizer's states
//    ...
//
// Invariant: the rows sum to `requested`.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "pretend/recording/recording.h"

namespace vramplan {

enum class RunPhase : uint8_t { kSetup, kForward, kBackward, kUpdate, kEvaluation };
std::string_view Name(RunPhase phase);  // "setup", "forward", "backward", "update", "evaluation"

inline constexpr size_t kRunPhases = 5;

// The blocks of one line, asked for in one phase, and of one module.
struct HeldRow {
  CodePlace place;  // the innermost line that is not PyTorch's; of a backward the line that called it
  std::string module;
  RunPhase phase = RunPhase::kSetup;
  int64_t blocks = 0;
  Bytes bytes;
  bool operator==(const HeldRow&) const = default;
};

struct HighMoment {
  Bytes requested, reserved;
  int64_t step = 0;  // 0: before the first one began to compute, or there are none; of an evaluation the step that it
                     // follows
  RunPhase phase = RunPhase::kSetup;
  CodePlace place;              // of the allocation that reached it
  std::vector<HeldRow> rows;    // the largest first
  bool keeps_graphs = false;    // an evaluation with gradients
  Bytes of_graphs;              // asked for by the modules of such evaluations: no_grad would free this at most
  bool before_history = false;  // blocks were freed that the history does not have: its beginning is lost
};

// Of the whole run, or until its last refusal when `at_refusal`.
HighMoment MomentOf(const Recording& recording);
HighMoment MomentOfRefusal(const Recording& recording);

// "before the first step", "in the backward of step 2", "in the evaluation after step 50, with gradients".
std::string WhenText(const HighMoment& moment);

// Which marks are forwards of an evaluation. A step's forward comes in each step, from the same line; an evaluation's does
// not. Without gradients that is enough. With gradients it must not be followed by a backward, and either the module is in
// eval() or it computes again and again: a new part of the training may begin with a forward that runs out of memory.
std::vector<bool> EvaluationsOf(const Recording& recording);

// The highest requested bytes while each phase ran, by RunPhase; a phase that never ran has 0.
std::array<Bytes, kRunPhases> PhasePeaks(const Recording& recording);

// The line of a stack that is not PyTorch's, the innermost; the innermost of all when there is no other. An empty stack
// gives an empty place.
CodePlace PlaceOf(const Recording& recording, int32_t stack);

}  // namespace vramplan
