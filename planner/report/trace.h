// TraceReport: our stream of a step beside a recorded one, for people and for scripts ("vramplan.trace/1").
#pragma once

#include <string>
#include <vector>

#include "graph/base/note.h"
#include "planner/allocator/trace_diff.h"
#include "planner/report/estimate.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

struct TraceReport {
  std::string model;  // file names without folders
  std::string file;
  int64_t batch = 1;
  std::string step;  // "step 2", "all steps"
  // Of a snapshot: its rows are entries of a trace, and its sizes what was asked for.
  std::string row = "line", level = "allocated";
  std::vector<SpecRow> spec;
  Trace ours, recorded;
  TraceComparison comparison;
  Notes notes;
};

// The first line begins with "equal:" or "differs:".
std::string PrintTraceReport(const TraceReport& report, const Style& style);
Json ToJson(const TraceReport& report);

}  // namespace vramplan
