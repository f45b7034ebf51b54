// ScriptSearch: runs of one command with other values: the largest number that runs (--largest), and one row for each
// of several values (--vary). Part of "vramplan.run/1".
//
//   train.py: batch=37 is the largest that runs on Tesla T4; batch=38 runs out of memory in the backward of step 1
//
//   batch  runs   requested  allocated    reserved
//       4  yes   262.01 MiB  ...
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/report/json.h"
#include "planner/report/script.h"
#include "planner/report/style.h"

namespace vramplan {

struct ScriptTry {
  int64_t value = 0;
  bool fits = false;
  Counters peak;  // of one that failed: until then
};

struct ScriptLargest {
  std::string name;
  std::optional<int64_t> largest, first_failing;
  std::vector<ScriptTry> tried;         // in order
  std::optional<ScriptReport> failure;  // of the run with `first_failing`
};

// One row of --vary: its values, and the run with them; with --largest, the run with the largest number.
struct VariedRun {
  std::vector<std::pair<std::string, std::string>> values;
  ScriptReport report;
  std::optional<ScriptLargest> largest;
};

// `report`: of the run with the largest number, or, where none runs, of the lowest.
std::string PrintLargest(const ScriptLargest& largest, const ScriptReport& report, const Style& style);
std::string PrintVaried(const std::vector<VariedRun>& runs, const Style& style);
Json ToJson(const ScriptLargest& largest, const ScriptReport& report);
Json ToJson(const std::vector<VariedRun>& runs);

}  // namespace vramplan
