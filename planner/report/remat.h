// RematReport: a schedule and how good it is at least ("vramplan.solve/1").
#pragma once

#include <string>

#include "planner/remat/solve.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

struct RematReport {
  std::string file;  // its name without folders
  int32_t nodes = 0;
  size_t edges = 0;
  RematAnswer answer;
  double seconds = 0;  // that it took
};

// The first line is the verdict.
std::string PrintRemat(const RematReport& report, const Style& style);
Json ToJson(const RematReport& report);

}  // namespace vramplan
