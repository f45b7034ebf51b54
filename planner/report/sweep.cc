#include "planner/report/sweep.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/base/text_table.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string Quoted(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

// "batch, sequence and precision".
std::string Enumerated(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
  return text;
}

// "3 of 4 settings", "all 4 settings", "none of 4 settings".
std::string SettingsText(int64_t count, size_t of) {
  const std::string all = std::to_string(of) + " settings";
  if (count == 0) return "none of " + all;
  return (static_cast<size_t>(count) == of ? "all " : std::to_string(count) + " of ") + all;
}

// "unet.onnx needs from 1.11 GiB to 3.57 GiB to train, depending on batch; 3 of 4 settings fit on Tesla T4".
std::string HeadlineOf(const SweepReport& report) {
  std::optional<Bytes> least, most;
  int64_t answered = 0, held = 0, tight = 0;
  for (const SweepRow& row : report.rows) {
    if (!row.levels) continue;
    const Bytes device = row.band.device().likely;
    least = std::min(least.value_or(device), device);
    most = std::max(most.value_or(device), device);
    ++answered;
    held += row.verdict && *row.verdict != Verdict::kDoesNotFit ? 1 : 0;
    tight += row.verdict == Verdict::kTight ? 1 : 0;
  }
  const std::string model = FileName(report.head.model.file), mode{Name(report.head.mode)};
  const size_t asked = report.rows.size();
  const std::string axes = Enumerated(report.axes);
  if (!least) return model + ": no answer for " + axes;
  std::string text = model + " needs ";
  if (*least == *most) {
    text += ToString(*least) + " to " + mode + (answered > 1 ? ", whatever the " + axes : "");
  } else {
    text += "from " + ToString(*least) + " to " + ToString(*most) + " to " + mode + ", depending on " + axes;
  }
  if (static_cast<size_t>(answered) < asked) {
    const int64_t without = static_cast<int64_t>(asked) - answered;
    text += "; " + SettingsText(without, asked) + (without == 1 ? " has" : " have") + " no answer";
  }
  if (!report.device) return text;
  if (asked == 1 && report.rows[0].verdict)
    return StepVerdictText(report.head, *report.rows[0].verdict, *report.device, report.rows[0].band);
  // The head says how many cards share the first of the settings.
  const bool cards_vary = std::ranges::any_of(report.axes, [](const std::string& axis) { return axis == "gpus"; });
  text += "; " + SettingsText(held, asked) + (held > 1 ? " fit" : " fits") + " on " +
          (cards_vary ? "each card (" + CardText(*report.device) + ")" : PlaceText(report.head, *report.device));
  return tight == 0 ? text : text + ", " + std::to_string(tight) + " of them tight";
}

}  // namespace

std::string PrintSweep(const SweepReport& report, const Style& style) {
  std::string text = HeadlineOf(report) + "\n";
  text += PrintLaws(report.laws, style) + PrintSpec(report.head.spec, style) + "\n";
  std::vector<TextTable::Column> columns;
  for (const std::string& axis : report.axes) columns.push_back({axis, kRight});
  columns.insert(columns.end(), {{"requested", kRight}, {"reserved", kRight}, {"on the device", kRight}});
  if (report.device) columns.push_back({"verdict", kLeft});
  const auto gives_back = [](const SweepRow& row) { return row.levels && row.roomy > row.levels->reserved; };
  const bool larger = report.device && std::ranges::any_of(report.rows, gives_back);
  if (larger) columns.push_back({"on a larger card", kRight});
  if (report.all_cards) columns.push_back({"smallest card", kLeft, true});
  columns.push_back({"", kLeft, true});
  Bytes most;
  for (const SweepRow& row : report.rows) most = std::max(most, row.levels ? row.band.device().likely : Bytes());
  TextTable table(columns);
  for (const SweepRow& row : report.rows) {
    std::vector<std::string> cells = row.values;
    const Bytes device = row.levels ? row.band.device().likely : Bytes();
    cells.push_back(row.levels ? ToString(row.levels->requested) : "");
    cells.push_back(row.levels ? ToString(row.levels->reserved) : "");
    cells.push_back(row.levels ? ToString(device) : "");
    if (report.device) cells.emplace_back(row.verdict ? vramplan::Name(*row.verdict) : "");
    if (larger) cells.push_back(gives_back(row) ? ToString(device + (row.roomy - row.levels->reserved)) : "");
    if (report.all_cards) cells.push_back(!row.card ? "" : row.card->empty() ? "none" : *row.card);
    const double share = most > Bytes() ? static_cast<double>(device.count()) / static_cast<double>(most.count()) : 0;
    cells.push_back(row.levels ? Bar(share, 20, style.unicode) : row.failure);
    table.AddRow(std::move(cells));
  }
  return text + table.Print(style.width);
}

std::string PrintSweepCsv(const SweepReport& report) {
  std::string text;
  for (const std::string& axis : report.axes) text += Quoted(axis) + ",";
  text += "requested,allocated,reserved,device_low,device,device_high,verdict,card,failure\n";
  for (const SweepRow& row : report.rows) {
    for (const std::string& value : row.values) text += Quoted(value) + ",";
    if (row.levels) {
      const Band device = row.band.device();
      for (const Bytes bytes :
           {row.levels->requested, row.levels->allocated, row.levels->reserved, device.low, device.likely, device.high})
        text += std::to_string(bytes.count()) + ",";
    } else {
      text += ",,,,,,";
    }
    text += std::string(row.verdict ? vramplan::Name(*row.verdict) : "") + "," + Quoted(row.card.value_or("")) + "," +
            Quoted(row.failure) + "\n";
  }
  return text;
}

}  // namespace vramplan
