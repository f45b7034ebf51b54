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

#include "graph/base/phase.h"
#include "pretend/recording/recording.h"

namespace vramplan {

// What a block is for, as people who train and fine-tune tell them apart. kUntold: nobody said.
enum class HeldKind : uint8_t {
  kFrozenWeights,
  kTrainedWeights,
  kWeights,  // no optimizer has stepped that would tell which of the two
  kBuffers,
  kGradients,
  kOptimizerState,
  kInputs,
  kActivations,
  kOutputs,  // what the outermost module gives, and what the loss makes of it
  kTemporaries,
  kWorkspaces,
  kUntold,
};

// The blocks of one line and its caller, asked for in one phase, of one kind and module.
struct HeldRow {
  CodePlace place;   // the innermost line that is not PyTorch's; of a backward the line that called it
  CodePlace caller;  // where `place` is a library's: the script's own line that led to it; no file: there is none
  std::string module;
  HeldKind kind = HeldKind::kUntold;
  Phase phase = Phase::kSetup;
  int64_t blocks = 0;
  Bytes bytes;
  bool operator==(const HeldRow&) const = default;
};

struct HighMoment {
  Bytes requested, reserved;
  // 0: before the first one began to compute, or there are none; of an evaluation the step that it follows
  int64_t step = 0;
  Phase phase = Phase::kSetup;
  CodePlace place;              // of the allocation that reached it
  std::vector<HeldRow> rows;    // the largest first
  bool keeps_graphs = false;    // an evaluation with gradients
  Bytes of_graphs;              // asked for by the modules of such evaluations: no_grad would free this at most
  bool before_history = false;  // blocks were freed that the history does not have: its beginning is lost
};

// Of the whole run, or until its last refusal. `kinds`: of the allocations of the history, in their order; may be empty.
HighMoment MomentOf(const Recording& recording, const std::vector<HeldKind>& kinds = {});
HighMoment MomentOfRefusal(const Recording& recording, const std::vector<HeldKind>& kinds = {});

// "before the first step", "in the forward" of an inference, "in the backward of step 2", "in the evaluation after step 50, with gradients".
std::string WhenText(const HighMoment& moment);

// Which marks are forwards of an evaluation. A step's forward comes in each step, from the same line; an evaluation's does
// not. Without gradients that is enough. With gradients it must not be followed by a backward, and either the module is in
// eval() or it computes again and again: a new part of the training may begin with a forward that runs out of memory.
std::vector<bool> EvaluationsOf(const Recording& recording);

// The highest requested bytes while each phase ran, by Phase; a phase that never ran has 0.
std::array<Bytes, kPhases> PhasePeaks(const Recording& recording);

// Allocations that the history has lost, or that were made before it began.
int64_t AllocationsBefore(const Recording& recording);

// The line of a stack that is not PyTorch's, the innermost; the innermost of all when there is no other. An empty stack
// gives an empty place.
CodePlace PlaceOf(const Recording& recording, int32_t stack);
// Whether a file is of a package or of Python itself, or generated: nobody's own.
bool IsOfLibrary(const std::string& file);
// The innermost line of a stack that is the script's own; where there is none, PlaceOf.
CodePlace OwnPlaceOf(const Recording& recording, int32_t stack);
// The script's own line behind a library's `place`; no file: `place` is its own, or no own line led there.
CodePlace CallerOf(const Recording& recording, int32_t stack, const CodePlace& place);

}  // namespace vramplan
