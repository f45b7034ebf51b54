// EstimateStep: the whole answer of estimate, for the verbs that compare with it.
#pragma once

#include <optional>
#include <string>

#include "graph/base/result.h"
#include "planner/answers/choose_device.h"
#include "planner/cli/options.h"
#include "planner/picture/batch_chart.h"
#include "planner/picture/step_pictures.h"
#include "planner/report/estimate.h"

namespace vramplan {

// What is drawn of it.
struct EstimatePictures {
  std::string alone;  // --format svg and snapshot: nothing else is made
  StepPictures step;
  BatchChart batches;
};

// `chosen`: the card, when there is one. `pictures`, if given, are made too.
Result<Estimate> EstimateStep(const Options& options, const std::optional<ChosenDevice>& chosen,
                              EstimatePictures* pictures = nullptr);

}  // namespace vramplan
