// EstimateOf: what estimate answers: the peak of a step at one batch, what takes it, and the verdict where a card is named.
#pragma once

#include <optional>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "planner/answers/choose_device.h"
#include "planner/answers/judge.h"
#include "planner/answers/question.h"
#include "planner/report/estimate.h"

namespace vramplan {

struct EstimateParts {
  bool brief = false;     // AssumedStep::brief
  bool segments = false;  // the allocator's segments at the peak, too
};

// `chosen`: the card, when there is one; `steps`: those of the question on it; `notes`: of the way there. The settings that
// the answer shows (Estimate::head.spec) are left to the caller. Errors: of laying out a step.
Result<Estimate> EstimateOf(const Question& question, const std::optional<ChosenDevice>& chosen, StepEnds& steps,
                            const EstimateParts& parts, Notes notes);

}  // namespace vramplan
