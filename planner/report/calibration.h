// CalibrationReport: what was measured on a card, beside what the catalogue said of it. Its JSON is the profile itself
// ("vramplan.profile/1", profile_json.h).
#pragma once

#include <optional>
#include <string>

#include "planner/calibration/calibrate.h"
#include "planner/report/writing/style.h"
#include "planner/spec/device.h"

namespace vramplan {

struct CalibrationReport {
  Calibration made;
  ContextBand said;               // of the card's generation
  std::optional<Card> catalogue;  // nothing: the card is not in it
  std::string model;              // whose convolutions; empty: none
  std::string file;               // where the profile goes
};

std::string PrintCalibration(const CalibrationReport& report, const Style& style);

}  // namespace vramplan
