// The answer of explain as a page: where the card's memory was when the message was written, and the step of --model.
#pragma once

#include <optional>
#include <string>

#include "planner/picture/batch_chart.h"
#include "planner/picture/step_pictures.h"
#include "planner/report/explain.h"

namespace vramplan {

// `pictures`: of the step of --model, if there is one.
std::string PrintExplainPage(const ExplainReport& report, const std::optional<StepPictures>& pictures);

}  // namespace vramplan
