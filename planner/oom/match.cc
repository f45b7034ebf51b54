#include "planner/oom/match.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "planner/allocator/replay.h"

namespace vramplan {
namespace {

// A message prints two decimals of a size.
bool PrintsAlike(Bytes a, Bytes b) {
  if (a == b) return true;
  const Bytes apart = a < b ? b - a : a - b;
  return apart.count() <= a.count() / 64 && ToString(a) == ToString(b);
}

double Share(Bytes part, Bytes whole) {
  return static_cast<double>(part.count()) / static_cast<double>(std::max<int64_t>(1, whole.count()));
}

// Two decimals of a few GiB are a thousandth of it, so closer values cannot be told apart.
double Apart(const RequestMatch& match) { return std::max(0.001, std::abs(match.difference)); }

// What the framework asked for: PyTorch names the segment.
Bytes Asked(const OutOfMemory& message, const CachingAllocator& sizes, Bytes bytes) {
  return message.kind == "pytorch" ? sizes.SegmentFor(bytes) : bytes;
}

struct Candidate {
  int64_t batch = 0;
  double difference = 0;
};

// The first batch of `low` to `most` at which `at_least` is true, which is false before it and true after; most + 1:
// none.
template <typename Predicate>
int64_t FirstBatch(int64_t low, int64_t most, const Predicate& at_least) {
  int64_t high = most + 1;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (at_least(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Batches with a request that prints the message's "Tried to allocate", the closest to the message's allocated bytes
// first: of each request the closest, and all others within `wide`. The level is in requested bytes, which grow with
// the batch and differ from the allocated ones only by rounding.
std::vector<Candidate> Candidates(const OutOfMemory& message, const Timeline& timeline, const AllocatorConfig& config,
                                  int64_t most, double wide) {
  const std::vector<RequestedLevel> levels = RequestedLevels(timeline);
  const CachingAllocator sizes(Bytes::Max(), config);
  const double told = std::max(1.0, static_cast<double>(message.allocated->count()));
  std::map<int64_t, double> closest;
  for (size_t i = 1; i < timeline.events.size(); ++i) {
    const Event& event = timeline.events[i];
    if (event.kind != EventKind::kAllocate || event.step == 0) continue;
    const auto difference = [&](int64_t batch) { return (levels[i - 1].At(batch) - told) / told; };
    const auto asked = [&](int64_t batch) { return Asked(message, sizes, timeline[event.block].bytes.At(batch)); };
    const auto alike = [&](int64_t batch) { return PrintsAlike(asked(batch), *message.tried); };
    const int64_t low = FirstBatch(1, most, [&](int64_t b) { return asked(b) >= *message.tried || alike(b); });
    const int64_t high = FirstBatch(low, most, [&](int64_t b) { return !alike(b); }) - 1;
    const int64_t above = FirstBatch(low, high, [&](int64_t b) { return difference(b) >= 0; });
    const auto add = [&](int64_t batch) {
      const double apart = std::abs(difference(batch));
      const auto known = closest.find(batch);
      if (known == closest.end() || apart < known->second) closest[batch] = apart;
    };
    for (int64_t batch = above; batch <= high && (batch == above || difference(batch) <= wide); ++batch) add(batch);
    for (int64_t batch = above - 1; batch >= low && (batch == above - 1 || difference(batch) >= -wide); --batch)
      add(batch);
  }
  std::vector<Candidate> candidates;
  for (const auto& [batch, difference] : closest) candidates.push_back({batch, difference});
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.difference < b.difference; });
  return candidates;
}

// Whether `a` is the request rather than `b`: refused, then not contradicted, then with the closest allocated bytes.
bool Closer(const RequestMatch& a, const RequestMatch& b) {
  if (a.refused != b.refused) return a.refused;
  if (a.fails_elsewhere != b.fails_elsewhere) return b.fails_elsewhere;
  return Apart(a) < Apart(b);
}

}  // namespace

std::optional<RequestMatch> RequestLike(const OutOfMemory& message, const Timeline& timeline, const Layers& layers,
                                        int64_t batch, const AllocatorConfig& config, std::optional<Bytes> room) {
  if (!message.tried) return std::nullopt;
  const std::vector<Placement> placed = Placements(timeline, batch, config);
  const CachingAllocator sizes(Bytes::Max(), config);
  std::optional<size_t> refused, last;
  if (room) refused = Replay(timeline, batch, config, *room).out_of_memory;
  if (refused) {
    const Bytes more = Bytes::Of(static_cast<int64_t>(kClose * static_cast<double>(room->count())));
    last = Replay(timeline, batch, config, *room + more).out_of_memory;
  }
  const auto alike_at = [&](size_t i) {
    const Bytes asked = Asked(message, sizes, timeline[timeline.events[i].block].bytes.At(batch));
    return PrintsAlike(asked, *message.tried);
  };
  // Where the step fails at such a request, though with other bytes allocated, nothing is contradicted.
  if (last && alike_at(*last)) last.reset();
  std::optional<RequestMatch> found;
  size_t at = 0;
  int alike = 0;
  for (size_t i = 1; i < placed.size(); ++i) {
    const Event& event = timeline.events[i];
    if (event.kind != EventKind::kAllocate) continue;
    RequestMatch match;
    match.tried = Asked(message, sizes, timeline[event.block].bytes.At(batch));
    if (!alike_at(i)) continue;
    ++alike;
    match.allocated = placed[i - 1].allocated;
    if (message.allocated) match.difference = Share(*message.allocated - match.allocated, *message.allocated);
    match.refused = refused && *refused == i && std::abs(match.difference) <= kClose;
    match.fails_elsewhere = last && (i > *last || std::abs(match.difference) > kClose);
    if (found && !Closer(match, *found)) continue;
    found = match;
    at = i;
  }
  if (!found) return std::nullopt;
  found->alike = alike;
  found->request = DescribeAllocation(timeline, layers, batch, at);
  return found;
}

std::optional<RequestMatch> BatchLike(const OutOfMemory& message, const LayOutAt& lay_out, const Layers& layers,
                                      const AllocatorConfig& config, std::optional<Bytes> room, int64_t most) {
  if (!message.tried || !message.allocated) return std::nullopt;
  // The order of events hardly changes above batch 1. At batch 1 some tensors are views that are copies above it.
  const Result<Timeline> first = lay_out(2);
  if (!first.ok()) return std::nullopt;
  // Requested bytes are a little below the allocated ones, so this first choice is wider than the final one.
  constexpr double kWider = 2 * kClose;
  constexpr size_t kMostLaidOut = 24;
  std::vector<Candidate> candidates = Candidates(message, *first, config, most, kWider);
  if (candidates.size() > kMostLaidOut) candidates.resize(kMostLaidOut);
  std::sort(candidates.begin(), candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.batch < b.batch; });
  std::optional<RequestMatch> best;
  for (const Candidate& candidate : candidates) {
    const Result<Timeline> timeline = lay_out(candidate.batch);
    if (!timeline.ok()) continue;
    const std::optional<RequestMatch> match = RequestLike(message, *timeline, layers, candidate.batch, config, room);
    if (match && !match->fails_elsewhere && (!best || Closer(*match, *best))) best = match;
  }
  return best;
}

}  // namespace vramplan
