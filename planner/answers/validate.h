// Observe: the same step on the card of this machine: what validate compares with what was predicted.
#pragma once

#include "cuda_probe/probe.h"
#include "graph/base/result.h"
#include "planner/answers/validate_question.h"
#include "planner/report/validate.h"

namespace vramplan {

// Fills in what is observed on `card`, the judgement, and the notes about what could not be seen. Errors: the card or its
// driver cannot be asked; what goes wrong on the card is part of the report.
Status Observe(const ValidateQuestion& question, int card, Probe* machine, ValidateReport* report);

}  // namespace vramplan
