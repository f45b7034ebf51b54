// The answer of estimate as a page.
#pragma once

#include <string>

#include "planner/picture/batch_chart.h"
#include "planner/picture/step_pictures.h"
#include "planner/report/estimate.h"

namespace vramplan {

std::string PrintEstimatePage(const Estimate& estimate, const StepPictures& pictures, const BatchChart& batches);

// Low, likely and high of each part of the bytes on the device.
Markup DrawBand(const DeviceBand& band);

// The tables and lists that end every page about a step.
void AddStepTables(const AnswerHead& head, const DeviceBand& band, const std::vector<LayerRow>& layers,
                   const std::vector<Assumption>& assumptions, const Notes& notes, Page* page);

}  // namespace vramplan
