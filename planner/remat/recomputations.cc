#include "planner/remat/recomputations.h"

#include <algorithm>

#include "graph/base/check.h"

namespace vramplan {
namespace {

size_t Index(int32_t number) { return static_cast<size_t>(number); }

}  // namespace

Recomputations::Recomputations(const RematProblem& problem, double budget)
    : problem_(problem),
      budget_(budget),
      lives_(Index(problem.size())),
      computed_(Index(problem.size())),
      levels_(Index(problem.size()), 0),
      local_(Index(problem.size()), 0),
      is_touched_(Index(problem.size()), false),
      seen_(Index(problem.size()), 0) {
  for (int32_t node = 0; node < problem.size(); ++node) bytes_.push_back(static_cast<double>(problem[node].bytes));
  Build({});
}

// All anew, which for many at once is faster than one by one. `sorted`: by stage.
void Recomputations::Build(const std::vector<Recomputation>& sorted) {
  const size_t size = Index(problem_.size());
  all_ = sorted;
  extra_ = overflow_ = 0;
  for (size_t node = 0; node < size; ++node) {
    lives_[node] = {{static_cast<int32_t>(node), static_cast<int32_t>(node), -1}};
    computed_[node].clear();
  }
  for (size_t place = 0; place < sorted.size(); ++place) {
    const auto [stage, node] = sorted[place];
    lives_[Index(node)].push_back({stage, stage, static_cast<int32_t>(place)});
    computed_[Index(stage)].push_back(node);
    extra_ += static_cast<double>(problem_[node].cost);
  }
  const auto use = [&](int32_t stage, int32_t node) {
    for (const int32_t read : problem_.Reads(node)) {
      Life& life = MutableLifeIn(stage, read);
      life.end = std::max(life.end, stage);
    }
  };
  for (int32_t stage = 0; stage < problem_.size(); ++stage) {
    for (const int32_t node : computed_[Index(stage)]) use(stage, node);
    use(stage, stage);
  }
  std::vector<double> change(size + 1, 0);  // of what passes through, from the stage before
  for (size_t node = 0; node < size; ++node) {
    for (const Life& life : lives_[node]) {
      if (life.end - life.at < 2) continue;
      change[Index(life.at) + 1] += bytes_[node];
      change[Index(life.end)] -= bytes_[node];
    }
  }
  double level = 0;
  for (size_t stage = 0; stage < size; ++stage) {
    level += change[stage];
    levels_[stage] = level;
    overflow_ += std::max(level - budget_, 0.0);
    local_[stage] = 0;
    Touch(static_cast<int32_t>(stage));
  }
  steps_ += static_cast<int64_t>(size + problem_.edges() + sorted.size());
}

const Recomputations::Life& Recomputations::LifeIn(int32_t stage, int32_t node) const {
  const std::vector<Life>& lives = lives_[Index(node)];
  size_t at = lives.size() - 1;
  while (lives[at].at > stage) --at;
  return lives[at];
}

Recomputations::Life& Recomputations::MutableLifeIn(int32_t stage, int32_t node) {
  return const_cast<Life&>(LifeIn(stage, node));
}

bool Recomputations::RunsIn(int32_t stage, int32_t node) const {
  return node <= stage && LifeIn(stage, node).at == stage;
}

bool Recomputations::Has(Recomputation wanted) const {
  return wanted.stage > wanted.node && RunsIn(wanted.stage, wanted.node);
}

bool Recomputations::UsedIn(int32_t stage, int32_t node) const {
  const auto users = problem_.Users(node);
  return std::ranges::any_of(users, [&](int32_t user) { return RunsIn(stage, user); });
}

// The last stage in [from, before) in which a user runs; `from` when none does.
int32_t Recomputations::LastUse(int32_t node, int32_t from, int32_t before) const {
  int32_t last = from;
  for (const int32_t user : problem_.Users(node)) {
    ++steps_;
    if (user >= before) break;
    last = std::max(last, LifeIn(before - 1, user).at);
  }
  return last;
}

int32_t Recomputations::FirstUse(Recomputation of) const {
  const std::vector<Life>& lives = lives_[Index(of.node)];
  const Life* life = &LifeIn(of.stage, of.node);
  const int32_t before = life == &lives.back() ? problem_.size() : (life + 1)->at;
  int32_t first = before;
  for (const int32_t user : problem_.Users(of.node)) {
    if (user >= before) break;
    for (const Life& use : lives_[Index(user)]) {
      ++steps_;
      if (use.at >= of.stage && use.at < first) first = use.at;
    }
  }
  return first == before ? -1 : first;
}

void Recomputations::Touch(int32_t stage) {
  if (is_touched_[Index(stage)]) return;
  is_touched_[Index(stage)] = true;
  touched_.push_back(stage);
}

// Stages first .. last.
void Recomputations::Raise(int32_t first, int32_t last, double bytes) {
  if (last < first) return;
  steps_ += 2 + (last - first) / 8;
  double change = 0;
  double* levels = levels_.data();
  const double budget = budget_;
  for (int32_t stage = first; stage <= last; ++stage) {
    const double before = levels[stage], after = before + bytes;
    levels[stage] = after;
    change += std::max(after - budget, 0.0) - std::max(before - budget, 0.0);
  }
  overflow_ += change;
}

void Recomputations::Add(Recomputation added) {
  const auto [stage, node] = added;
  const double bytes = bytes_[Index(node)];
  std::vector<Life>& lives = lives_[Index(node)];
  size_t at = lives.size() - 1;
  while (lives[at].at > stage) --at;
  Life& old = lives[at];
  CHECK(old.at < stage);
  const int32_t first_end = LastUse(node, old.at, stage);
  const int32_t second_end = std::max(old.end, stage);
  Raise(std::max(old.at + 1, first_end), std::min(stage, old.end - 1), -bytes);
  Touch(first_end);
  Touch(stage);
  old.end = first_end;
  lives.insert(lives.begin() + static_cast<std::ptrdiff_t>(at) + 1,
               {stage, second_end, static_cast<int32_t>(all_.size())});
  all_.push_back(added);
  std::vector<int32_t>& computed = computed_[Index(stage)];
  computed.insert(std::ranges::upper_bound(computed, node), node);
  extra_ += static_cast<double>(problem_[node].cost);
  for (const int32_t read : problem_.Reads(node)) {
    ++steps_;
    Life& life = MutableLifeIn(stage, read);
    if (life.end >= stage) continue;
    Raise(std::max(life.at + 1, life.end), stage - 1, bytes_[Index(read)]);
    Touch(life.end);
    life.end = stage;
  }
}

void Recomputations::Remove(Recomputation removed) {
  const auto [stage, node] = removed;
  std::vector<Life>& lives = lives_[Index(node)];
  size_t at = lives.size() - 1;
  while (lives[at].at > stage) --at;
  CHECK(at > 0 && lives[at].at == stage);
  const Life life = lives[at];
  Life& before = lives[at - 1];
  Touch(before.end);
  Touch(stage);
  if (life.end > stage || UsedIn(stage, node)) {
    Raise(std::max(before.at + 1, before.end), std::min(stage, life.end - 1), bytes_[Index(node)]);
    before.end = life.end;
  }
  lives.erase(lives.begin() + static_cast<std::ptrdiff_t>(at));
  const Recomputation moved = all_.back();
  all_[Index(life.place)] = moved;
  if (moved != removed) MutableLifeIn(moved.stage, moved.node).place = life.place;
  all_.pop_back();
  std::vector<int32_t>& computed = computed_[Index(stage)];
  computed.erase(std::ranges::lower_bound(computed, node));
  extra_ -= static_cast<double>(problem_[node].cost);
  for (const int32_t read : problem_.Reads(node)) {
    Life& used = MutableLifeIn(stage, read);
    if (used.end != stage) continue;
    const int32_t end = LastUse(read, used.at, stage + 1);
    if (end == stage) continue;
    Raise(std::max(used.at + 1, end), stage - 1, -bytes_[Index(read)]);
    Touch(end);
    used.end = end;
  }
}

void Recomputations::SetTo(const std::vector<Recomputation>& wanted) {
  constexpr size_t kMany = 2000;
  const std::vector<Recomputation> before = all_;
  std::vector<Recomputation> target = wanted;
  std::ranges::sort(target);
  if (before.size() + target.size() > kMany) {
    Build(target);
    return;
  }
  for (const Recomputation& one : before) {
    if (!std::ranges::binary_search(target, one)) Remove(one);
  }
  for (const Recomputation& one : target) {
    if (!Has(one)) Add(one);
  }
}

// What the stage holds at most beside the values that pass through it: backwards over the nodes that run there, what
// ends in the stage is there from its last use back to where it was computed, or to the stage's beginning.
double Recomputations::LocalPeak(int32_t stage) {
  const std::vector<int32_t>& computed = computed_[Index(stage)];
  ++count_;
  double level = 0, peak = 0;
  const auto live_on = [&](int32_t node) { return LifeIn(stage, node).end > stage; };
  for (const int32_t node : computed) {
    if (live_on(node)) level += bytes_[Index(node)];
  }
  if (live_on(stage)) level += bytes_[Index(stage)];
  for (size_t at = computed.size() + 1; at-- > 0;) {
    const int32_t node = at == computed.size() ? stage : computed[at];
    const double bytes = bytes_[Index(node)];
    for (const int32_t read : problem_.Reads(node)) {
      ++steps_;
      if (seen_[Index(read)] == count_) continue;
      seen_[Index(read)] = count_;
      if (!live_on(read)) level += bytes_[Index(read)];
    }
    // One that nobody uses is there while it is computed.
    const bool unused = seen_[Index(node)] != count_ && !live_on(node);
    peak = std::max(peak, unused ? level + bytes : level);
    if (!unused) level -= bytes;
  }
  return peak;
}

void Recomputations::Settle() {
  for (const int32_t stage : touched_) {
    is_touched_[Index(stage)] = false;
    const double local = LocalPeak(stage);
    const double change = local - local_[Index(stage)];
    if (change == 0) continue;
    local_[Index(stage)] = local;
    Raise(stage, stage, change);
  }
  touched_.clear();
}

RematSchedule Recomputations::Schedule() const {
  RematSchedule schedule;
  for (int32_t stage = 0; stage < problem_.size(); ++stage) {
    schedule.insert(schedule.end(), computed_[Index(stage)].begin(), computed_[Index(stage)].end());
    schedule.push_back(stage);
  }
  return schedule;
}

}  // namespace vramplan
