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

// Of a message of vLLM: whether `vllm serve` starts with the model on this card, beside what the message says that others
// hold of it, and with the context that fits by its words, unless the question has one. The command is left to the
// caller. Errors: those of VllmStartOf.
Result<ServedModel> ExplainServing(const Question& asked, const OutOfMemory& message, const ChosenDevice& chosen);

}  // namespace vramplan
