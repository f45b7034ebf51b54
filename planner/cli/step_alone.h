// StepAlone: --format svg and snapshot, which show one step and nothing else of the answer.
#pragma once

#include <string>

#include "planner/answers/pictures.h"
#include "planner/record/record.h"

namespace vramplan {

std::string StepAlone(Format format, const DrawnStep& step);
// The same of a script's run.
std::string RecordAlone(Format format, const Record& record, const std::string& name,
                        const std::optional<Device>& device, ContextBand context, const AllocatorConfig& config);

}  // namespace vramplan
