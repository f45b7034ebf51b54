// Advice: what helps where memory ran out, by what was full and by the part of the run that asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "planner/report/explain.h"

namespace vramplan {

// "some memory" where the message does not say.
std::string OrSome(const std::optional<Bytes>& bytes);

// The subject of a sentence: "the step", "the optimizer's step".
std::string_view SubjectOf(RunPart part);
// "it failed in the backward (train.py:133, in main)"; empty: the text does not say where.
std::string FailedInText(const Failure& failure);
// Of a request that is a large share of the card: which tensor it is. Empty: it is not.
std::string LargeText(const ExplainReport& report);
// What to do about the cause, whatever the model. Empty: nothing is to be said.
std::string AdviceText(const ExplainReport& report);
// What helps this part of the run alone, where the cause is another one than a step that is too large. Empty: nothing.
std::string OwnAdvice(const ExplainReport& report);

}  // namespace vramplan
