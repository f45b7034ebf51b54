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
constexpr int64_t kAcross = 1000;

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
  std::vector<std::pair<size_t, Bytes>> points;  // by the place of the value, on the device
};

Markup DrawCurves(const SweepReport& report) {
  Markup page;
  const std::optional<size_t> across = AxisAcross(report);
  if (!across) return page;
  std::vector<std::string> values;
  std::vector<SweepCurve> curves;
  Bytes highest = report.device ? report.device->available() : Bytes();
  for (const SweepRow& row : report.rows) {
    auto value = std::ranges::find(values, row.values[*across]);
    if (value == values.end()) value = values.insert(values.end(), row.values[*across]);
    if (!row.levels) continue;
    std::string name;
    for (size_t a = 0; a < row.values.size(); ++a) {
      if (a != *across) name += (name.empty() ? "" : ", ") + report.axes[a] + " " + row.values[a];
    }
    auto curve = std::ranges::find(curves, name, &SweepCurve::name);
    if (curve == curves.end()) curve = curves.insert(curves.end(), {name, {}});
    const Bytes device = row.band.device().likely;
    curve->points.emplace_back(static_cast<size_t>(value - values.begin()), device);
    highest = std::max(highest, device);
  }
  if (values.size() < 2 || curves.empty()) return page;
  // The names of more would not be told apart: the first, the last, and some between.
  const size_t shown = std::min(kCurves, curves.size());
  const ByteScale up(highest);
  const auto x = [&](size_t place) { return static_cast<double>(place) / static_cast<double>(values.size() - 1); };
  page.Open("figure", {{"class", "chart sweep"}, {"id", "sweep"}});
  static constexpr std::array<const char*, kCurves> kColors = {"p3", "p4", "p5", "p2", "p7", "p6", "p0", "p1"};
  Markup lines;
  page.Open("ul", {{"class", "legend"}});
  for (size_t i = 0; i < shown; ++i) {
    const SweepCurve& curve = curves[shown == 1 ? 0 : i * (curves.size() - 1) / (shown - 1)];
    if (!curve.name.empty()) page.Open("li").Element("i", {{"class", kColors[i]}}, "").Text(curve.name).Close();
    std::string path;
    for (const auto& [place, bytes] : curve.points) {
      path += (path.empty() ? "M" : "L") + std::to_string(static_cast<int64_t>(kAcross * x(place))) + " " +
              std::to_string(up.Y(bytes));
    }
    lines.Open("path", {{"class", "curve"}, {"style", std::string("stroke:var(--") + kColors[i] + ")"}, {"d", path}});
    lines.Element("title", {}, curve.name.empty() ? report.axes[*across] : curve.name).Close();
  }
  page.Close().Open("div", {{"class", "plot"}});
  AddGrid(up, &page);
  page.Open("svg", {{"viewBox", "0 0 " + std::to_string(kAcross) + " " + std::to_string(kPlotHeight)},
                    {"preserveAspectRatio", "none"},
                    {"role", "img"},
                    {"aria-label", "bytes on the device by " + report.axes[*across]}});
  page.Append(lines).Close();
  if (report.device) {
    AddLimit(up, report.device->available(), report.device->name + ": " + ToString(report.device->available()), &page);
  }
  page.Close().Open("div", {{"class", "numbers"}});
  const size_t every = 1 + values.size() / 12;
  for (size_t place = 0; place < values.size(); place += every)
    page.Element("span", {{"style", "left:" + PercentOf(x(place), 1)}}, values[place]);
  page.Close();
  page.Element("figcaption", {},
               report.axes[*across] + " to the right, value by value; bytes on the device, likely, upwards." +
                   (shown < curves.size() ? " Of " + std::to_string(curves.size()) + " curves " +
                                                std::to_string(shown) + " are drawn; the table has all."
                                          : ""));
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
  page.title = FileName(report.question.model.file) + " by ";
  for (size_t a = 0; a < report.axes.size(); ++a) page.title += (a == 0 ? "" : " and ") + report.axes[a];
  const std::string text = PrintSweep(report, kWholeLines);
  page.verdict = text.substr(0, text.find('\n'));
  for (const SweepLaw& law : report.laws) page.said.push_back(law.axis + ": " + LawText(law));
  page.Add("Memory by " + report.axes.front(), "", DrawCurves(report));
  page.Add("Every answer", "", DrawRows(report));
  page.Add("What it rests on", "", DrawSpec(report.question.spec));
  page.Add("Notes", "", DrawNotes(report.notes));
  return PrintPage(page);
}

}  // namespace vramplan
