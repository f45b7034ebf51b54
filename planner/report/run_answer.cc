#include "planner/report/run_answer.h"

namespace vramplan {

Notes RunAnswer::notes() const {
  Notes notes = first().report.notes;
  for (size_t i = 1; is_table && i < runs.size(); ++i) notes.Append(runs[i].report.notes);
  return notes;
}

std::string PrintRun(const RunAnswer& answer, const Style& style) {
  const auto& [values, report, largest] = answer.first();
  if (answer.is_table) return PrintVaried(answer.runs, style);
  if (answer.real) return PrintReal(report, answer.real->report, answer.real->card, style);
  if (answer.tried) return PrintTried(*answer.tried, report, style);
  return largest ? PrintLargest(*largest, report, style) : PrintScript(report, style);
}

}  // namespace vramplan
