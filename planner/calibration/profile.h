// Profile: what one card was measured to do, which replaces what the catalogue and the formulas say of it.
//
//   {"schema": "vramplan.profile/1", "date": "2026-11-20", "driver": "580.95",
//    "card": {"name": "Tesla T4", "capability": "7.5", "multiprocessors": 40, "usable": 15633680957},
//    "context": {"low": 300000000, "likely": 310000000, "high": 330000000},
//    "rates": {"bandwidth": 2.4e11, "fp32": 7.1e12, "half": 2.9e13},
//    "convolutions": [{"pass": "forward", "type": "float32", "channels_last": false,
//                      "input": [8, 64, 56, 56], "filter": [64, 64, 3, 3], "output": [8, 64, 56, 56],
//                      "workspace": 3211264}]}
//
// bytes; bytes and FLOP a second. `card` is needed, the rest where it was measured.
#pragma once

#include <optional>
#include <string>

#include "planner/solver/time_model.h"
#include "planner/spec/context.h"
#include "planner/spec/measured_workspaces.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct Profile {
  std::string name;  // of the card
  Capability capability;
  int multiprocessors = 0;
  Bytes usable;
  std::string date, driver;            // empty: not said
  std::optional<ContextBand> context;  // its source names the file
  std::optional<Rates> rates;
  MeasuredWorkspaces convolutions;
};

}  // namespace vramplan
