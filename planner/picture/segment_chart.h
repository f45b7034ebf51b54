// The allocator's segments at the peak, drawn block by block: what is live by its category, what is a hole.
#pragma once

#include "planner/picture/markup.h"
#include "planner/picture/series.h"

namespace vramplan {

// `at_peak`: of the replay whose peak `moment` is.
Markup DrawSegments(const Subject& subject, const PeakSegments& at_peak, const PeakMoment& moment);

}  // namespace vramplan
