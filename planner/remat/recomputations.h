// Recomputations: a schedule as a set of (stage, node), each computed again right before the first run of its stage's
// node, and what each stage then holds: exactly, and anew in microseconds when one is added or taken away.
//
//   stage t runs, in order of number:  the nodes computed again there, then t itself
//
//   value i    ####################........######      computed in stage i, used until stage e, computed again in t:
//              i                  e        t           nothing is held between e and t
//
// Every set is a schedule: a value that is not computed again is kept from where it was computed before. So a search
// may add and take away as it likes; what must fit is the overflow alone.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "planner/remat/problem.h"

namespace vramplan {

struct Recomputation {
  int32_t stage = 0, node = 0;
  auto operator<=>(const Recomputation&) const = default;
};

class Recomputations {
 public:
  Recomputations(const RematProblem& problem, double budget);

  // `stage` > `node`; not there yet, and there, respectively.
  void Add(Recomputation added);
  void Remove(Recomputation removed);
  bool Has(Recomputation wanted) const;
  void SetTo(const std::vector<Recomputation>& wanted);

  double extra_cost() const { return extra_; }
  // Sum over the stages of the bytes beyond the budget.
  double overflow() {
    Settle();
    return overflow_;
  }
  double level(int32_t stage) const { return levels_[static_cast<size_t>(stage)]; }  // after overflow()
  const std::vector<Recomputation>& all() const { return all_; }

  // One life of a value: computed in stage `at`, used for the last time in stage `end`.
  struct Life {
    int32_t at = 0, end = 0;
    int32_t place = -1;  // in all(); -1: the first one
  };
  const std::vector<Life>& Lives(int32_t node) const { return lives_[static_cast<size_t>(node)]; }
  // The life that a use in `stage` reads.
  const Life& LifeIn(int32_t stage, int32_t node) const;
  bool UsedIn(int32_t stage, int32_t node) const;  // by a node that runs there
  // The first stage in which the life of (stage, node) is used; -1: in none.
  int32_t FirstUse(Recomputation of) const;

  RematSchedule Schedule() const;
  int64_t steps() const { return steps_; }  // of work done: a clock that is the same on every machine

 private:
  Life& MutableLifeIn(int32_t stage, int32_t node);
  bool RunsIn(int32_t stage, int32_t node) const;
  void Build(const std::vector<Recomputation>& sorted);
  int32_t LastUse(int32_t node, int32_t from, int32_t before) const;
  void Raise(int32_t first, int32_t last, double bytes);
  void Touch(int32_t stage);
  void Settle();
  double LocalPeak(int32_t stage);

  const RematProblem& problem_;
  double budget_;
  std::vector<double> bytes_;
  std::vector<std::vector<Life>> lives_;        // by node, in time
  std::vector<std::vector<int32_t>> computed_;  // by stage: nodes computed again there, ascending
  std::vector<Recomputation> all_;
  std::vector<double> levels_;    // by stage: what passes through it, and its own peak beside that
  std::vector<double> local_;     // that own peak, as it is in levels_
  std::vector<int32_t> touched_;  // stages whose own peak is to be found again
  std::vector<bool> is_touched_;
  std::vector<int64_t> seen_;  // by node: the latest count at which LocalPeak met it
  int64_t count_ = 0;
  double extra_ = 0, overflow_ = 0;
  mutable int64_t steps_ = 0;
};

}  // namespace vramplan
