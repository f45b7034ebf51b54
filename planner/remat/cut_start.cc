#include "planner/remat/cut_start.h"

#include "planner/remat/cut_bound.h"

namespace vramplan {
namespace {

// What the cut lets go at the moment.
class Evictor {
 public:
  Evictor(const RematProblem& problem, const CutBound& cut, int32_t moment, Recomputations* set)
      : problem_(problem),
        cut_(cut),
        moment_(moment),
        set_(*set),
        wanted_(set->all()),
        latest_(static_cast<size_t>(problem.size()), -1) {}

  void Run() {
    for (int32_t stage = moment_ + 1; stage < problem_.size(); ++stage) {
      for (const int32_t read : problem_.Reads(stage)) {
        if (Gone(stage, read)) Compute(stage, read);
      }
    }
    set_.SetTo(wanted_);
  }

 private:
  // Neither kept over the moment nor computed again between it and the stage.
  bool Gone(int32_t stage, int32_t value) const {
    return value < moment_ && !cut_.Resident(0, value) && latest_[static_cast<size_t>(value)] <= moment_ &&
           set_.LifeIn(stage, value).at <= moment_;
  }
  void Compute(int32_t stage, int32_t value) {
    std::vector<int32_t> open = {value};
    while (!open.empty()) {
      const int32_t node = open.back();
      open.pop_back();
      if (!Gone(stage, node)) continue;
      wanted_.push_back({stage, node});
      latest_[static_cast<size_t>(node)] = stage;
      for (const int32_t read : problem_.Reads(node)) open.push_back(read);
    }
  }

  const RematProblem& problem_;
  const CutBound& cut_;
  int32_t moment_;
  Recomputations& set_;
  std::vector<Recomputation> wanted_;  // what was there, and what is added
  std::vector<int32_t> latest_;        // by value: the stage in which it was added last
};

}  // namespace

std::vector<Recomputation> CutStart(const RematProblem& problem, double budget, int32_t moment, int64_t limit,
                                    int64_t* steps) {
  constexpr int kCuts = 8;
  constexpr double kTilt = 0.05;       // early values are away longer
  constexpr double kBelow = 1 - 1e-4;  // of the best price: rather too much than too little is kept
  Recomputations set(problem, budget);
  int64_t spent = 0;
  std::vector<bool> done(static_cast<size_t>(problem.size()), false);
  for (int count = 0; count < kCuts && set.overflow() > 0 && !done[static_cast<size_t>(moment)]; ++count) {
    done[static_cast<size_t>(moment)] = true;
    CutBound cut(problem, budget, {moment}, kTilt);
    cut.SetLimit(limit - spent);
    double price = 0;
    cut.BestPrice(&price);
    if (cut.complete()) cut.At({price * kBelow});
    spent += cut.steps();
    if (!cut.complete()) break;
    Evictor(problem, cut, moment, &set).Run();
    set.overflow();
    for (int32_t at = 0; at < problem.size(); ++at) {
      if (set.level(at) > set.level(moment)) moment = at;
    }
  }
  *steps += spent + set.steps();
  return set.all();
}

}  // namespace vramplan
