#include "planner/calibration/fit.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace vramplan {
namespace {

std::vector<TimedWork> Medians(const std::vector<TimedWork>& samples) {
  std::map<double, std::vector<double>> by_work;
  for (const TimedWork& sample : samples) {
    if (sample.work > 0 && sample.seconds > 0) by_work[sample.work].push_back(sample.seconds);
  }
  std::vector<TimedWork> medians;
  for (auto& [work, seconds] : by_work) {
    const auto middle = seconds.begin() + static_cast<std::ptrdiff_t>(seconds.size() / 2);
    std::nth_element(seconds.begin(), middle, seconds.end());
    medians.push_back({work, *middle});
  }
  return medians;
}

struct Line {
  double unit = 0, launch = 0;  // seconds = launch + unit * (work / scale)
};

// Least squares of (launch + unit * work) / seconds against 1, by the normal equations. Work is scaled so that both
// columns are of a size.
Line Solve(const std::vector<TimedWork>& medians, double scale, bool with_launch) {
  double ww = 0, wl = 0, ll = 0, w1 = 0, l1 = 0;
  for (const TimedWork& one : medians) {
    const double work = one.work / scale / one.seconds, launch = 1 / one.seconds;
    ww += work * work;
    wl += work * launch;
    ll += launch * launch;
    w1 += work;
    l1 += launch;
  }
  if (!with_launch) return {w1 / ww, 0};
  const double determinant = ww * ll - wl * wl;
  return {(w1 * ll - l1 * wl) / determinant, (l1 * ww - w1 * wl) / determinant};
}

}  // namespace

std::optional<FittedRate> FitRate(const std::string& what, const std::vector<TimedWork>& samples) {
  const std::vector<TimedWork> medians = Medians(samples);
  if (medians.size() < 2) return std::nullopt;
  // Seconds of a unit of work.
  const double scale = medians.back().work / medians.back().seconds;
  auto [unit, launch] = Solve(medians, scale, true);
  if (!(launch >= 0)) {
    unit = Solve(medians, scale, false).unit;
    launch = 0;
  }
  if (!(unit > 0) || !std::isfinite(unit) || !std::isfinite(launch)) return std::nullopt;
  FittedRate fit{.what = what, .rate = scale / unit, .launch = launch};
  double squares = 0;
  for (const TimedWork& sample : samples) {
    if (sample.work <= 0 || sample.seconds <= 0) continue;
    const double off = (launch + sample.work / fit.rate) / sample.seconds - 1;
    squares += off * off;
    ++fit.samples;
  }
  fit.residual = std::sqrt(squares / fit.samples);
  return fit;
}

}  // namespace vramplan
