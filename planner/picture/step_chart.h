// The step as a chart: memory over its events, stacked by what it is for, with the peak marked and the card's line
// across; in a page, or as an SVG by itself.
#pragma once

#include <optional>
#include <string>

#include "planner/picture/markup.h"
#include "planner/picture/series.h"

namespace vramplan {

struct StepChart {
  MemorySeries series;
  Bytes context;              // below everything
  Bytes device;               // at the peak, as nvidia-smi shows it
  std::optional<Bytes> card;  // what a step may take of it, the context included
  std::string card_name;
  std::string title;  // of the SVG: "unet.onnx at batch 38 on Tesla T4"
  std::string place;  // of the peak: "step 2, backward, at /up.3/conv/net/net.5/Relu (relu)"
  bool train = true;  // else the steps are forwards
};

// The chart for a page, with its legend, its table and the data of its hover.
Markup DrawStep(const StepChart& chart);

// An SVG with its own colours, for light and dark.
std::string DrawStepSvg(const StepChart& chart);

}  // namespace vramplan
