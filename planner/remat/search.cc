#include "planner/remat/search.h"

#include <algorithm>
#include <cmath>

namespace vramplan {
namespace {

constexpr double kHighestPrice = 1000;  // times the first one

}  // namespace

Search::Search(const RematProblem& problem, double budget, uint64_t seed)
    : problem_(problem), budget_(budget), state_(problem, budget), random_(seed) {}

void Search::Add(Recomputation added) {
  state_.Add(added);
  journal_.emplace_back(true, added);
}
void Search::Remove(Recomputation removed) {
  state_.Remove(removed);
  journal_.emplace_back(false, removed);
}
void Search::Undo() {
  for (size_t at = journal_.size(); at-- > 0;) {
    if (journal_[at].first) {
      state_.Remove(journal_[at].second);
    } else {
      state_.Add(journal_[at].second);
    }
  }
}

// Computes the node again in the stage, and before it what is not there then, each with this probability; else it is
// kept until then.
void Search::Evict(Recomputation at, double deep) {
  if (journal_.size() > 400) return;
  for (const int32_t read : problem_.Reads(at.node)) {
    if (state_.LifeIn(at.stage, read).end >= at.stage || !random_.Chance(deep)) continue;
    Evict({at.stage, read}, deep);
    // It may have been computed again later: then it can be kept from now on instead.
    const auto& lives = state_.Lives(read);
    const auto* life = &state_.LifeIn(at.stage, read);
    if (life != &lives.back() && random_.Chance(0.5)) Remove({(life + 1)->at, read});
  }
  if (!state_.Has(at)) Add(at);
}

// Keeps the value instead; what was computed again only for it is not either.
void Search::Retain(Recomputation at, double later) {
  Remove(at);
  for (const int32_t read : problem_.Reads(at.node)) {
    const Recomputation one{at.stage, read};
    if (!state_.Has(one) || state_.UsedIn(at.stage, read)) continue;
    const int32_t next = state_.FirstUse(one);
    if (next < 0) {
      Retain(one, later);
    } else if (random_.Chance(later)) {
      Retain(one, later);
      if (!state_.Has({next, read})) Evict({next, read}, 0.9);
    }
  }
}

bool Search::PickGap(int32_t through, Recomputation* gap) {
  for (int tries = 0; tries < 12; ++tries) {
    if (through < 1) return false;
    const int32_t node = random_.Below(through);
    const auto& life = state_.LifeIn(through, node);
    if (life.at >= through || life.end <= through) continue;
    int32_t next = life.end;
    bool used = false;
    for (const int32_t user : problem_.Users(node)) {
      for (const auto& use : state_.Lives(user)) {
        used = used || use.at == through;
        if (use.at > through && use.at < next) next = use.at;
      }
    }
    if (used) continue;
    *gap = {next, node};
    return true;
  }
  return false;
}

int32_t Search::PickStage() {
  const int32_t n = problem_.size();
  int32_t best = random_.Below(n);
  for (int i = 0; i < 3; ++i) {
    const int32_t other = random_.Below(n);
    if (state_.level(other) > state_.level(best)) best = other;
  }
  if (state_.overflow() > 0 && state_.level(best) <= budget_) {
    const int32_t start = random_.Below(n);
    for (int32_t k = 0; k < n; ++k) {
      const int32_t stage = start + k < n ? start + k : start + k - n;
      if (state_.level(stage) > budget_) return stage;
    }
  }
  return best;
}

void Search::Propose() {
  const double u = random_.Unit();
  const double over = state_.overflow();
  const double evict = over > 0 ? 0.5 : 0.3, retain = 0.3;
  const double deep = random_.Chance(0.5) ? 1.0 : 0.8;
  const double later = random_.Chance(0.5) ? 1.0 : 0.5;
  Recomputation gap;
  if (u < evict || state_.all().empty()) {
    if (PickGap(PickStage(), &gap)) Evict(gap, deep);
    return;
  }
  const Recomputation one = state_.all()[static_cast<size_t>(random_.Below(static_cast<int32_t>(state_.all().size())))];
  if (u < evict + retain) {
    Retain(one, later);
    return;
  }
  if (random_.Chance(0.3)) {
    // Earlier or later.
    const auto& lives = state_.Lives(one.node);
    size_t k = lives.size() - 1;
    while (lives[k].at != one.stage) --k;
    const int32_t low = lives[k - 1].end;
    const int32_t use = state_.FirstUse(one);
    if (use > one.stage && random_.Chance(0.5)) {
      Remove(one);
      Evict({use, one.node}, deep);
    } else if (one.stage - low > 1) {
      const int32_t to =
          std::max(low + 1, one.node + 1) + random_.Below(std::max(1, one.stage - std::max(low + 1, one.node + 1)));
      if (to >= one.stage) return;
      Retain(one, later);
      if (!state_.Has({to, one.node})) Evict({to, one.node}, deep);
    }
    return;
  }
  // Exchange: retain one, evict another that is there at the same time.
  const auto& lives = state_.Lives(one.node);
  size_t k = lives.size() - 1;
  while (lives[k].at != one.stage) --k;
  const int32_t low = lives[k - 1].end, high = one.stage;
  Retain(one, later);
  if (high - low < 2) return;
  const int32_t through = low + 1 + random_.Below(high - low - 1);
  if (PickGap(through, &gap) && !(gap == one)) Evict(gap, deep);
}

void Search::Consider() {
  if (state_.overflow() > 0 || (found_ && state_.extra_cost() >= best_cost_)) return;
  found_ = true;
  best_cost_ = state_.extra_cost();
  best_ = state_.all();
}

void Search::Anneal(const Cooling& cooling) {
  constexpr int64_t kMostUnseen = 500000;  // steps between two looks at the clock
  double temperature = cooling.hot;
  int64_t feasible = 0, seen = state_.steps();
  for (int64_t round = 0;; ++round) {
    if (round % 128 != 0 && state_.steps() - seen > kMostUnseen) {
      seen = state_.steps();
      if (cooling.gone(seen) >= 1) break;
    }
    if (round % 128 == 0) {
      seen = state_.steps();
      const double gone = cooling.gone(state_.steps());
      if (gone >= 1) break;
      temperature = cooling.hot * std::pow(cooling.cold / cooling.hot, gone);
      if (feasible == 0) price_ = std::min(price_ * 1.2, first_price_ * kHighestPrice);
      if (feasible > 32) price_ = std::max(price_ / 1.1, first_price_ / kHighestPrice);
      feasible = 0;
    }
    const double cost = state_.extra_cost(), over = state_.overflow();
    feasible += over <= 0 ? 1 : 0;
    journal_.clear();
    Propose();
    if (journal_.empty()) continue;
    const double change = state_.extra_cost() - cost + price_ * (state_.overflow() - over);
    if (change <= 0 || random_.Unit() < std::exp(-change / temperature)) {
      Consider();
    } else {
      Undo();
    }
  }
}

}  // namespace vramplan
