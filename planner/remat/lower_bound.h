// LowerBound: what must be computed again at least, by cuts at the moments that bind.
//
//   first each moment by itself: the highest ones, those whose node leaves the least room, some spread over the step,
//   and the neighbours of the best of them; then the best few together, each with a price of its own (CutBound), the
//   prices moved towards what a known schedule pays (Polyak, USSR Comput. Math. Math. Phys. 9, 1969)
#pragma once

#include <map>
#include <vector>

#include "planner/remat/clock.h"
#include "planner/remat/problem.h"

namespace vramplan {

class LowerBound {
 public:
  // `levels`: what the order as it is holds, by node.
  LowerBound(const RematProblem& problem, double budget, std::vector<double> levels, WorkClock* clock);

  // Moments by themselves, until this part of the time is gone.
  void Find(double until);
  // Together, until this part of the time is gone; `known`: what a schedule computes again.
  void Tighten(double known, double until);

  double extra() const { return extra_; }     // 0: nothing must be computed again
  int32_t moment() const { return moment_; }  // that gave the best bound by itself
  double price() const { return price_; }     // of a byte, there

 private:
  double Excess(int32_t moment) const { return levels_[static_cast<size_t>(moment)] - budget_; }
  std::vector<int32_t> Candidates() const;
  void Try(int32_t moment, double until);
  std::vector<int32_t> Together() const;

  const RematProblem& problem_;
  double budget_;
  std::vector<double> levels_;
  WorkClock& clock_;
  std::map<int32_t, double> tried_;  // moment, its bound
  double extra_ = 0, single_ = 0, price_ = 0;
  int32_t moment_ = 0;
};

}  // namespace vramplan
