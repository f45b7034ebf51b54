// CutBound: what any schedule must compute again because of what fits at a few moments.
//
//   first run of:  0 1 2 3 4 ... t ... n-1       While t runs, its inputs and outputs are in memory, and residents
//                  [   residents  ]|             in what the budget leaves. A value from before t that is needed
//                                                after t is either resident or computed again after t; if it is
//                                                computed again, its own inputs are needed after t, too.
//
//
// The cheapest choice under one limit of bytes is a knapsack with closure. With a price for bytes instead of the limit
// it is a minimum cut (two nodes a value: wanted, computed again); no price makes the cut minus price x limit more than
// what a schedule must pay, so the best price gives the bound (Lagrange). With several moments the prices are several,
// and a value that is computed again after a later moment is so after an earlier one: it is paid for once, unless
// something reads it between the two: what is let go at both was there in between, and is paid for twice.
#pragma once

#include <vector>

#include "planner/remat/min_cut.h"
#include "planner/remat/problem.h"

namespace vramplan {

// The most that one node must hold: what it reads and what it makes. No schedule has a lower peak.
int64_t WorkingSet(const RematProblem& problem);
int64_t WorkingSet(const RematProblem& problem, int32_t node);

class CutBound {
 public:
  // `moments`: nodes, ascending; while each of them runs the budget holds.
  // `tilt`: how much dearer, as a part, the latest value seems than the first, for cuts that shall choose among equals;
  // with one there is no bound.
  CutBound(const RematProblem& problem, double budget, std::vector<int32_t> moments, double tilt = 0);

  // What must be paid at these prices a byte, one for each moment; residents() and excess() tell of the cheapest
  // choice.
  double At(const std::vector<double>& prices);
  // Bytes of residents beyond the limit, by moment: which way a price must go.
  const std::vector<double>& excess() const { return excess_; }
  bool Resident(size_t moment, int32_t node) const;
  // The best price of a single moment, exactly; gives the bound.
  double BestPrice(double* price);
  int64_t steps() const { return cut_.steps(); }
  // No cut goes on when steps() has come to this. What At then gives is less than a bound could be, and nothing is
  // known of residents and excess.
  void SetLimit(int64_t steps) { cut_.SetLimit(steps); }
  bool complete() const { return cut_.complete(); }

 private:
  int32_t Wanted(size_t moment, int32_t node) const { return wanted_[moment][static_cast<size_t>(node)]; }
  int32_t Again(size_t moment, int32_t node) const { return again_[moment][static_cast<size_t>(node)]; }
  int32_t EarlierAgain(size_t moment, int32_t value) const;
  double CostOf(int32_t value) const {
    return static_cast<double>(problem_[value].cost) * (1 + tilt_ * value / problem_.size());
  }
  void NumberNodes();
  void Connect();

  const RematProblem& problem_;
  std::vector<int32_t> moments_;
  std::vector<double> limits_;                                    // bytes beside what each moment's node needs
  std::vector<std::vector<int32_t>> wanted_, again_;              // by moment and value: nodes of the cut; -1: none
  std::vector<std::vector<std::pair<int32_t, int32_t>>> priced_;  // by moment: arc, value
  std::vector<double> excess_;
  double scale_ = 1;  // of costs: the largest is 1
  double tilt_;
  int32_t nodes_ = 0;
  MinCut cut_;
};

}  // namespace vramplan
