// What a step takes at each batch, against the card: likely, and the band around it, with the batches that are safe,
// may fit and fail.
//
//   GiB |            _,-'/      ---- Tesla T4: 14.56 GiB
//       |       _,-'            batch 34 is safe, 38 may fit, 39 fails
//       |  _,-'
//       +------------------ batch
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/picture/markup.h"
#include "planner/report/parts/device_band.h"

namespace vramplan {

struct CurvePoint {
  int64_t batch = 1;
  Band device;
};

struct BatchChart {
  std::vector<CurvePoint> points;  // batches rise
  int64_t asked = 1;
  std::optional<int64_t> safe, largest;  // of the card; nothing: no card, or the search has no end
  std::optional<Bytes> card;
  std::string card_name;
  std::string dim = "batch";  // what runs to the right
};

// Nothing is drawn of fewer than two points.
Markup DrawBatches(const BatchChart& chart);

}  // namespace vramplan
