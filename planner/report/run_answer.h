// RunAnswer: what `run` found out of a command: one run, with what was asked besides, or a table of runs with other
// values ("vramplan.run/1"). Its picture: planner/picture/script_page.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/report/script_search.h"

namespace vramplan {

// --real: the same command on a card that is there.
struct RealRun {
  std::string card;
  ScriptReport report;
};

struct RunAnswer {
  std::vector<VariedRun> runs;  // at least one; of --largest: with the largest number that runs
  bool is_table = false;        // --vary, or a list of --gpus; else the first run is the answer, with:
  std::optional<std::vector<ScriptTried>> tried;
  std::optional<RealRun> real;

  const VariedRun& first() const { return runs.front(); }
  // Of all runs of a table.
  Notes notes() const;
};

std::string PrintRun(const RunAnswer& answer, const Style& style);
Json ToJson(const RunAnswer& answer);

}  // namespace vramplan
