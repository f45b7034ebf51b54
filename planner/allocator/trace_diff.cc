#include "planner/allocator/trace_diff.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace vramplan {
namespace {

// Events with the same key are the same.
using Key = std::tuple<bool, std::string, int64_t>;
Key KeyOf(const TraceEvent& event) { return {event.birth, event.phase, event.bytes.count()}; }

// An event as the alignment sees it: `kind` is the phase and whether it allocates or frees; `op` is the operator, 0 if
// it is not known.
struct Item {
  int32_t kind = 0, op = 0;
  int64_t bytes = 0, asked = -1;
};
using Items = std::vector<Item>;
using Matches = std::vector<std::pair<size_t, size_t>>;

// A block's rest is split off if it is larger than kSmallSize (should_split of c10/cuda/CUDACachingAllocator.cpp);
// blocks of the small pool keep none.
constexpr int64_t kMostSlack = int64_t{1} << 20, kMinBlock = 512;
bool Same(const Item& ours, const Item& recorded) {
  if (ours.kind != recorded.kind) return false;
  if (ours.bytes == recorded.bytes) return true;
  if (ours.op != recorded.op && ours.op != 0 && recorded.op != 0) return false;
  return ours.asked > kMostSlack && recorded.bytes >= ours.asked &&
         recorded.bytes - ours.asked <= kMostSlack + kMinBlock;
}

// Myers' greedy search (An O(ND) difference algorithm, 1986) from (x0, y0), limited to kEdits edits: appends the
// matches of the path that got furthest, and returns its end. If more edits are needed, the next round continues from
// there, so that time and memory stay bounded.
class Aligner {
 public:
  Aligner(const Items& a, const Items& b) : a_(a), b_(b) {}

  Matches Align() {
    std::pair<size_t, size_t> at{0, 0};
    while (at.first < a_.size() && at.second < b_.size()) at = Round(at.first, at.second);
    return std::move(matches_);
  }

 private:
  static constexpr int kEdits = 2000;

  // How far along a_ the path goes on each diagonal k = x - y in -d..d, after d edits.
  using Front = std::vector<int>;

  std::pair<size_t, size_t> Round(size_t x0, size_t y0) {
    width_ = static_cast<int>(a_.size() - x0);
    height_ = static_cast<int>(b_.size() - y0);
    std::vector<Front> fronts;
    int best_k = 0, best = -1;
    for (int d = 0; d <= kEdits && best < width_ + height_; ++d) {
      Front front(2 * static_cast<size_t>(d) + 1, -1);
      for (int k = -d; k <= d; k += 2) {
        int x = d == 0 ? 0 : Enter(fronts.back(), d - 1, k).x;
        if (x < 0) continue;
        while (x < width_ && x - k < height_ &&
               Same(a_[x0 + static_cast<size_t>(x)], b_[y0 + static_cast<size_t>(x - k)]))
          ++x;
        front[Place(d, k)] = x;
        if (2 * x - k > best) {
          best = 2 * x - k;
          best_k = k;
          best_d_ = d;
        }
      }
      fronts.push_back(std::move(front));
    }
    return Backtrack(fronts, best_k, x0, y0);
  }

  static size_t Place(int d, int k) {
    const int place = k + d;
    return static_cast<size_t>(place);
  }
  static int At(const Front& front, int d, int k) { return k < -d || k > d ? -1 : front[Place(d, k)]; }

  // How diagonal k is entered from the front of d edits: down from k + 1 (an event only in b), or right from k - 1 (an
  // event only in a); -1: not at all.
  struct Entry {
    int x = -1;
    bool down = false;
  };
  Entry Enter(const Front& front, int d, int k) const {
    const int above = At(front, d, k + 1), left = At(front, d, k - 1);
    Entry entry;
    if (above >= 0 && above - k <= height_) entry = {above, true};
    if (left >= 0 && left < width_ && left + 1 > entry.x) entry = {left + 1, false};
    return entry;
  }

  std::pair<size_t, size_t> Backtrack(const std::vector<Front>& fronts, int k, size_t x0, size_t y0) {
    int x = At(fronts[static_cast<size_t>(best_d_)], best_d_, k);
    const std::pair<size_t, size_t> end{x0 + static_cast<size_t>(x), y0 + static_cast<size_t>(x - k)};
    Matches backwards;
    for (int d = best_d_; d >= 0; --d) {
      const Entry entry = d == 0 ? Entry{0, true} : Enter(fronts[static_cast<size_t>(d - 1)], d - 1, k);
      for (; x > entry.x; --x)
        backwards.emplace_back(x0 + static_cast<size_t>(x - 1), y0 + static_cast<size_t>(x - 1 - k));
      if (d == 0) break;
      if (!entry.down) --x;
      k += entry.down ? 1 : -1;
    }
    matches_.insert(matches_.end(), backwards.rbegin(), backwards.rend());
    return end;
  }

  int width_ = 0, height_ = 0, best_d_ = 0;
  const Items &a_, &b_;
  Matches matches_;
};

std::string OperatorOf(const TraceEvent& event) { return event.autograd_node.empty() ? event.op : event.autograd_node; }

// The operator that each event counts for.
std::vector<std::string> Operators(const Trace& trace) {
  std::map<int64_t, std::string> makers;
  std::vector<std::string> operators;
  for (const TraceEvent& event : trace) {
    if (event.birth) makers[*event.block] = OperatorOf(event);
    operators.push_back(event.block ? makers[*event.block] : "old");
  }
  return operators;
}

Matches Align(const Trace& ours, const Trace& recorded) {
  std::map<std::pair<bool, std::string>, int32_t> kinds;
  std::map<std::string, int32_t> known = {{"", 0}};
  const auto items = [&](const Trace& trace) {
    const std::vector<std::string> operators = Operators(trace);
    Items list;
    list.reserve(trace.size());
    for (size_t i = 0; i < trace.size(); ++i) {
      Item item;
      item.kind = kinds.try_emplace({trace[i].birth, trace[i].phase}, static_cast<int32_t>(kinds.size())).first->second;
      item.op = known.try_emplace(operators[i], static_cast<int32_t>(known.size())).first->second;
      item.bytes = trace[i].bytes.count();
      if (trace[i].asked) item.asked = trace[i].asked->count();
      list.push_back(item);
    }
    return list;
  };
  const Items a = items(ours), b = items(recorded);
  return Aligner(a, b).Align();
}

// The gaps between matches. Gaps with fewer than kBetween events between them are merged.
std::vector<TraceHunk> HunksOf(Matches matches, size_t ours, size_t recorded) {
  constexpr size_t kBetween = 2;
  matches.emplace_back(ours, recorded);
  std::vector<TraceHunk> hunks;
  size_t x = 0, y = 0;
  for (const auto& [a, b] : matches) {
    if (a > x || b > y) {
      TraceHunk* last = hunks.empty() ? nullptr : &hunks.back();
      if (last != nullptr && x - (last->ours + last->ours_count) < kBetween) {
        last->ours_count = a - last->ours;
        last->recorded_count = b - last->recorded;
      } else {
        hunks.push_back({x, y, a - x, b - y});
      }
    }
    x = a + 1;
    y = b + 1;
  }
  return hunks;
}

void CountSwapped(const Trace& ours, const Trace& recorded, const Matches& matches, TraceComparison* comparison) {
  std::map<int64_t, int64_t> same;  // blocks that the same event allocated
  for (const auto& [a, b] : matches) {
    const TraceEvent &mine = ours[a], &theirs = recorded[b];
    if (mine.birth) {
      same[*mine.block] = *theirs.block;
      continue;
    }
    const auto born = mine.block ? same.find(*mine.block) : same.end();
    const std::optional<int64_t> expected = born == same.end() ? std::nullopt : std::optional(born->second);
    const bool other = mine.block.has_value() != theirs.block.has_value() || (expected && expected != theirs.block);
    if (other && comparison->swapped++ == 0) comparison->first_swapped = {a, b};
  }
}

// By how many events of a key each operator exceeds the same operator of the other stream.
using Surplus = std::map<Key, std::map<std::string, std::pair<int64_t, int64_t>>>;

void TakeAway(int64_t count, int64_t* from) { *from -= std::min(count, *from); }

std::vector<OperatorDifference> DifferencesOf(const Trace& ours, const Trace& recorded,
                                              const std::vector<EventPair>& slack) {
  Surplus surplus;
  const std::vector<std::string> our_operators = Operators(ours), their_operators = Operators(recorded);
  for (size_t i = 0; i < ours.size(); ++i) ++surplus[KeyOf(ours[i])][our_operators[i]].first;
  for (size_t i = 0; i < recorded.size(); ++i) ++surplus[KeyOf(recorded[i])][their_operators[i]].second;
  for (const EventPair& pair : slack) {
    --surplus[KeyOf(ours[pair.ours])][our_operators[pair.ours]].first;
    --surplus[KeyOf(recorded[pair.recorded])][their_operators[pair.recorded]].second;
  }

  std::map<std::tuple<std::string, bool, std::string>, OperatorDifference> rows;
  for (auto& [key, operators] : surplus) {
    int64_t ours_left = 0, recorded_left = 0;
    for (auto& [op, counts] : operators) {
      const int64_t common = std::min(counts.first, counts.second);
      counts.first -= common;
      counts.second -= common;
      ours_left += counts.first;
      recorded_left += counts.second;
    }
    // Events that are left on both sides are the same event under two names.
    int64_t ours_named = std::min(ours_left, recorded_left), recorded_named = ours_named;
    for (auto& [op, counts] : operators) {
      const std::pair<int64_t, int64_t> before = counts;
      TakeAway(ours_named, &counts.first);
      TakeAway(recorded_named, &counts.second);
      ours_named -= before.first - counts.first;
      recorded_named -= before.second - counts.second;
      if (counts.first + counts.second == 0) continue;
      const auto& [birth, phase, bytes] = key;
      OperatorDifference& row = rows[{phase, birth, op}];
      row.phase = phase;
      row.birth = birth;
      row.op = op;
      const auto add = [size = Bytes::Of(bytes)](int64_t count, OperatorDifference::Side* side) {
        if (count == 0) return;
        side->count += count;
        side->bytes += size * count;
        side->largest = std::max(side->largest, size);
      };
      add(counts.first, &row.ours);
      add(counts.second, &row.recorded);
    }
  }
  std::vector<OperatorDifference> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::stable_sort(sorted.begin(), sorted.end(), [](const OperatorDifference& a, const OperatorDifference& b) {
    return a.ours.bytes + a.recorded.bytes > b.ours.bytes + b.recorded.bytes;
  });
  return sorted;
}

TraceAgreement AgreementOf(const Trace& ours, const Trace& recorded, bool births) {
  std::map<Key, std::pair<int64_t, int64_t>> counts;
  for (const TraceEvent& event : ours) counts[KeyOf(event)].first += 1;
  for (const TraceEvent& event : recorded) counts[KeyOf(event)].second += 1;
  TraceAgreement agreement;
  for (const auto& [key, count] : counts) {
    const Bytes size = Bytes::Of(std::get<2>(key));
    if (std::get<0>(key) != births || size <= kLargeBlock) continue;
    agreement.ours += size * count.first;
    agreement.recorded += size * count.second;
    agreement.common += size * std::min(count.first, count.second);
  }
  return agreement;
}

TraceLevels LevelsOf(const Trace& trace) {
  TraceLevels levels;
  for (size_t i = 0; i < trace.size(); ++i) {
    const TraceEvent& event = trace[i];
    if (!event.allocated_after) continue;
    const Bytes level = *event.allocated_after;
    const Bytes before = event.birth ? level - event.bytes : level + event.bytes;
    if (!levels.known) levels.before = levels.peak = before;
    levels.known = true;
    if (level > levels.peak) levels.peak_event = i;
    levels.peak = std::max(levels.peak, level);
    levels.after = level;
  }
  return levels;
}

}  // namespace

double TraceAgreement::Share() const {
  const Bytes all = std::max(ours, recorded);
  return all == Bytes() ? 1.0 : static_cast<double>(common.count()) / static_cast<double>(all.count());
}

TraceComparison CompareTraces(const Trace& ours, const Trace& recorded) {
  TraceComparison comparison;
  const Matches matches = Align(ours, recorded);
  CountSwapped(ours, recorded, matches, &comparison);
  comparison.hunks = HunksOf(matches, ours.size(), recorded.size());
  comparison.births = AgreementOf(ours, recorded, true);
  comparison.deaths = AgreementOf(ours, recorded, false);
  for (const auto& [a, b] : matches) {
    if (ours[a].bytes != recorded[b].bytes) comparison.slack.push_back({a, b});
  }
  comparison.differences = DifferencesOf(ours, recorded, comparison.slack);
  comparison.ours = LevelsOf(ours);
  comparison.recorded = LevelsOf(recorded);
  return comparison;
}

}  // namespace vramplan
