// HostOf: what fit --host says of the host's RAM: the same step laid out as the CPU runs it.
#pragma once

#include "graph/base/result.h"
#include "planner/answers/prepare.h"
#include "planner/report/fit.h"
#include "planner/report/parts/host.h"

namespace vramplan {

// `fit`: judged at the batch of the question. Errors: those of Schedule.
Result<HostMemory> HostOf(const Prepared& prepared, const Question& question, const TrainingSpec& spec,
                          const CardFit& fit);

}  // namespace vramplan
