// Search: looks for the cheapest set of recomputations within the budget, from any set: simulated annealing over
// "evict" (free a value between two uses, and compute it again before the later one, with the inputs that this needs)
// and "retain" (the reverse). Bytes above the budget have a price, which rises until they are not worth it.
#pragma once

#include <functional>
#include <vector>

#include "planner/remat/random.h"
#include "planner/remat/recomputations.h"

namespace vramplan {

class Search {
 public:
  Search(const RematProblem& problem, double budget, uint64_t seed);

  // Moves from hot to cold, until `gone`, asked now and then, says that all of the time is: 0 to 1.
  struct Cooling {
    double hot = 1, cold = 1;  // in units of cost
    std::function<double(int64_t steps)> gone;
  };
  void Anneal(const Cooling& cooling);

  bool found() const { return found_; }
  const std::vector<Recomputation>& best() const { return best_; }
  double best_cost() const { return best_cost_; }
  Recomputations& state() { return state_; }
  void Restart(const std::vector<Recomputation>& from) { state_.SetTo(from); }
  void SetPrice(double price) { price_ = first_price_ = price; }
  int64_t steps() const { return state_.steps(); }
  // Takes the set as it is for the best, if it is.
  void Consider();

 private:
  void Add(Recomputation added);
  void Remove(Recomputation removed);
  void Undo();
  void Evict(Recomputation at, double deep);
  void Retain(Recomputation at, double later);
  bool PickGap(int32_t through, Recomputation* gap);
  int32_t PickStage();
  void Propose();

  const RematProblem& problem_;
  double budget_;
  Recomputations state_;
  Random random_;
  double price_ = 0, first_price_ = 0;  // of a byte of overflow in one stage
  std::vector<std::pair<bool, Recomputation>> journal_;
  bool found_ = false;
  double best_cost_ = 0;
  std::vector<Recomputation> best_;
};

}  // namespace vramplan
