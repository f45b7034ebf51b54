#include "planner/remat/cut_bound.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "graph/base/check.h"

namespace vramplan {
namespace {

constexpr double kForced = std::numeric_limits<double>::infinity();

bool Reads(const RematProblem& problem, int32_t node, int32_t value) {
  const auto reads = problem.Reads(node);
  return std::ranges::find(reads, value) != reads.end();
}

// Which values may be needed after the moment: used after it, or read by one that may be computed again.
std::vector<bool> Concerned(const RematProblem& problem, int32_t moment) {
  std::vector<bool> concerned(static_cast<size_t>(moment), false);
  for (int32_t value = moment; value-- > 0;) {
    const auto users = problem.Users(value);
    concerned[static_cast<size_t>(value)] = std::ranges::any_of(
        users, [&](int32_t user) { return user > moment || (user < moment && concerned[static_cast<size_t>(user)]); });
  }
  return concerned;
}

}  // namespace

int64_t WorkingSet(const RematProblem& problem, int32_t node) {
  int64_t bytes = problem[node].bytes;
  for (const int32_t read : problem.Reads(node)) bytes += problem[read].bytes;
  return bytes;
}

int64_t WorkingSet(const RematProblem& problem) {
  int64_t most = 0;
  for (int32_t node = 0; node < problem.size(); ++node) most = std::max(most, WorkingSet(problem, node));
  return most;
}

CutBound::CutBound(const RematProblem& problem, double budget, std::vector<int32_t> moments, double tilt)
    : problem_(problem), moments_(std::move(moments)), excess_(moments_.size()), tilt_(tilt), cut_(0) {
  CHECK(!moments_.empty() && std::ranges::is_sorted(moments_) && moments_.back() < problem.size());
  for (const int32_t moment : moments_) limits_.push_back(budget - static_cast<double>(WorkingSet(problem, moment)));
  NumberNodes();
  Connect();
}

void CutBound::NumberNodes() {
  for (const int32_t moment : moments_) {
    const std::vector<bool> concerned = Concerned(problem_, moment);
    std::vector<int32_t> wanted(static_cast<size_t>(moment), -1), again(static_cast<size_t>(moment), -1);
    for (int32_t value = 0; value < moment; ++value) {
      if (!concerned[static_cast<size_t>(value)]) continue;
      again[static_cast<size_t>(value)] = nodes_++;
      // What the moment's node reads is there anyway.
      if (!Reads(problem_, moment, value)) wanted[static_cast<size_t>(value)] = nodes_++;
    }
    wanted_.push_back(std::move(wanted));
    again_.push_back(std::move(again));
  }
}

int32_t CutBound::EarlierAgain(size_t moment, int32_t value) const {
  const auto users = problem_.Users(value);
  for (size_t m = moment; m-- > 0 && value < moments_[m];) {
    // Read in between: to be there then it was kept, or computed again before this moment, which is another time.
    const auto next = std::ranges::upper_bound(users, moments_[m]);
    if (next != users.end() && *next <= moments_[moment]) return -1;
    if (Again(m, value) >= 0) return Again(m, value);
  }
  return -1;
}

void CutBound::Connect() {
  double largest = 0;
  for (int32_t value = 0; value < problem_.size(); ++value)
    largest = std::max(largest, static_cast<double>(problem_[value].cost));
  if (largest > 0) scale_ = 1 / largest;
  cut_ = MinCut(nodes_);
  priced_.resize(moments_.size());
  for (size_t m = 0; m < moments_.size(); ++m) {
    for (int32_t value = 0; value < moments_[m]; ++value) {
      const int32_t again = Again(m, value), wanted = Wanted(m, value);
      if (again < 0) continue;
      const int32_t earlier = EarlierAgain(m, value);
      if (earlier >= 0) {
        cut_.Connect(again, earlier, kForced);
      } else {
        cut_.Connect(again, cut_.sink(), CostOf(value) * scale_);
      }
      for (const int32_t read : problem_.Reads(value)) {
        if (Wanted(m, read) >= 0) cut_.Connect(again, Wanted(m, read), kForced);
      }
      if (wanted < 0) continue;
      const auto users = problem_.Users(value);
      if (users.back() > moments_[m]) cut_.Connect(cut_.source(), wanted, kForced);
      // What is larger than the limit is not resident at any price.
      const bool fits = static_cast<double>(problem_[value].bytes) <= limits_[m];
      const int32_t arc = cut_.Connect(wanted, again, fits ? 0 : kForced);
      if (fits) priced_[m].emplace_back(arc, value);
    }
  }
}

bool CutBound::Resident(size_t moment, int32_t node) const {
  if (Wanted(moment, node) < 0) return Again(moment, node) >= 0;
  return cut_.OnSourceSide(Wanted(moment, node)) && !cut_.OnSourceSide(Again(moment, node));
}

double CutBound::At(const std::vector<double>& prices) {
  for (size_t m = 0; m < moments_.size(); ++m) {
    for (const auto& [arc, value] : priced_[m])
      cut_.SetCapacity(arc, prices[m] * static_cast<double>(problem_[value].bytes) * scale_);
  }
  double paid = cut_.Run() / scale_;
  if (!cut_.complete()) {
    for (size_t m = 0; m < moments_.size(); ++m) paid -= prices[m] * limits_[m];
    return paid;
  }
  for (size_t m = 0; m < moments_.size(); ++m) {
    excess_[m] = -limits_[m];
    for (const auto& [arc, value] : priced_[m]) {
      if (Resident(m, value)) excess_[m] += static_cast<double>(problem_[value].bytes);
    }
    paid -= prices[m] * limits_[m];
  }
  return paid;
}

// The bound is concave in the price and made of lines: from a line that still rises and one that falls on to where they
// meet, until no better line is found there.
double CutBound::BestPrice(double* price) {
  CHECK(moments_.size() == 1);
  *price = 0;
  double rising_at_zero = At({0}), rising = excess_[0], falling_at_zero = 0, falling = -limits_[0];
  for (int32_t value = 0; value < moments_[0]; ++value) {
    if (Again(0, value) >= 0) falling_at_zero += CostOf(value);
  }
  double best = rising_at_zero;
  if (!complete()) return best;
  if (rising <= 0 || falling >= 0) return best;
  for (int round = 0; round < 40; ++round) {
    const double middle = (falling_at_zero - rising_at_zero) / (rising - falling);
    const double expected = rising_at_zero + rising * middle;
    const double found = At({middle});
    if (found > best) {
      best = found;
      *price = middle;
    }
    if (!complete()) break;
    const double slope = excess_[0];
    if (found >= expected - 1e-9 * std::max(1.0, std::abs(expected)) || slope == 0) break;
    (slope > 0 ? rising_at_zero : falling_at_zero) = found - slope * middle;
    (slope > 0 ? rising : falling) = slope;
  }
  return best;
}

}  // namespace vramplan
