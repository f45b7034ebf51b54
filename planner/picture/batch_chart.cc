#include "planner/picture/batch_chart.h"

#include <algorithm>

#include "planner/picture/plot.h"
#include "planner/picture/table.h"

namespace vramplan {
namespace {

constexpr int64_t kWidth = 1000;  // of the plot, in units of its own

class BatchScale {
 public:
  explicit BatchScale(const std::vector<CurvePoint>& points)
      : low_(points.front().batch), high_(std::max(points.back().batch, points.front().batch + 1)) {}
  double Share(double batch) const {
    return std::clamp((batch - static_cast<double>(low_)) / static_cast<double>(high_ - low_), 0.0, 1.0);
  }
  std::string X(int64_t batch) const {
    return std::to_string(static_cast<int64_t>(kWidth * Share(static_cast<double>(batch))));
  }
  // Four or five round numbers.
  std::vector<int64_t> Ticks() const {
    constexpr int64_t kMost = 6;
    int64_t step = 1;
    for (int64_t ten = 1; (high_ - low_) / step > kMost; ten *= 10) {
      for (const int64_t factor : {1, 2, 5, 10}) {
        step = ten * factor;
        if ((high_ - low_) / step <= kMost) break;
      }
    }
    std::vector<int64_t> ticks = {low_};
    for (int64_t tick = (low_ / step + 1) * step; tick <= high_; tick += step) {
      if (Share(static_cast<double>(tick)) > 0.06) ticks.push_back(tick);
    }
    return ticks;
  }

 private:
  int64_t low_, high_;
};

std::string Path(const BatchChart& chart, const BatchScale& across, const ByteScale& up, Bytes Band::*end) {
  std::string path;
  for (const CurvePoint& point : chart.points)
    path += (path.empty() ? "M" : "L") + across.X(point.batch) + " " + std::to_string(up.Y(point.device.*end));
  return path;
}

// The band: along its high end, and back along the low one.
std::string BandPath(const BatchChart& chart, const BatchScale& across, const ByteScale& up) {
  std::string path = Path(chart, across, up, &Band::high);
  for (auto point = chart.points.rbegin(); point != chart.points.rend(); ++point)
    path += "L" + across.X(point->batch) + " " + std::to_string(up.Y(point->device.low));
  return path + "Z";
}

void AddZone(const BatchScale& across, double from, double to, const char* name, const std::string& label,
             Markup* page) {
  constexpr double kRoomOfLabel = 0.14;
  const double left = across.Share(from), right = across.Share(to);
  if (right <= left) return;
  page->Open("div", {{"class", std::string("zone ") + name},
                     {"style", "left:" + PercentOf(left, 1) + ";width:" + PercentOf(right - left, 1)}});
  page->Element("span", {{"class", right - left < kRoomOfLabel ? "narrow" : ""}}, label).Close();
}

// Safe, may fit, fails: each begins half a batch before its first one.
void AddZones(const BatchChart& chart, const BatchScale& across, Markup* page) {
  if (!chart.largest) return;
  const double first = static_cast<double>(chart.points.front().batch),
               last = static_cast<double>(chart.points.back().batch);
  const double safe = static_cast<double>(chart.safe.value_or(*chart.largest)) + 0.5;
  const double largest = static_cast<double>(*chart.largest) + 0.5;
  AddZone(across, first, std::min(safe, last), "safe", "safe", page);
  AddZone(across, std::max(first, safe), std::min(largest, last), "likely", "may fit", page);
  AddZone(across, std::max(first, largest), last, "fails", "fails", page);
}

std::string VerdictAt(const BatchChart& chart, int64_t batch) {
  if (!chart.largest) return "";
  if (batch <= chart.safe.value_or(0)) return "safe";
  return batch <= *chart.largest ? "may fit" : "fails";
}

void AddMark(const BatchChart& chart, const BatchScale& across, const ByteScale& up, int64_t batch,
             const std::string& label, bool flag, Markup* page) {
  const auto at = std::ranges::find_if(chart.points, [&](const CurvePoint& point) { return point.batch == batch; });
  if (at == chart.points.end()) return;
  const double share = across.Share(static_cast<double>(batch));
  const std::string text = label + ": " + ToString(at->device.likely);
  if (flag) return AddFlag(share, up, at->device.likely, text, page);
  page->Open("div", {{"class", share > 0.5 ? "peak left" : "peak"},
                     {"style", "left:" + PercentOf(share, 1) + ";bottom:" + up.Percent(at->device.likely)}});
  page->Element("span", {}, text).Close();
}

}  // namespace

Markup DrawBatches(const BatchChart& chart) {
  Markup page;
  if (chart.points.size() < 2) return page;
  Bytes highest = chart.card.value_or(Bytes());
  for (const CurvePoint& point : chart.points) highest = std::max(highest, point.device.high);
  const ByteScale up(highest);
  const BatchScale across(chart.points);
  page.Open("figure", {{"class", "chart batches"}, {"id", "batches"}});
  AddAxisTitle(kUpwards, "bytes on the device", &page);
  page.Open("div", {{"class", "plot"}});
  AddZones(chart, across, &page);
  AddGrid(up, &page);
  page.Open("svg", {{"viewBox", "0 0 " + std::to_string(kWidth) + " " + std::to_string(kPlotHeight)},
                    {"preserveAspectRatio", "none"},
                    {"role", "img"},
                    {"aria-label", "memory on the device by " + chart.dim + ", likely and its band"}});
  page.Empty("path", {{"class", "band"}, {"d", BandPath(chart, across, up)}});
  page.Empty("path", {{"class", "curve"}, {"d", Path(chart, across, up, &Band::likely)}});
  page.Close();
  if (chart.card) AddLimit(up, *chart.card, chart.card_name + ": " + ToString(*chart.card), &page);
  const std::string dim = chart.dim + " ";
  // The one that matters most has its label above the plot.
  const bool two = chart.largest && *chart.largest != chart.asked && *chart.largest > 0;
  AddMark(chart, across, up, chart.asked, dim + std::to_string(chart.asked), !two, &page);
  if (two) AddMark(chart, across, up, *chart.largest, dim + std::to_string(*chart.largest), true, &page);
  page.Close();
  page.Open("div", {{"class", "numbers"}});
  for (const int64_t tick : across.Ticks()) {
    page.Element("span", {{"style", "left:" + PercentOf(across.Share(static_cast<double>(tick)), 1)}},
                 std::to_string(tick));
  }
  page.Close();
  AddAxisTitle(kAcross, chart.dim, &page);
  std::string caption = "To the right the " + chart.dim +
                        ", upwards the bytes on the device: the likely value, and the "
                        "two ends between which it may lie (cuDNN's workspaces, the context, fragmentation).";
  if (chart.largest) {
    if (chart.safe.value_or(0) > 0) caption += " Up to " + std::to_string(*chart.safe) + " it is safe.";
    if (*chart.largest > chart.safe.value_or(0)) caption += " Up to " + std::to_string(*chart.largest) + " it may fit.";
    caption += " From " + std::to_string(*chart.largest + 1) + " on it fails.";
  }
  page.Element("figcaption", {}, caption);
  page.Open("details", {{"class", "as-table"}}).Element("summary", {}, "as a table");
  std::vector<std::vector<std::string>> rows;
  for (const CurvePoint& point : chart.points) {
    rows.push_back({std::to_string(point.batch), ToString(point.device.low), ToString(point.device.likely),
                    ToString(point.device.high), VerdictAt(chart, point.batch)});
  }
  AddTable({{chart.dim, true}, {"low", true}, {"likely", true}, {"high", true}, {"on the card", false}}, rows, &page);
  page.Close().Close();
  return page;
}

}  // namespace vramplan
