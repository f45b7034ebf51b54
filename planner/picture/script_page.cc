#include "planner/picture/script_page.h"

#include <algorithm>

#include "planner/picture/estimate_page.h"
#include "planner/picture/fit_page.h"
#include "planner/picture/table.h"
#include "planner/report/estimate.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/script_holders.h"
#include "planner/report/script_places.h"

namespace vramplan {
namespace {

double ShareOf(Bytes part, Bytes whole) {
  return whole > Bytes() ? static_cast<double>(part.count()) / static_cast<double>(whole.count()) : 0;
}

std::vector<std::string> CountersText(const Levels& peak) {
  return {ToString(peak.requested), ToString(peak.allocated), ToString(peak.reserved)};
}

Markup DrawSteps(const ScriptReport& report) {
  Markup body;
  const std::vector<RecordedStep>& steps = report.recording.steps;
  if (steps.empty()) return body;
  Bytes most;
  for (const RecordedStep& step : steps) most = std::max(most, step.peak.reserved);
  std::vector<BarRow> rows;
  constexpr size_t kEnds = 10;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (steps.size() > 2 * kEnds && i >= kEnds && i < steps.size() - kEnds) continue;
    const RecordedStep& step = steps[i];
    BarRow row{{std::to_string(step.step)}, ShareOf(step.peak.reserved, most), ""};
    for (std::string& text : CountersText(step.peak)) row.cells.push_back(std::move(text));
    row.cells.push_back(ToString(step.after.allocated));
    rows.push_back(std::move(row));
  }
  AddBarTable({{"step", true}, {"requested", true}, {"allocated", true}, {"reserved", true}, {"left after it", true}},
              rows, &body);
  return body;
}

// Who holds it at its highest moment, or when it failed: the largest lines of Python, then the rest.
Markup DrawHolders(const std::vector<HeldRow>& held) {
  constexpr size_t kMost = 15;
  Markup body;
  if (held.empty()) return body;
  std::vector<std::pair<Bytes, BarRow>> rows;
  Bytes most;
  for (const HeldPart& part : PartsOf(held)) {
    most = std::max(most, part.lines.front().bytes);
    for (const HeldLine& line : part.lines) {
      const std::string caller = line.caller.file.empty() ? "" : LineText(line.caller);
      rows.push_back({line.bytes,
                      {{part.name, LineText(line.place) + FunctionText(line.place), caller, line.module,
                        std::to_string(line.blocks), ToString(line.bytes)},
                       0,
                       ""}});
    }
  }
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<BarRow> shown;
  Bytes rest;
  for (auto& [bytes, row] : rows) {
    row.share = ShareOf(bytes, most);
    if (shown.size() < kMost)
      shown.push_back(std::move(row));
    else
      rest += bytes;
  }
  if (rest > Bytes()) shown.push_back({{"more lines", "", "", "", "", ToString(rest)}, ShareOf(rest, most), "module"});
  AddBarTable({{"held by", false},
               {"line", false},
               {"called at", false},
               {"module", false},
               {"blocks", true},
               {"requested", true}},
              shown, &body);
  return body;
}

Page Frame(const ScriptReport& report, const std::string& answer) {
  Page page;
  page.verb = "run";
  page.title = ScriptName(report.command) + " on " + report.device.name;
  page.Say(answer);
  page.mood = report.card_given || report.oom ? MoodOf(report.verdict) : Mood::kPlain;
  if (report.card_given || report.oom) page.badge = BadgeOf(report.verdict);
  const Levels peak = report.recording.peak();
  page.tiles = {{ToString(peak.requested), "requested"},
                {ToString(peak.allocated), "allocated"},
                {ToString(peak.reserved), "reserved"},
                {ToString(report.band.device().likely), "on the device, likely"}};
  return page;
}

std::string Finish(Page page, const ScriptReport& report, const StepPictures& pictures) {
  AddPictures(pictures, &page);
  page.Add(report.oom ? "Who held it when it failed" : "Who holds it at the peak",
           ToString(report.moment.requested) + " requested in all.", DrawHolders(report.moment.rows));
  page.Add("How sure it is", "The bytes on the device, low, likely and high.", DrawBand(report.band));
  page.Add("Steps", "PyTorch's own counters; the bar is reserved.", DrawSteps(report));
  page.Add("Segments at the peak", "The recorded requests, as PyTorch's allocator lays them out.", pictures.segments);
  page.Add("Notes", "", DrawNotes(report.notes));
  return PrintPage(page);
}

// How much each number took.
void AddLargest(const ScriptLargest& largest, Page* page) {
  std::vector<ScriptTry> tried = largest.tried;
  std::ranges::stable_sort(tried, [](const ScriptTry& a, const ScriptTry& b) { return a.value < b.value; });
  Bytes most;
  for (const ScriptTry& run : tried) most = std::max(most, run.peak.reserved);
  std::vector<BarRow> rows;
  for (const ScriptTry& run : tried) {
    BarRow row{{std::to_string(run.value), run.fits ? "runs" : "out of memory"},
               ShareOf(run.peak.reserved, most),
               run.fits ? "good" : "bad"};
    for (std::string& text : CountersText(run.peak)) row.cells.push_back(std::move(text));
    rows.push_back(std::move(row));
  }
  Markup body;
  AddBarTable({{largest.name, true}, {"it", false}, {"requested", true}, {"allocated", true}, {"reserved", true}}, rows,
              &body);
  page->Add("By " + largest.name, "Each number that was run; of one that failed, until then.", std::move(body));
}

void AddTried(const std::vector<ScriptTried>& tried, const ScriptReport& report, Page* page) {
  const Bytes whole = report.recording.peak().reserved;
  std::vector<BarRow> rows = {{{"as it is", "", ToString(whole), BadgeOf(report.verdict)}, 1, "module"}};
  for (const ScriptTried& change : tried) {
    BarRow row{{change.change, change.changed, "", ""}, 0, ""};
    if (change.report) {
      const Bytes reserved = change.report->recording.peak().reserved;
      row.cells[2] = ToString(reserved);
      row.cells[3] = BadgeOf(change.report->verdict);
      row.share = ShareOf(reserved, whole);
    }
    rows.push_back(std::move(row));
  }
  Markup body;
  AddBarTable({{"change", false}, {"what it changed", false}, {"reserved", true}, {"verdict", false}}, rows, &body);
  page->Add("What was tried", "Each change alone, run again.", std::move(body));
}

std::string TablePage(const RunAnswer& answer) {
  const std::vector<VariedRun>& runs = answer.runs;
  Page page;
  page.verb = "run";
  page.title = ScriptName(runs.front().report.command);
  page.Say(PrintRun(answer, kWholeLines));
  if (page.verdict.empty()) page.verdict = page.title;
  std::vector<TableColumn> columns;
  for (const auto& [name, value] : runs.front().values) columns.push_back({name, true});
  const bool search = runs.front().largest.has_value();
  if (search) columns.push_back({"largest " + runs.front().largest->name, true});
  columns.insert(columns.end(), {{"it", false}, {"requested", true}, {"allocated", true}, {"reserved", true}});
  Bytes most;
  for (const VariedRun& run : runs) most = std::max(most, run.report.recording.peak().reserved);
  std::vector<BarRow> rows;
  for (const VariedRun& run : runs) {
    const Levels peak = run.report.recording.peak();
    const bool fits = run.largest ? run.largest->largest.has_value() : run.report.verdict != Verdict::kDoesNotFit;
    BarRow row{{}, ShareOf(peak.reserved, most), fits ? "good" : "bad"};
    for (const auto& [name, value] : run.values) row.cells.push_back(value);
    if (search)
      row.cells.push_back(run.largest && run.largest->largest ? std::to_string(*run.largest->largest) : "none");
    row.cells.emplace_back(fits ? "runs" : "out of memory");
    for (std::string& text : CountersText(peak)) row.cells.push_back(std::move(text));
    rows.push_back(std::move(row));
  }
  Markup body;
  AddBarTable(columns, rows, &body);
  page.Add("Runs", "The bar is reserved.", std::move(body));
  page.Add("Notes", "", DrawNotes(answer.notes()));
  return PrintPage(page);
}

}  // namespace

std::string PrintRunPage(const RunAnswer& answer, const StepPictures* pictures) {
  if (answer.is_table) return TablePage(answer);
  const auto& [values, report, largest] = answer.first();
  Page page = Frame(report, PrintRun(answer, kWholeLines));
  if (answer.tried) AddTried(*answer.tried, report, &page);
  if (largest) AddLargest(*largest, &page);
  return Finish(std::move(page), report, *pictures);
}

std::string PrintRecordPage(const RecordReport& report, const StepPictures& pictures) {
  Page page;
  page.verb = report.planned ? "plan" : "fit";
  page.title = pictures.chart.title;
  page.Say(PrintRecordReport(report, kWholeLines));
  const RecordedWay& now = report.ways.front();
  page.mood = MoodOf(now.verdict);
  page.badge = BadgeOf(now.verdict);
  const Bytes context = report.device.context.likely;
  page.tiles = {{ToString(DeviceBytes(now.peak, context)), "needed as recorded"},
                {ToString(report.device.available()), "on " + CardText(report.device)}};
  std::vector<BarRow> rows;
  for (const RecordedWay& way : report.ways) {
    const Bytes needs = DeviceBytes(way.peak, context);
    const Mood mood = MoodOf(way.verdict);
    rows.push_back({{way.change, way.how, ToString(needs), BadgeOf(way.verdict)},
                    ShareOf(needs, report.device.available()),
                    mood == Mood::kGood    ? "good"
                    : mood == Mood::kTight ? "tight"
                                           : "bad"});
  }
  Markup ways;
  AddBarTable({{"change", false}, {"how", false}, {"needs", true}, {"verdict", false}}, rows, &ways);
  if (rows.size() > 1) page.Add("Changes", "The bar is the share of the card.", std::move(ways));
  AddPictures(pictures, &page);
  page.Add("Where the bytes go", "", DrawBreakdown({{"as recorded", &now.peak}}, context));
  page.Add("Who holds it at the peak", "", DrawHolders(report.holders));
  page.Add("Segments at the peak", "", pictures.segments);
  page.Add("Notes", "", DrawNotes(report.notes));
  return PrintPage(page);
}

std::string PrintRecordMatrixPage(const RecordMatrix& matrix) {
  Page page;
  page.verb = "fit";
  page.title = matrix.file + " on several cards";
  page.Say(PrintRecordMatrix(matrix, kWholeLines));
  std::vector<BarRow> rows;
  for (const RecordMatrix::Row& row : matrix.cards) {
    const Bytes needs = DeviceBytes(row.way.peak, row.device.context.likely);
    const Mood mood = MoodOf(row.way.verdict);
    rows.push_back({{row.device.name, ToString(row.device.available()), ToString(needs), BadgeOf(row.way.verdict)},
                    ShareOf(needs, row.device.available()),
                    mood == Mood::kGood    ? "good"
                    : mood == Mood::kTight ? "tight"
                                           : "bad"});
  }
  Markup body;
  AddBarTable({{"card", false}, {"usable", true}, {"needs", true}, {"verdict", false}}, rows, &body);
  page.Add("Cards", "The bar is the share of the card.", std::move(body));
  page.Add("Notes", "", DrawNotes(matrix.notes));
  return PrintPage(page);
}

}  // namespace vramplan
