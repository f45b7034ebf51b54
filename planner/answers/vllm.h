// VllmStartOf: what `vllm serve` does with a model that is given by its name, on one card. No step is laid out: vLLM
// runs calls of its own, of which planner/spec/vllm.h knows the sizes.
#pragma once

#include "graph/base/result.h"
#include "planner/answers/choose_device.h"
#include "planner/answers/question.h"
#include "planner/report/vllm.h"

namespace vramplan {

// The settings that the answer shows (VllmStart::head.spec) are left to the caller. Errors: a file, a class whose sizes
// are not known, an option that does not go with it, a context beyond the model's positions.
Result<VllmStart> VllmStartOf(const Question& question, const ChosenDevice& chosen);

}  // namespace vramplan
