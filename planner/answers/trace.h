// TraceBeside: what trace --compare and compare answer: our step beside one that was recorded.
#pragma once

#include <optional>
#include <string>

#include "graph/base/result.h"
#include "planner/answers/prepare.h"
#include "planner/report/trace.h"
#include "planner/snapshot/recorded_step.h"

namespace vramplan {

// `step`: nothing, all of them. The settings that the answer shows (TraceReport::spec) are left to the caller.
// Errors: of Trace; the run has fewer steps.
Result<TraceReport> TraceBeside(const LaidOutStep& laid_out, std::optional<int> step, Trace recorded,
                                const std::string& file, const AllocatorConfig& allocator);
// Of a snapshot, which has what was asked for and no rounded sizes: the same step of a run that was seen from its start,
// else the steady state.
Result<TraceReport> TraceBeside(const LaidOutStep& laid_out, RecordedSteps recorded, const std::string& file,
                                const AllocatorConfig& allocator);

// Error: --step is beyond the last.
Status CheckStep(std::optional<int> step, const Timeline& timeline);

}  // namespace vramplan
