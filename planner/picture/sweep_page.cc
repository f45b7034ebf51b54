#include "planner/picture/sweep_page.h"

#include <algorithm>
#include <array>
#include <optional>

#include "planner/picture/fit_page.h"
#include "planner/picture/page.h"
#include "planner/picture/plot.h"
#include "planner/picture/step_pictures.h"
#include "planner/picture/table.h"

namespace vramplan {
namespace {

constexpr size_t kCurves = 8;
constexpr int64_t kAcrossUnits = 1000;

bool IsNumber(const std::string& text) { return text.find_first_not_of("0123456789") == std::string::npos; }

// What runs to the right: the first axis of numbers with most values.
std::optional<size_t> AxisAcross(const SweepReport& report) {
  std::optional<size_t> best;
  size_t most = 1;
  for (size_t a = 0; a < report.axes.size(); ++a) {
    std::vector<std::string> values;
    bool numbers = true;
    for (const SweepRow& row : report.rows) {
      numbers &= IsNumber(row.values[a]);
      if (std::ranges::find(values, row.values[a]) == values.end()) values.push_back(row.values[a]);
    }
    if (!numbers || values.size() <= most) continue;
    most = values.size();
    best = a;
  }
  return best;
}

struct SweepCurve {
  std::string name;                              // "sequence 512", what the other axes are
  std::vector<std::pair<double, Bytes>> points;  // where the value is, from the left; on the device
};

struct SweepCurves {
  std::string across;
  std::vector<SweepCurve> curves;  // those that are drawn
  size_t all = 0;
  std::vector<std::pair<double, std::string>> values;  // places and texts of the axis
  Bytes highest;
};

// Each value stands where the number is, so that a straight line is one.
std::optional<SweepCurves> CurvesOf(const SweepReport& report) {
  const std::optional<size_t> across = AxisAcross(report);
  if (!across) return std::nullopt;
  SweepCurves drawn{.across = report.axes[*across]};
  std::vector<std::string> values;
  for (const SweepRow& row : report.rows) {
    if (std::ranges::find(values, row.values[*across]) == values.end()) values.push_back(row.values[*across]);
  }
  const auto number = [](const std::string& text) { return std::strtod(text.c_str(), nullptr); };
  const auto [low, high] = std::ranges::minmax(values, {}, number);
  const double from = number(low), width = number(high) - from;
  if (values.size() < 2 || width <= 0) return std::nullopt;
  for (const std::string& value : values) drawn.values.emplace_back((number(value) - from) / width, value);
  std::ranges::sort(drawn.values);
  std::vector<SweepCurve> curves;
  drawn.highest = report.device ? report.device->available() : Bytes();
  for (const SweepRow& row : report.rows) {
    if (!row.levels) continue;
    std::string name;
    for (size_t a = 0; a < row.values.size(); ++a) {
      if (a != *across) name += (name.empty() ? "" : ", ") + report.axes[a] + " " + row.values[a];
    }
    auto curve = std::ranges::find(curves, name, &SweepCurve::name);
    if (curve == curves.end()) curve = curves.insert(curves.end(), {name, {}});
    const Bytes device = row.band.device().likely;
    curve->points.emplace_back((number(row.values[*across]) - from) / width, device);
    drawn.highest = std::max(drawn.highest, device);
  }
  if (curves.empty()) return std::nullopt;
  drawn.all = curves.size();
  // The names of more would not be told apart: the first, the last, and some between.
  const size_t shown = std::min(kCurves, curves.size());
  for (size_t i = 0; i < shown; ++i) {
    drawn.curves.push_back(curves[shown == 1 ? 0 : i * (curves.size() - 1) / (shown - 1)]);
    std::ranges::sort(drawn.curves.back().points);
  }
  return drawn;
}

constexpr std::array<const char*, kCurves> kColors = {"p3", "p4", "p5", "p2", "p7", "p6", "p0", "p1"};

Markup DrawPaths(const SweepCurves& drawn, const ByteScale& up) {
  Markup lines;
  for (size_t i = 0; i < drawn.curves.size(); ++i) {
    const SweepCurve& curve = drawn.curves[i];
    std::string path;
    for (const auto& [place, bytes] : curve.points) {
      path += (path.empty() ? "M" : "L") + std::to_string(static_cast<int64_t>(kAcrossUnits * place)) + " " +
              std::to_string(up.Y(bytes));
    }
    lines.Open("path", {{"class", "curve"}, {"style", std::string("stroke:var(--") + kColors[i] + ")"}, {"d", path}});
    lines.Element("title", {}, curve.name.empty() ? drawn.across : curve.name).Close();
  }
  return lines;
}

// Of the values of the axis those whose texts have room, the first and the last among them.
std::vector<std::pair<double, std::string>> TicksOf(const SweepCurves& drawn) {
  constexpr double kRoom = 0.06;
  std::vector<std::pair<double, std::string>> ticks;
  for (const auto& value : drawn.values) {
    const bool last = &value == &drawn.values.back();
    while (last && ticks.size() > 1 && value.first - ticks.back().first < kRoom) ticks.pop_back();
    if (last || ticks.empty() || value.first - ticks.back().first >= kRoom) ticks.push_back(value);
  }
  return ticks;
}

std::string LimitText(const Device& device) {
  const std::string size = ToString(device.available());
  return device.name.ends_with(size) ? device.name : device.name + ": " + size;
}

Markup DrawCurves(const SweepReport& report) {
  Markup page;
  const std::optional<SweepCurves> drawn = CurvesOf(report);
  if (!drawn) return page;
  const ByteScale up(drawn->highest);
  page.Open("figure", {{"class", "chart sweep"}, {"id", "sweep"}});
  page.Open("ul", {{"class", "legend"}});
  for (size_t i = 0; i < drawn->curves.size(); ++i) {
    const std::string& name = drawn->curves[i].name;
    if (!name.empty()) page.Open("li").Element("i", {{"class", kColors[i]}}, "").Text(name).Close();
  }
  page.Close();
  AddAxisTitle(kUpwards, "bytes on the device, likely", &page);
  page.Open("div", {{"class", "plot"}});
  AddGrid(up, &page);
  page.Open("svg", {{"viewBox", "0 0 " + std::to_string(kAcrossUnits) + " " + std::to_string(kPlotHeight)},
                    {"preserveAspectRatio", "none"},
                    {"role", "img"},
                    {"aria-label", "bytes on the device by " + drawn->across}});
  page.Append(DrawPaths(*drawn, up)).Close();
  if (report.device) AddLimit(up, report.device->available(), LimitText(*report.device), &page);
  page.Close().Open("div", {{"class", "numbers"}});
  for (const auto& [place, value] : TicksOf(*drawn))
    page.Element("span", {{"style", "left:" + PercentOf(place, 1)}}, value);
  page.Close();
  AddAxisTitle(kAcross, drawn->across, &page);
  if (drawn->curves.size() < drawn->all) {
    page.Element("figcaption", {},
                 "Of " + std::to_string(drawn->all) + " curves " + std::to_string(drawn->curves.size()) +
                     " are drawn; the table has all.");
  }
  page.Close();
  return page;
}

Markup DrawRows(const SweepReport& report) {
  std::vector<TableColumn> columns;
  for (const std::string& axis : report.axes) columns.push_back({axis, true});
  columns.insert(columns.end(), {{"requested", true}, {"reserved", true}, {"on the device", true}});
  if (report.device) columns.push_back({"verdict", false});
  if (report.all_cards) columns.push_back({"smallest card", false});
  Bytes most = report.device ? report.device->available() : Bytes();
  for (const SweepRow& row : report.rows) most = std::max(most, row.levels ? row.band.device().likely : Bytes());
  std::vector<BarRow> rows;
  for (const SweepRow& row : report.rows) {
    BarRow bar{row.values, 0, ""};
    if (row.levels) {
      const Bytes device = row.band.device().likely;
      bar.cells.insert(bar.cells.end(),
                       {ToString(row.levels->requested), ToString(row.levels->reserved), ToString(device)});
      bar.share = static_cast<double>(device.count()) / static_cast<double>(std::max<int64_t>(1, most.count()));
    } else {
      bar.cells.insert(bar.cells.end(), {row.failure, "", ""});
    }
    if (row.verdict) {
      const Mood mood = MoodOf(*row.verdict);
      bar.color = mood == Mood::kGood ? "good" : mood == Mood::kTight ? "tight" : "bad";
    }
    if (report.device) bar.cells.push_back(row.verdict ? BadgeOf(*row.verdict) : "");
    if (report.all_cards) bar.cells.push_back(!row.card ? "" : row.card->empty() ? "none" : *row.card);
    rows.push_back(std::move(bar));
  }
  Markup body;
  AddBarTable(columns, rows, &body);
  return body;
}

}  // namespace

std::string PrintSweepPage(const SweepReport& report) {
  Page page;
  page.verb = "sweep";
  page.title = FileName(report.head.model.file) + " by ";
  for (size_t a = 0; a < report.axes.size(); ++a) page.title += (a == 0 ? "" : " and ") + report.axes[a];
  const std::string text = PrintSweep(report, kWholeLines);
  page.verdict = text.substr(0, text.find('\n'));
  for (const SweepLaw& law : report.laws) page.said.push_back(law.axis + ": " + LawText(law));
  page.Add("Memory by " + report.axes.front(), "", DrawCurves(report));
  page.Add("Every answer", "", DrawRows(report));
  page.Add("What it rests on", "", DrawSpec(report.head.spec));
  page.Add("Notes", "", DrawNotes(report.notes));
  return PrintPage(page);
}

Result<std::string> PrintSweepSvg(const SweepReport& report) {
  const std::optional<SweepCurves> drawn = CurvesOf(report);
  if (!drawn) {
    return Error{ErrorCode::kUsage, "--format", "svg draws a curve, and no axis of numbers has two answers",
                 "type --format html, or --over batch=1:64:x2"};
  }
  constexpr int kLeft = 86, kTop = 56, kInner = 850, kPlot = 400;
  Markup svg;
  const ByteScale up(drawn->highest);
  const auto y = [&](Bytes bytes) { return std::to_string(kTop + kPlot * up.Y(bytes) / kPlotHeight); };
  const std::string bottom = std::to_string(kTop + kPlot), left = std::to_string(kLeft),
                    right = std::to_string(kLeft + kInner);
  const std::string title = FileName(report.head.model.file) + " by " + drawn->across;
  BeginSvg(title, &svg);
  svg.Element("text", {{"class", "title"}, {"x", left}, {"y", "28"}}, title);
  for (const Bytes tick : up.ticks()) {
    svg.Empty("line", {{"class", "grid"}, {"x1", left}, {"x2", right}, {"y1", y(tick)}, {"y2", y(tick)}});
    svg.Element(
        "text",
        {{"class", "soft"}, {"x", std::to_string(kLeft - 8)}, {"y", y(tick)}, {"dy", "4"}, {"text-anchor", "end"}},
        TickText(tick));
  }
  AddSvgAxisTitle(kTop + kPlot / 2, "bytes on the device, likely", &svg);
  svg.Open("svg", {{"x", left},
                   {"y", std::to_string(kTop)},
                   {"width", std::to_string(kInner)},
                   {"height", std::to_string(kPlot)},
                   {"viewBox", "0 0 " + std::to_string(kAcrossUnits) + " " + std::to_string(kPlotHeight)},
                   {"preserveAspectRatio", "none"}});
  svg.Append(DrawPaths(*drawn, up)).Close();
  if (report.device) {
    const Bytes card = report.device->available();
    svg.Empty("line", {{"class", "limit"}, {"x1", left}, {"x2", right}, {"y1", y(card)}, {"y2", y(card)}});
    svg.Element("text", {{"class", "limit-text"}, {"x", std::to_string(kLeft + 6)}, {"y", y(card)}, {"dy", "-5"}},
                LimitText(*report.device));
  }
  for (const auto& [place, value] : TicksOf(*drawn)) {
    svg.Element("text",
                {{"class", "soft"},
                 {"x", std::to_string(kLeft + static_cast<int>(kInner * place))},
                 {"y", bottom},
                 {"dy", "18"},
                 {"text-anchor", "middle"}},
                value);
  }
  svg.Element("text", {{"class", "soft"}, {"x", right}, {"y", bottom}, {"dy", "38"}, {"text-anchor", "end"}},
              drawn->across);
  int key = 0;
  for (size_t i = 0; i < drawn->curves.size(); ++i) {
    if (drawn->curves[i].name.empty()) continue;
    const int at = kLeft + key % 3 * (kInner / 3), top = kTop + kPlot + 62 + key / 3 * 18;
    svg.Empty("rect", {{"class", kColors[i]},
                       {"x", std::to_string(at)},
                       {"y", std::to_string(top - 10)},
                       {"width", "12"},
                       {"height", "12"},
                       {"rx", "2"}});
    svg.Element("text", {{"x", std::to_string(at + 18)}, {"y", std::to_string(top)}}, drawn->curves[i].name);
    ++key;
  }
  svg.Close();
  return svg.text() + "\n";
}

}  // namespace vramplan
