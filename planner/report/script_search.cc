#include "planner/report/script_search.h"

#include <algorithm>

#include "graph/base/text_table.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string Setting(const ScriptLargest& largest, int64_t value) { return largest.name + "=" + std::to_string(value); }

std::string FirstLine(const ScriptLargest& largest, const ScriptReport& report) {
  const std::string script = ScriptName(report.command) + ": ", card = report.device.name;
  const std::string fails =
      largest.failure ? Setting(largest, *largest.first_failing) + " " + RefusalText(*largest.failure) : "";
  if (!largest.largest) return script + "no " + largest.name + " runs on " + card + ": " + fails;
  std::string text = script + Setting(largest, *largest.largest);
  if (!largest.first_failing) return text + ", the highest that was asked for, runs on " + card;
  text += " is the largest that runs on " + card;
  if (report.verdict == Verdict::kTight) text += " (tight: the card may need more than is free)";
  return text + "; " + fails;
}

std::string LargestText(const ScriptLargest& largest) {
  if (!largest.largest) return "none";
  return (largest.first_failing ? "" : ">= ") + std::to_string(*largest.largest);
}

// ", with 4 gpus or more"; of --gpus alone.
std::string FromText(const std::vector<VariedRun>& runs) {
  if (runs.front().values.size() != 1 || runs.front().report.gpus == runs.back().report.gpus) return "";
  const auto fails = [](const VariedRun& run) { return run.report.oom.has_value(); };
  std::vector<VariedRun> sorted = runs;
  std::ranges::sort(sorted, {}, [](const VariedRun& run) { return run.report.gpus; });
  const auto last = std::find_if(sorted.rbegin(), sorted.rend(), fails);
  if (last == sorted.rbegin()) return "";
  if (last == sorted.rend()) return ", with any of these numbers of gpus";
  return ", with " + std::to_string(std::prev(last)->report.gpus) + " gpus or more";
}

Json LargestJson(const ScriptLargest& largest) {
  Json tried = Json::Array();
  for (const ScriptTry& run : largest.tried) {
    Json json = Json::Object();
    json.Set("value", run.value).Set("fits", run.fits).Set("requested", run.peak.requested);
    json.Set("allocated", run.peak.allocated).Set("reserved", run.peak.reserved);
    tried.Push(std::move(json));
  }
  Json json = Json::Object();
  json.Set("name", largest.name).Set("largest", largest.largest).Set("first_failing", largest.first_failing);
  return json.Set("tried", std::move(tried));
}

}  // namespace

std::string PrintLargest(const ScriptLargest& largest, const ScriptReport& report, const Style& style) {
  TextTable table(
      {{largest.name, kRight}, {"runs", kLeft}, {"requested", kRight}, {"allocated", kRight}, {"reserved", kRight}});
  std::vector<ScriptTry> tried = largest.tried;
  std::ranges::sort(tried, {}, &ScriptTry::value);
  for (const ScriptTry& run : tried) {
    table.AddRow({std::to_string(run.value), run.fits ? "yes" : "no, it had", ToString(run.peak.requested),
                  ToString(run.peak.allocated), ToString(run.peak.reserved)});
  }
  return Wrapped(FirstLine(largest, report), style.width, "  ") + "\n\n" + table.Print(style.width) + "\n" +
         PrintScript(report, style);
}

std::string PrintVaried(const std::vector<VariedRun>& runs, const Style& style) {
  const ScriptReport& first = runs.front().report;
  std::vector<TextTable::Column> columns;
  for (const auto& [name, value] : runs.front().values) columns.push_back({name, kLeft, true});
  for (const char* column : {"requested", "allocated", "reserved", "on the card"}) columns.push_back({column, kRight});
  if (first.card_given) columns.push_back({"", kLeft});
  const bool searched = runs.front().largest.has_value();
  if (searched) columns.push_back({runs.front().largest->name, kRight});
  TextTable table(columns);
  int64_t fitting = 0;
  for (const VariedRun& run : runs) {
    const ScriptReport& report = run.report;
    const Counters peak = report.recording.peak();
    std::vector<std::string> cells;
    for (const auto& [name, value] : run.values) cells.push_back(value);
    for (const Bytes bytes : {peak.requested, peak.allocated, peak.reserved}) cells.push_back(ToString(bytes));
    cells.push_back(report.oom ? "" : ToString(report.band.device().likely));
    if (first.card_given) cells.emplace_back(report.oom ? "out of memory" : Name(report.verdict));
    if (searched) cells.push_back(LargestText(*run.largest));
    table.AddRow(std::move(cells));
    fitting += report.oom ? 0 : 1;
  }
  std::string text = ScriptName(first.command) + ": ";
  text += first.card_given ? std::to_string(fitting) + " of " + std::to_string(runs.size()) + " fit on " +
                                 first.device.name + FromText(runs)
                           : std::to_string(runs.size()) + " runs, on a card that is never full";
  return text + "\n\n" + table.Print(style.width);
}

Json ToJson(const ScriptLargest& largest, const ScriptReport& report) { return ToJson(report, LargestJson(largest)); }

Json ToJson(const std::vector<VariedRun>& runs) {
  Json rows = Json::Array();
  for (const VariedRun& run : runs) {
    Json values = Json::Object();
    for (const auto& [name, value] : run.values) values.Set(name, value);
    Json row = Json::Object();
    row.Set("values", std::move(values))
        .Set("run", run.largest ? ToJson(*run.largest, run.report) : ToJson(run.report));
    rows.Push(std::move(row));
  }
  Json json = Json::Object();
  return json.Set("schema", "vramplan.run/1").Set("vary", std::move(rows));
}

}  // namespace vramplan
