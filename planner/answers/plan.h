// PlanOf: what plan answers: the settings with which a step fits a card, the other plans, the ladder of single changes, and
// the verdict about the chosen plan's own step.
#pragma once

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "planner/answers/choose_device.h"
#include "planner/answers/prepare.h"
#include "planner/answers/question.h"
#include "planner/report/plan.h"
#include "planner/solver/decide.h"

namespace vramplan {

// The answer, and the step that it is about: the plan's, or where there is none the one that was asked about.
struct PlannedStep {
  Prepared prepared;
  TrainingSpec spec;
  int64_t batch = 1;
  PlanReport report = {};
};

// `brief`: AssumedStep::brief; `notes`: of the way there. The settings that the answer shows (PlanReport::head.spec) are
// left to the caller. Errors: of laying out a step.
Result<PlannedStep> PlanOf(const Question& question, const ChosenDevice& on, Prepared prepared, PlanWishes wishes,
                           bool brief, Notes notes);

}  // namespace vramplan
