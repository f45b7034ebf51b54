#include <algorithm>
#include <array>

#include "graph/base/check.h"
#include "graph/base/text_table.h"
#include "planner/report/estimate.h"
#include "planner/report/parts/model_facts.h"
#include "planner/report/script.h"
#include "planner/report/script_growth.h"
#include "planner/report/script_holders.h"
#include "planner/report/script_places.h"
#include "planner/report/script_seen.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

// `growth`: of a script that would go on; it does not simply fit.
std::string ScriptFirstLine(const ScriptReport& report, const std::optional<ScriptGrowth>& growth) {
  const std::string name = ScriptName(report.command);
  const Bytes needs = report.band.device().likely, has = report.device.available();
  std::string card = CardText(report.device);
  if (report.gpus > 1) card += " (each of " + std::to_string(report.gpus) + " cards)";
  if (report.oom) {
    return name + " does not fit on " + card + ": it " + RefusalText(report);
  }
  if (!report.card_given) return name + " takes " + ToString(needs) + " on a card (likely; none was named)";
  if (growth && growth->full) {
    return name + " fits on " + card + " up to step " + std::to_string(*growth->full - 1) + ", and grows: needs " +
           ToString(needs) + " of " + ToString(has) + " after " + std::to_string(report.recording.steps.size()) +
           " steps (" + ToString(has - needs) + " free)";
  }
  return name + " " + CardVerdictText(report.verdict, card, report.band.device(), has);
}

std::string EndText(const ScriptReport& report) {
  const Recording& recording = report.recording;
  const int64_t steps = static_cast<int64_t>(recording.steps.size());
  std::string text = Counted(steps, "step");
  if (steps == 0) {
    const bool died = report.oom || !recording.failure.empty() || recording.end.empty();
    text = died ? "it died before an optimizer had stepped"
                : "no optimizer stepped: an inference, or an update of the script's own";
  }
  if (recording.end == "steps") text += ", then it was ended";
  if (const std::string unseen = UnseenText(report); !unseen.empty()) text += "; " + unseen;
  if (recording.end == "seconds") text += ", then its time was up";
  if (recording.end == "loop")
    text += ", then it was stopped in a loop that only reads values (they are all zero here)";
  if (recording.end == "exit" && !report.oom) text += ", then it ended by itself";
  if (recording.end == "exit" && report.oom && steps > 0) text += ", then it ran out of memory";
  if (recording.end.empty()) text += ", then it was killed";
  if (recording.ranks > 1)
    text += "; rank " + std::to_string(recording.rank) + " of " + std::to_string(recording.ranks);
  text += "; torch " + recording.torch;
  if (!report.capability.empty()) text += ", capability " + report.capability;
  return text;
}

std::string PrintScriptSteps(const ScriptReport& report, const Style& style) {
  const Recording& recording = report.recording;
  TextTable table(
      {{"step", kLeft}, {"requested", kRight}, {"allocated", kRight}, {"reserved", kRight}, {"left after it", kRight}});
  const auto row = [&](const std::string& name, const Levels& peak, const std::string& left) {
    table.AddRow({name, ToString(peak.requested), ToString(peak.allocated), ToString(peak.reserved), left});
  };
  // A long run: the first and the last ones say it, and those that reached what no other did.
  constexpr size_t kEnds = 5;
  const size_t count = recording.steps.size();
  const Levels highest = recording.peak();
  std::array reached = {false, false, false};
  const auto reaches = [&](const Levels& peak) {
    const std::array now = {peak.requested >= highest.requested, peak.allocated >= highest.allocated,
                            peak.reserved >= highest.reserved};
    bool fresh = false;
    for (size_t i = 0; i < now.size(); ++i) {
      fresh = fresh || (now[i] && !reached[i]);
      reached[i] = reached[i] || now[i];
    }
    return fresh;
  };
  bool left_out = false;
  for (size_t i = 0; i < count; ++i) {
    const RecordedStep& step = recording.steps[i];
    const bool shown = reaches(step.peak) || count <= 2 * kEnds || i < kEnds || i >= count - kEnds;
    if (shown) {
      row(std::to_string(step.step), step.peak, ToString(step.after.allocated));
    } else if (!left_out) {
      table.AddRow({"...", "", "", "", ""});
    }
    left_out = !shown;
  }
  const bool more = recording.last &&
                    (count == 0 || recording.last->allocations > recording.steps.back().allocations) &&
                    (recording.end != "steps" || reaches(recording.last->peak));
  if (more) row(count == 0 ? "the run" : "then", recording.last->peak, ToString(recording.last->now.allocated));
  table.AddRule();
  row("highest", recording.peak(), "");
  return table.Print(style.width);
}

std::string PrintProcesses(const ScriptReport& report, const Style& style) {
  if (report.processes.size() < 2) return "";
  TextTable table({{"process", kLeft},
                   {"rank", kLeft},
                   {"card", kLeft},
                   {"steps", kRight},
                   {"requested", kRight},
                   {"allocated", kRight},
                   {"reserved", kRight}});
  for (const ScriptProcess& process : report.processes) {
    table.AddRow({std::to_string(process.pid), std::to_string(process.rank) + " of " + std::to_string(process.ranks),
                  "cuda:" + std::to_string(process.card), std::to_string(process.steps),
                  ToString(process.peak.requested), ToString(process.peak.allocated), ToString(process.peak.reserved)});
  }
  return "\n" + table.Print(style.width);
}

std::string TogetherText(const ScriptReport& report) {
  if (!report.together) return "";
  return std::to_string(report.together->contexts) + " processes had the card at once, with a context each, and held " +
         ToString(report.together->bytes) + " of it together";
}

std::string PrintOutOfMemory(const ScriptReport& report) {
  if (!report.oom) return "";
  const RecordedRefusal& oom = *report.oom;
  std::string text = "PyTorch held " + ToString(oom.held.allocated) + " in tensors and " +
                     ToString(oom.held.reserved - oom.held.allocated) + " in its cache; " + ToString(oom.free) +
                     " of the card were free";
  if (report.card.largest_refused > Bytes())
    text += "; the largest cudaMalloc that was refused: " + ToString(report.card.largest_refused);
  if (report.caught) text += "; the script caught the error, and made no step and no forward after it";
  return text;
}

}  // namespace

std::string RefusalText(const ScriptReport& report) {
  const RecordedRefusal& refusal = report.oom ? *report.oom : report.survived->first;
  const HighMoment& moment = report.oom ? report.moment : report.survived->second;
  const CodePlace& place = refusal.place.file.empty() ? moment.place : refusal.place;
  return "runs out of memory " + WhenText(moment) + ": " + ToString(refusal.asked) + " more did not fit at " +
         LineText(place) + FunctionText(place);
}

std::string PrintRanks(const std::vector<ScriptProcess>& ranks, const Style& style) {
  constexpr std::array kShown = {Category::kParameters, Category::kGradients, Category::kOptimizerState,
                                 Category::kActivations};
  TextTable table({{"rank", kLeft},
                   {"parameters", kRight},
                   {"gradients", kRight},
                   {"optimizer state", kRight},
                   {"activations", kRight},
                   {"others", kRight},
                   {"allocated", kRight}});
  bool any = false;
  for (const ScriptProcess& rank : ranks) {
    if (!rank.replayed) continue;
    const PeakMoment& moment = rank.replayed->moment;
    std::vector<std::string> cells = {std::to_string(rank.rank) + " of " + std::to_string(rank.ranks)};
    Bytes sum = moment.slack, others = moment.slack;
    for (int i = 0; i < kCategories; ++i) {
      const Bytes bytes = moment.categories[static_cast<size_t>(i)];
      sum += bytes;
      if (std::ranges::find(kShown, static_cast<Category>(i)) == kShown.end()) others += bytes;
    }
    for (const Category category : kShown) cells.push_back(ToString(moment.categories[static_cast<size_t>(category)]));
    VRAMPLAN_CHECK(sum == rank.replayed->peak.allocated);
    cells.push_back(ToString(others));
    cells.push_back(ToString(sum));
    table.AddRow(std::move(cells));
    any = true;
  }
  return any ? "by category, at the peak of allocated:\n" + table.Print(style.width) : "";
}

std::string PrintScript(const ScriptReport& report, const Style& style) {
  const std::optional<ScriptGrowth> growth = GrowthOf(report);
  const bool goes_on = report.recording.end != "exit";
  std::string text = ScriptFirstLine(report, goes_on ? growth : std::nullopt) + "\n";
  const auto line = [&](const std::string& said) {
    if (!said.empty()) text += "  " + Wrapped(said, style.width - 2, "  ") + "\n";
  };
  line(PrintOutOfMemory(report));
  if (report.on_a_larger_card) line(RoomyText(report.band.device().likely, *report.on_a_larger_card));
  line(TogetherText(report));
  if (report.next) text += PrintNext(*report.next, style.width);
  if (growth) line(GrowthText(*growth));
  line(EndText(report));
  text += "\n" + PrintScriptSteps(report, style);
  text +=
      PrintHeld(report.oom ? "when it failed" : "at the peak, " + WhenText(report.moment), report.moment.rows, style);
  // Of a run that died it would be how sure the bytes are that it had until then.
  const std::string band = report.oom ? "" : PrintBand(report.band, style);
  if (!band.empty()) text += "\n" + band;
  text += PrintProcesses(report, style);
  const std::string ranks = PrintRanks(report.processes, style);
  return ranks.empty() ? text : text + "\n" + ranks;
}

}  // namespace vramplan
