#include <algorithm>
#include <array>

#include "graph/base/text_table.h"
#include "planner/report/trace.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

static_assert(kLargeBlock == Bytes::KiB(64));  // as the text says
constexpr size_t kHunks = 5, kEventsOfSide = 3, kDifferences = 20;

// 98.4 %; never 100.0 % of what is not all.
std::string TracePercent(const TraceAgreement& agreement) {
  const bool all = agreement.common == std::max(agreement.ours, agreement.recorded);
  return Formatted("%.2f %%", all ? 100.0 : std::min(100 * agreement.Share(), 99.99));
}

std::string Difference(Bytes difference) { return SignedText(difference, true); }

// "line 412": where the event stands in its CSV; the header is line 1. Of a snapshot "entry 411".
std::string LineOf(const Trace& trace, size_t event, const std::string& row = "line") {
  if (event >= trace.size()) return "the end";
  return row + " " + std::to_string(trace[event].line > 0 ? trace[event].line : static_cast<int64_t>(event) + 2);
}

// In words: "in the backward, at /fc1/Gemm".
std::string TracePlaceOf(const Trace& ours, const Trace& recorded, const TraceHunk& hunk) {
  const bool theirs_only = hunk.ours_count == 0 && hunk.recorded < recorded.size();
  const TraceEvent* event = theirs_only               ? &recorded[hunk.recorded]
                            : hunk.ours < ours.size() ? &ours[hunk.ours]
                                                      : nullptr;
  if (event == nullptr) return "at the end";
  std::string at = event->layer.empty() ? event->module : event->layer;
  // A recorded event does not know our layers; the event of ours before it does.
  if (at.empty() && hunk.ours > 0) at = ours[hunk.ours - 1].layer;
  return "in " + event->phase + (at.empty() ? "" : ", at " + at);
}

std::string BlockOf(const TraceEvent& event) {
  return event.block ? "block " + std::to_string(*event.block) : "old block";
}

void AddSide(const char* name, const Trace& trace, size_t first, size_t count, TextTable* table,
             const std::string& row = "line") {
  for (size_t i = 0; i < std::min(count, kEventsOfSide); ++i) {
    const TraceEvent& event = trace[first + i];
    const std::string who = event.autograd_node + (event.autograd_node.empty() || event.op.empty() ? "" : " ") +
                            event.op + (event.inner_op == event.op ? "" : " " + event.inner_op);
    // Of a recorded script the line of Python is known instead.
    const bool has_place = event.line > 0 && !event.layer.empty();
    const std::string where =
        event.module + (has_place && !event.module.empty() ? " " : "") + (has_place ? event.layer : "");
    table->AddRow({i == 0 ? name : "", LineOf(trace, first + i, row), event.birth ? "alloc" : "free",
                   ToString(event.bytes), BlockOf(event), event.phase, who.empty() ? where : who});
  }
  if (count > kEventsOfSide) table->AddRow({"", "", "", "", std::to_string(count - kEventsOfSide) + " more", "", ""});
  if (count == 0) table->AddRow({name, LineOf(trace, first, row), "nothing", "", "", "", ""});
}

std::string PrintHunks(const TraceReport& report, const Style& style) {
  const std::vector<TraceHunk>& hunks = report.comparison.hunks;
  std::string text = "\nwhere they differ";
  if (hunks.size() > kHunks)
    text += " (the first " + std::to_string(kHunks) + " of " + std::to_string(hunks.size()) +
            " places; --format json has all)";
  text += "\n";
  for (size_t i = 0; i < std::min(hunks.size(), kHunks); ++i) {
    const TraceHunk& hunk = hunks[i];
    text += "  " + TracePlaceOf(report.ours, report.recorded, hunk) + "\n";
    using enum TextTable::Align;
    TextTable table({{"", kLeft}, {"", kLeft}, {"", kLeft}, {"", kRight}, {"", kLeft}, {"", kLeft}, {"", kLeft, true}});
    AddSide("ours", report.ours, hunk.ours, hunk.ours_count, &table);
    AddSide("recorded", report.recorded, hunk.recorded, hunk.recorded_count, &table, report.row);
    text += table.Print(style.width, 4);
  }
  return text;
}

std::string SideText(const OperatorDifference::Side& side) {
  if (side.count == 0) return "";
  const bool one_size = side.largest * side.count == side.bytes;
  return std::to_string(side.count) + (one_size ? " x " : " up to ") + ToString(side.largest);
}

std::string PrintDifferences(const TraceReport& report, const Style& style) {
  const std::vector<OperatorDifference>& all = report.comparison.differences;
  if (all.empty()) return "\nthe same tensors are allocated and freed in each phase; only their order differs\n";
  using enum TextTable::Align;
  TextTable table({{"phase", kLeft},
                   {"", kLeft},
                   {"operator", kLeft, true},
                   {"only ours", kRight},
                   {"only recorded", kRight},
                   {"ours - recorded", kRight}});
  OperatorDifference rest;
  Bytes sum;
  for (size_t i = 0; i < all.size(); ++i) {
    const OperatorDifference& row = all[i];
    const Bytes difference = row.ours.bytes - row.recorded.bytes;
    sum += row.birth ? difference : Bytes();
    if (i < kDifferences) {
      table.AddRow({row.phase, row.birth ? "births" : "deaths", row.op.empty() ? "(no operator)" : row.op,
                    SideText(row.ours), SideText(row.recorded), Difference(difference)});
      continue;
    }
    rest.ours.count += row.ours.count;
    rest.recorded.count += row.recorded.count;
    rest.ours.bytes += difference;
  }
  if (all.size() > kDifferences) {
    table.AddRow({std::to_string(all.size() - kDifferences) + " more", "", "", std::to_string(rest.ours.count),
                  std::to_string(rest.recorded.count), Difference(rest.ours.bytes)});
  }
  return "\nwhat only one side has (a free counts for the operator that allocated the block)\n" +
         table.Print(style.width) + "  births in all: " + Difference(sum) + "\n";
}

std::string PrintSwapped(const TraceReport& report) {
  const auto& [ours, recorded] = report.comparison.first_swapped;
  const int64_t count = report.comparison.swapped;
  return "  " + std::to_string(count) + (count == 1 ? " death takes" : " deaths take") +
         " another block of the same size; first at " + LineOf(report.ours, ours) +
         " of ours: " + BlockOf(report.ours[ours]) + ", recorded " + BlockOf(report.recorded[recorded]) + "\n";
}

std::string PrintSlack(const TraceReport& report) {
  Bytes ours, recorded;
  for (const EventPair& pair : report.comparison.slack) {
    ours += report.ours[pair.ours].bytes;
    recorded += report.recorded[pair.recorded].bytes;
  }
  const size_t count = report.comparison.slack.size();
  return "  " + std::to_string(count) + (count == 1 ? " event is" : " events are") +
         " the same tensor in a block of another size (slack): " + Difference(ours - recorded) + "\n";
}

std::string PrintLevels(const TraceReport& report, const Style& style) {
  using enum TextTable::Align;
  const TraceLevels &ours = report.comparison.ours, &recorded = report.comparison.recorded;
  TextTable table({{report.level, kLeft}, {"ours", kRight}, {"recorded", kRight}, {"ours - recorded", kRight}});
  const auto row = [&](const char* name, Bytes mine, Bytes theirs) {
    table.AddRow({name, ToString(mine), recorded.known ? ToString(theirs) : "not recorded",
                  recorded.known ? Difference(mine - theirs) : ""});
  };
  row("before", ours.before, recorded.before);
  row("peak", ours.peak, recorded.peak);
  row("after", ours.after, recorded.after);
  std::string text = table.Print(style.width);
  text += "  peak at " + LineOf(report.ours, ours.peak_event) + " of ours";
  if (recorded.known) text += ", " + LineOf(report.recorded, recorded.peak_event, report.row) + " of the recorded one";
  return text + "\n";
}

}  // namespace

std::string PrintTraceReport(const TraceReport& report, const Style& style) {
  const TraceComparison& comparison = report.comparison;
  const std::string what = report.step + " of " + report.model + " at batch " + std::to_string(report.batch);
  std::string text;
  if (comparison.equal()) {
    text = "equal: " + what + " does what " + report.file + " recorded, all " + std::to_string(report.ours.size()) +
           " events\n";
  } else if (comparison.hunks.empty()) {
    text = "differs: " + what + " has the tensors of " + report.file +
           " in their order; blocks differ in slack, first at " +
           LineOf(report.recorded, comparison.slack.front().recorded, report.row) + "\n";
  } else {
    const TraceHunk& first = comparison.hunks.front();
    text = "differs: " + what + " leaves " + report.file + " at " +
           LineOf(report.recorded, first.recorded, report.row) + ", " +
           TracePlaceOf(report.ours, report.recorded, first) + "\n";
  }
  const TraceAgreement both{comparison.births.common + comparison.deaths.common,
                            comparison.births.ours + comparison.deaths.ours,
                            comparison.births.recorded + comparison.deaths.recorded};
  text += "blocks above 64 KiB: " + TracePercent(both) + " of bytes agree by phase and size (births " +
          TracePercent(comparison.births) + ", deaths " + TracePercent(comparison.deaths) + ")\n";
  text += "events: " + std::to_string(report.ours.size()) + " ours, " + std::to_string(report.recorded.size()) +
          " recorded\n\n";
  text += PrintLevels(report, style);
  if (comparison.swapped > 0) text += PrintSwapped(report);
  if (!comparison.slack.empty()) text += PrintSlack(report);
  if (!comparison.hunks.empty()) text += PrintHunks(report, style) + PrintDifferences(report, style);
  return text + "\n" + PrintSpec(report.spec, style);
}

}  // namespace vramplan
