#include "planner/report/script_search.h"

#include <algorithm>
#include <tuple>

#include "graph/base/text_table.h"
#include "planner/report/estimate.h"
#include "planner/report/json/parts.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string Setting(const ScriptLargest& largest, int64_t value) { return largest.name + "=" + std::to_string(value); }

std::string FirstLine(const ScriptLargest& largest, const ScriptReport& report) {
  const std::string script = ScriptName(report.command) + ": ", card = CardText(report.device);
  const std::string fails =
      largest.failure ? Setting(largest, *largest.first_failing) + " " + RefusalText(*largest.failure) : "";
  if (!largest.largest) return script + "no " + largest.name + " runs on " + card + ": " + fails;
  std::string text = script + Setting(largest, *largest.largest);
  if (!largest.first_failing) return text + ", the highest that was asked for, runs on " + card;
  // More steps may fragment a card that is nearly full.
  const bool ended_early = report.recording.end == "steps" && !report.recording.steps.empty();
  const std::string steps = Counted(static_cast<int64_t>(report.recording.steps.size()), "step");
  text += " is the largest that runs " + (ended_early ? steps + " " : "") + "on " + card;
  if (report.verdict == Verdict::kTight) text += " (tight: the card may need more than is free)";
  return text + "; " + fails;
}

std::string ScriptLargestText(const ScriptLargest& largest) {
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

// Of --gpus alone: another value would make several rows of one rank.
std::vector<ScriptProcess> RanksOf(const std::vector<VariedRun>& runs) {
  std::vector<ScriptProcess> ranks;
  for (const VariedRun& run : runs) {
    if (run.values.size() != 1 || run.largest) return {};
    ranks.insert(ranks.end(), run.report.processes.begin(), run.report.processes.end());
  }
  return ranks;
}

// Fewer numbers lie on any law.
constexpr size_t kLeastRuns = 3;

// An empty line before what is there.
std::string Below(const std::string& text) { return text.empty() ? "" : "\n" + text; }

}  // namespace

std::vector<SweepLaw> LawsOf(const ScriptLargest& largest) {
  std::vector<SweptAnswer> answers;
  for (const ScriptTry& run : largest.tried) {
    if (run.fits) answers.push_back({{std::to_string(run.value)}, run.peak.requested});
  }
  return LawsAlong({largest.name}, answers, kLeastRuns);
}

std::vector<SweepLaw> LawsOf(const std::vector<VariedRun>& runs) {
  // Each row of a search has its own number.
  if (runs.front().largest) return {};
  std::vector<std::string> axes;
  for (const auto& [name, value] : runs.front().values) axes.push_back(name);
  std::vector<SweptAnswer> answers;
  for (const VariedRun& run : runs) {
    SweptAnswer& answer = answers.emplace_back();
    for (const auto& [name, value] : run.values) answer.values.push_back(value);
    if (!run.report.oom) answer.requested = run.report.recording.peak().requested;
  }
  std::vector<SweepLaw> laws = LawsAlong(axes, answers, kLeastRuns);
  // What ranks share falls with their number.
  std::erase_if(laws, [](const SweepLaw& law) { return law.axis == "gpus"; });
  return laws;
}

std::string PrintLargest(const ScriptLargest& largest, const ScriptReport& report, const Style& style) {
  TextTable table(
      {{largest.name, kRight}, {"runs", kLeft}, {"requested", kRight}, {"allocated", kRight}, {"reserved", kRight}});
  std::vector<ScriptTry> tried = largest.tried;
  std::ranges::sort(tried, {}, &ScriptTry::value);
  for (const ScriptTry& run : tried) {
    table.AddRow({std::to_string(run.value), run.fits ? "yes" : "no, it had", ToString(run.peak.requested),
                  ToString(run.peak.allocated), ToString(run.peak.reserved)});
  }
  return FirstLine(largest, report) + "\n\n" + table.Print(style.width) + Below(PrintLaws(LawsOf(largest), style)) +
         "\n" + PrintScript(report, style);
}

std::string TriedAdvice(const std::vector<ScriptTried>& tried, const ScriptReport& report) {
  const auto needs = [](const ScriptReport& run) { return run.band.device().likely; };
  const std::string has = ToString(report.device.available());
  // `Verdict` rises from fits to does-not-fit. Those that change the least come first.
  const ScriptTried* best = nullptr;
  const ScriptTried* least = nullptr;
  for (const ScriptTried& each : tried) {
    if (!each.report || each.report->oom) continue;
    if (best == nullptr || each.report->verdict < best->report->verdict) best = &each;
    if (least == nullptr || needs(*each.report) < needs(*least->report)) least = &each;
  }
  if (report.verdict != Verdict::kFits && best != nullptr && best->report->verdict < report.verdict) {
    const bool surely = best->report->verdict == Verdict::kFits;
    std::string text = "To make it " + std::string(surely ? "fit" : "fit, if tightly") + ", " + best->advice + " (" +
                       best->changed + "): it then needs " + ToString(needs(*best->report)) + " of " + has + ".";
    if (least != best) text += " The least is " + ToString(needs(*least->report)) + ", with " + least->change + ".";
    return text;
  }
  if (report.oom) {
    return "None of these changes alone makes it fit: combine them, make the batch or the input smaller, or take a "
           "larger card.";
  }
  const std::string as_it_is = report.card_given ? "It fits as it is. " : "";
  if (least == nullptr || needs(*least->report) >= needs(report))
    return as_it_is + "None of these changes saves memory.";
  return as_it_is + "The most is saved by " + least->change + ", " + ToString(needs(*least->report)) + " instead of " +
         ToString(needs(report)) + ": " + least->advice + " (" + least->changed + ").";
}

std::string PrintTried(const std::vector<ScriptTried>& tried, const ScriptReport& report, const Style& style) {
  TextTable table({{"change", kLeft},
                   {"requested", kRight},
                   {"allocated", kRight},
                   {"reserved", kRight},
                   {"on the card", kRight},
                   {"", kLeft}});
  const auto row = [&](const std::string& change, const ScriptReport& run) {
    const Levels peak = run.recording.peak();
    std::vector<std::string> cells = {change};
    for (const Bytes bytes : {peak.requested, peak.allocated, peak.reserved}) cells.push_back(ToString(bytes));
    cells.push_back(run.oom ? "" : ToString(run.band.device().likely));
    const std::string verdict(run.card_given ? Name(run.verdict) : "");
    cells.push_back(run.oom ? "out of memory" : verdict);
    table.AddRow(std::move(cells));
  };
  row("none", report);
  std::string changed;
  for (const ScriptTried& each : tried) {
    if (each.report) row(each.change, *each.report);
    changed += Indented(each.change + ": " + each.changed, style);
  }
  return PrintScript(report, style) + "\nrun again with a change:\n" + table.Print(style.width) + changed + "\n" +
         Wrapped(TriedAdvice(tried, report), style.width, "") + "\n";
}

std::string PrintReal(const ScriptReport& report, const ScriptReport& real, const std::string& card,
                      const Style& style) {
  TextTable table({{"peak", kLeft}, {"pretend", kRight}, {"real", kRight}, {"", kRight}});
  bool equal = true;
  const auto rows = [&](const std::string& name, const Levels& ours, const Levels& theirs) {
    const std::tuple<const char*, Bytes, Bytes> levels[] = {{"requested", ours.requested, theirs.requested},
                                                            {"allocated", ours.allocated, theirs.allocated},
                                                            {"reserved", ours.reserved, theirs.reserved}};
    for (const auto& [level, a, b] : levels) {
      equal = equal && a == b;
      const double part = b == Bytes() ? 0 : static_cast<double>(a.count()) / static_cast<double>(b.count()) - 1;
      table.AddRow(
          {name + ", " + level, ToString(a), ToString(b), a == b ? "equal" : Formatted("%+.2f %%", 100 * part)});
    }
  };
  const std::vector<RecordedStep>&ours = report.recording.steps, &theirs = real.recording.steps;
  for (size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i)
    rows("step " + std::to_string(ours[i].step), ours[i].peak, theirs[i].peak);
  rows("highest", report.recording.peak(), real.recording.peak());
  if (real.oom) equal = equal && report.oom && real.oom->asked == report.oom->asked;
  return ScriptName(report.command) + ": the pretend card and " + card + " " +
         (equal ? "agree to the byte" : "differ") + (real.oom ? "; there it " + RefusalText(real) : "") + "\n\n" +
         table.Print(style.width) + "\n" + PrintScript(report, style);
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
    const Levels peak = report.recording.peak();
    std::vector<std::string> cells;
    for (const auto& [name, value] : run.values) cells.push_back(value);
    for (const Bytes bytes : {peak.requested, peak.allocated, peak.reserved}) cells.push_back(ToString(bytes));
    cells.push_back(report.oom ? "" : ToString(report.band.device().likely));
    if (first.card_given) cells.emplace_back(report.oom ? "out of memory" : Name(report.verdict));
    if (searched) cells.push_back(ScriptLargestText(*run.largest));
    table.AddRow(std::move(cells));
    fitting += report.oom ? 0 : 1;
  }
  std::string text = ScriptName(first.command) + ": ";
  text += first.card_given ? std::to_string(fitting) + " of " + std::to_string(runs.size()) + " fit on " +
                                 CardText(first.device) + FromText(runs)
                           : std::to_string(runs.size()) + " runs, on a card that is never full";
  return text + "\n\n" + table.Print(style.width) + Below(PrintLaws(LawsOf(runs), style)) +
         Below(PrintRanks(RanksOf(runs), style));
}

}  // namespace vramplan
