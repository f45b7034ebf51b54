#include "planner/calibration/fit.h"

#include <Eigen/Dense>
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

// Rows of [1, work], each divided by what was measured, against ones. Work is scaled so that both columns are of a
// size.
Eigen::VectorXd Solve(const std::vector<TimedWork>& medians, double scale, bool with_launch) {
  const auto rows = static_cast<Eigen::Index>(medians.size());
  Eigen::MatrixXd matrix(rows, with_launch ? 2 : 1);
  for (Eigen::Index i = 0; i < rows; ++i) {
    const TimedWork& one = medians[static_cast<size_t>(i)];
    matrix(i, 0) = one.work / scale / one.seconds;
    if (with_launch) matrix(i, 1) = 1 / one.seconds;
  }
  return matrix.colPivHouseholderQr().solve(Eigen::VectorXd::Ones(rows));
}

}  // namespace

std::optional<FittedRate> FitRate(const std::string& what, const std::vector<TimedWork>& samples) {
  const std::vector<TimedWork> medians = Medians(samples);
  if (medians.size() < 2) return std::nullopt;
  // Seconds of a unit of work.
  const double scale = medians.back().work / medians.back().seconds;
  const Eigen::VectorXd both = Solve(medians, scale, true);
  double unit = both(0), launch = both(1);
  if (!(launch >= 0)) {
    unit = Solve(medians, scale, false)(0);
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
