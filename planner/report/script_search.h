// ScriptSearch: runs of one command with other values: the largest number that runs (--largest), and one row for each
// of several values (--vary). Part of "vramplan.run/1".
//
//   train.py: batch=37 is the largest that runs on Tesla T4; batch=38 runs out of memory in the backward of step 1
//
//   batch  runs   requested  allocated    reserved
//       4  yes   262.01 MiB  ...
//
//   batch  linear: each further sample 27.20 MiB
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/report/parts/sweep_laws.h"
#include "planner/report/script.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

struct ScriptTry {
  int64_t value = 0;
  bool fits = false;
  Levels peak;  // of one that failed: until then
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

// One row of --try: a change, what it really changed, and the run with it.
struct ScriptTried {
  std::string change;   // "expandable segments"
  std::string advice;   // "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
  std::string changed;  // "model.layers (8 x LlamaDecoderLayer)"; without a report why there is none
  std::optional<ScriptReport> report;
};

// What sweep says of a file's answers, of three runs or more: those of --largest that fit; along each of --vary (without
// --largest) those that were not refused memory, the others at their first value.
std::vector<SweepLaw> LawsOf(const ScriptLargest& largest);
std::vector<SweepLaw> LawsOf(const std::vector<VariedRun>& runs);

// `report`: of the run with the largest number, or, where none runs, of the lowest.
std::string PrintLargest(const ScriptLargest& largest, const ScriptReport& report, const Style& style);
// Which change to make: where the script does not fit, the first with which it does; else the one that saves the most.
// `report`: of the script as it is.
std::string TriedAdvice(const std::vector<ScriptTried>& tried, const ScriptReport& report);
std::string PrintTried(const std::vector<ScriptTried>& tried, const ScriptReport& report, const Style& style);
// `real`: of the same command on a card that is there.
std::string PrintReal(const ScriptReport& report, const ScriptReport& real, const std::string& card,
                      const Style& style);
std::string PrintVaried(const std::vector<VariedRun>& runs, const Style& style);

}  // namespace vramplan
