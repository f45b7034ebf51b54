#include "planner/report/record.h"

#include <algorithm>

#include "graph/base/text_table.h"
#include "planner/report/estimate.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/script_holders.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

Bytes NeedsOf(const RecordedWay& way, const Device& device) { return DeviceBytes(way.peak, device.context.likely); }

bool IsBetter(const RecordedWay& way, const RecordedWay& now) {
  return way.verdict < now.verdict || way.peak.peak.reserved < now.peak.peak.reserved;
}

std::string MomentText(const RecordMoment& moment, bool trains) {
  if (moment.step == 0) return "before the first step";
  if (!trains) return "in the " + std::string(Name(moment.phase));
  return "in the " + std::string(Name(moment.phase)) + " of step " + std::to_string(moment.step);
}

std::string AskedText(const RecordMoment& moment) {
  std::string text = ToString(moment.asked);
  if (!moment.place.empty()) text += " at " + moment.place;
  if (!moment.module.empty()) text += " (module " + moment.module + ")";
  return text;
}

// The cheapest of those that fit: they stand in the order of what they cost.
const RecordedWay* FirstThatFits(const RecordReport& report) {
  const auto fits =
      std::ranges::find_if(report.ways, [](const RecordedWay& way) { return way.verdict != Verdict::kDoesNotFit; });
  return fits == report.ways.end() ? nullptr : &*fits;
}

std::string FirstLineOf(const RecordReport& report) {
  const RecordedWay& now = report.ways.front();
  const bool fits = now.verdict != Verdict::kDoesNotFit;
  const std::string line = report.file + " " +
                           CardVerdictText(now.verdict, CardText(report.device) + " as recorded", now.band.device(),
                                           report.device.available());
  if (fits || !report.planned) return line;
  const RecordedWay* other = FirstThatFits(report);
  if (other == nullptr) return line + "; nothing that was tried makes it fit";
  return line + (other->verdict == Verdict::kTight ? "; it is tight with: " : "; it fits with: ") + other->change;
}

std::string PrintWays(const RecordReport& report, const Style& style) {
  TextTable table({{"change", kLeft, true}, {"needs", kRight}, {"saves", kRight}, {"verdict"}, {"how", kLeft, true}});
  const Bytes now = NeedsOf(report.ways.front(), report.device);
  for (const RecordedWay& way : report.ways) {
    const Bytes needs = NeedsOf(way, report.device);
    table.AddRow({way.change, ToString(needs), &way == &report.ways.front() ? "" : SignedText(now - needs),
                  std::string(Name(way.verdict)), way.how});
  }
  return "\n" + table.Print(style.width);
}

}  // namespace

RecordedRun::RecordedRun(const Record& record) : RecordedRun(record, Bytes()) {
  const Bytes ours = Replay(played.timeline, 1, AllocatorConfig(), Bytes::Max()).peak.reserved;
  if (record.reserved > ours) beyond = record.reserved - ours;
}
RecordedRun::RecordedRun(const Record& changed, Bytes beyond_of_it)
    : played(Played(changed)), cudnn(changed.cudnn), beyond(beyond_of_it) {}

OnCard VerdictOfRecord(const RecordedRun& run, const Device& device, const AllocatorConfig& given) {
  const auto replays = std::make_shared<Replays>();
  const Replays::Step step(replays, &run.played.timeline);  // the run's own, which outlives them
  return VerdictOf({step, nullptr, 1, run.cudnn, run.beyond}, device, given, replays.get());
}

RecordMoment MomentOf(const Record& record, const PlayedRecord& played, size_t event) {
  const RecordRow& row = record.rows[played.rows[event]];
  RecordMoment moment;
  moment.step = row.step;
  moment.phase = row.phase;
  if (row.block < 0) return moment;
  moment.asked = record.blocks[static_cast<size_t>(row.block)].bytes;
  moment.place = PlaceText(record, row.block);
  if (row.module >= 0) moment.module = record.modules[static_cast<size_t>(row.module)];
  return moment;
}

std::string PrintRecordReport(const RecordReport& report, const Style& style) {
  const RecordedWay& now = report.ways.front();
  std::string text = FirstLineOf(report) + "\n";
  const auto line = [&](const std::string& said) { text += "  " + Wrapped(said, style.width - 2, "  ") + "\n"; };
  if (report.refused)
    line("fails " + MomentText(*report.refused, report.trains) + ": no room for " + AskedText(*report.refused));
  if (const std::string roomy = RoomyText(now); !roomy.empty()) line(roomy);
  line("its peak is " + MomentText(report.peak, report.trains) + ", reached by a request for " +
       AskedText(report.peak));
  if (report.planned) {
    text += PrintWays(report, style);
    if (report.smallest_card) text += "\nthe smallest card that holds it as recorded: " + *report.smallest_card + "\n";
    return text;
  }
  for (size_t i = 1; i < report.ways.size(); ++i) {
    const RecordedWay& way = report.ways[i];
    if (!IsBetter(way, now)) continue;
    line("with " + way.how + ": it needs " + ToString(NeedsOf(way, report.device)) +
         (way.verdict == now.verdict ? "" : ", " + std::string(Name(way.verdict))));
  }
  std::vector<BreakdownRow> besides = Breakdown(now.peak, report.device.context.likely);
  besides.erase(besides.begin(), besides.begin() + kCategories);
  text += PrintHeld("at the peak, " + MomentText(report.peak, report.trains), report.holders, style, besides);
  if (const std::string band = PrintBand(now.band, style); style.verbose && !band.empty()) text += "\n" + band;
  return text;
}

std::string PrintRecordMatrix(const RecordMatrix& matrix, const Style& style) {
  const auto fits = [](const RecordMatrix::Row& row) { return row.way.verdict != Verdict::kDoesNotFit; };
  const RecordMatrix::Row* smallest = nullptr;
  for (const RecordMatrix::Row& row : matrix.cards) {
    if (fits(row) && (smallest == nullptr || row.device.usable < smallest->device.usable)) smallest = &row;
  }
  std::string text = matrix.file + " fits as recorded on " + std::to_string(std::ranges::count_if(matrix.cards, fits)) +
                     " of " + std::to_string(matrix.cards.size()) + " cards";
  if (smallest != nullptr) {
    text += SmallestText(smallest->device.name, NeedsOf(smallest->way, smallest->device), smallest->device.available(),
                         smallest->way.verdict);
  }
  TextTable table({{"--gpu"}, {"card", kLeft, true}, {"usable", kRight}, {"needs", kRight}, {"verdict"}});
  for (const RecordMatrix::Row& row : matrix.cards) {
    table.AddRow({row.id, row.device.name, ToString(row.device.available()), ToString(NeedsOf(row.way, row.device)),
                  std::string(Name(row.way.verdict))});
  }
  return text + "\n\n" + table.Print(style.width);
}

}  // namespace vramplan
