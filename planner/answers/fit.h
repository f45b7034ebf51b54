// FitOf: what fit answers of a step beside the verdict: its table, other precisions and settings of the allocator, the
// remedies of a named model, how it serves, the host's RAM. FitMatrixOf: the verdicts on several cards.
#pragma once

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "planner/answers/choose_device.h"
#include "planner/answers/judge.h"
#include "planner/answers/prepare.h"
#include "planner/answers/question.h"
#include "planner/report/fit.h"

namespace vramplan {

struct FitParts {
  bool brief = false;  // AssumedStep::brief
  bool host = false;   // the host's RAM, too
};

// `steps`: those of the question on this card; `card`: judged at the batch of the question; `notes`: of the way there.
// The settings that the answer shows (Fit::head.spec) are left to the caller. Errors: of laying out a step.
Result<Fit> FitOf(const Question& question, const ChosenDevice& chosen, StepEnds& steps, CardFit card,
                  const FitParts& parts, Notes notes);

// On every card that is asked about: all of them by size, those that are named in that order. Cards of one generation run
// the same step.
Result<FitMatrix> FitMatrixOf(const Question& question, Prepared prepared);

// That the rules are those of CUDA.
void NoteAmd(Notes* notes);

}  // namespace vramplan
