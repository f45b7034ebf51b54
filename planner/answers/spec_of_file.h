// What a file's facts (docs/facts.md) say of the step: the optimizer is the default of --optimizer, and the type of its
// parameters that of --precision.
#pragma once

#include <optional>

#include "graph/ir/facts.h"
#include "planner/answers/question.h"

namespace vramplan {

// Before the verb runs. The optimizer: not where one is given or the step does not train; note "unknown-optimizer": the
// file names one that vramplan does not know. The precision: where all parameters have one type, and no other precision
// is given; nothing is cast to it then, for the calls of the file have their types. A named model is taken (named_model.h).
// Errors: another precision than that of the parameters is given, and no autocast.
Status TakeSpecOfFile(Question* question);

// A pipe is read once, with the model: note "optimizer-of-pipe" where its facts name an optimizer that was not taken.
void NoteOptimizerOfPipe(const Question& question, const std::optional<Facts>& facts, Notes* notes);

}  // namespace vramplan
