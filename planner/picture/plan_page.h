// The answer of plan as a page: the plan, the ladder of single changes, the other plans, and the planned step.
#pragma once

#include <string>

#include "planner/picture/step_pictures.h"
#include "planner/report/plan.h"

namespace vramplan {

// `pictures`: of the plan's step, or, where no plan was found, of the step as it is.
std::string PrintPlanPage(const PlanReport& report, const StepPictures& pictures);

}  // namespace vramplan
