// ExplainStep: the step of --model beside an out-of-memory message: the batch and the request of the message, what fits in
// its room, and what was refused.
#pragma once

#include <optional>

#include "graph/base/result.h"
#include "planner/answers/choose_device.h"
#include "planner/answers/prepare.h"
#include "planner/answers/question.h"
#include "planner/oom/message.h"
#include "planner/report/explain.h"

namespace vramplan {

// The answer, and the step that it is about, with the notes of the way there (LaidOutStep::prepared).
struct StepOfMessage {
  LaidOutStep laid_out;
  ContextBand context;
  std::optional<Bytes> room;  // what the allocator could take; nothing: neither the message nor the card says
  ExplainedStep step = {};
};

// `asked`: where it gives no batch, that of the message is looked for. The settings that the answer shows
// (ExplainedStep::head.spec) and `plan` are left to the caller. Errors: of laying out a step.
Result<StepOfMessage> ExplainStep(const Question& asked, const OutOfMemory& message,
                                  const std::optional<ChosenDevice>& chosen);

}  // namespace vramplan
