// ReplayReport: what a stream of requests takes ("vramplan.replay/1").
#pragma once

#include <optional>
#include <string>

#include "planner/allocator/stream.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

struct ReplayReport {
  std::string file;  // its name without folders
  std::string allocator_conf;
  std::optional<Bytes> gpu_memory;
  bool check = false;
  StreamPeak stream;
};

// The first line is the verdict; with a check it begins with "equal:" or "differs:".
std::string PrintReplay(const ReplayReport& report, const Style& style);
Json ToJson(const ReplayReport& report);

}  // namespace vramplan
