#include "planner/report/remat.h"

#include "graph/base/text_table.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

std::string GapText(double share) { return Formatted("%.2f %%", 100 * share); }

double ShareText(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

std::string RematVerdict(const RematReport& report) {
  const RematAnswer& answer = report.answer;
  const std::string within = " within " + std::to_string(answer.budget);
  if (answer.impossible()) {
    return report.file + ": no schedule stays" + within + ": one node and what it reads take " +
           std::to_string(answer.working_set);
  }
  if (!answer.outcome) return report.file + ": no schedule was found" + within;
  return report.file + ": a schedule" + within + " costs " + std::to_string(answer.outcome->cost) + ", " +
         GapText(ShareText(answer.extra(), answer.cost_once)) + " more than running every node once; " +
         (answer.proved_optimal() ? "proved optimal" : "at most " + GapText(answer.gap()) + " above the cheapest");
}

}  // namespace

std::string PrintRemat(const RematReport& report, const Style& style) {
  const RematAnswer& answer = report.answer;
  std::string text = RematVerdict(report) + "\n\n";
  using enum TextTable::Align;
  TextTable table({{"", kLeft}, {"cost", kRight}, {"peak", kRight}});
  table.AddRow({"every node once", std::to_string(answer.cost_once), std::to_string(answer.keep_all)});
  if (answer.outcome) {
    table.AddRow({"this schedule", std::to_string(answer.outcome->cost), std::to_string(answer.outcome->peak)});
  }
  table.AddRow(
      {"lower bound", answer.impossible() ? "" : std::to_string(answer.bound), std::to_string(answer.working_set)});
  text += table.Print(style.width);
  if (!answer.impossible() && answer.bound > answer.cost_once) {
    const auto beside = [](const char* better, const char* other, int64_t bound) {
      return std::string("  the bound is that of ") + better + "; " + other + " gives " + std::to_string(bound) + "\n";
    };
    if (answer.cut_bound == answer.gap_bound) {
      text += "  minimum cuts and the temporal knapsack give the same bound\n";
    } else if (answer.cut_bound > answer.gap_bound) {
      text += beside("minimum cuts", "the temporal knapsack", answer.gap_bound);
    } else {
      text += beside("the temporal knapsack", "minimum cuts", answer.cut_bound);
    }
  }
  text += "  " + std::to_string(report.nodes) + " nodes, " + std::to_string(report.edges) +
          " edges; bounds hold for this order, and the cost's for this budget\n";
  return text;
}

}  // namespace vramplan
