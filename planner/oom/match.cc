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

struct Candidate {
  int64_t batch = 0;
  double difference = 0;
};

// The first batch of 1 to `most` at which `at_least` is true, which is false before it and true after; most + 1: none.
template <typename Predicate>
int64_t FirstBatch(int64_t most, const Predicate& at_least) {
  int64_t low = 1, high = most + 1;
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

// Batches with a request that prints the message's "Tried to allocate" and whose level is within `wide` of the
// message's allocated bytes, closest first. The level is in requested bytes, which grow with the batch and differ from
// the allocated ones only by rounding.
std::vector<Candidate> Candidates(const OutOfMemory& message, const Timeline& timeline, const AllocatorConfig& config,
                                  int64_t most, double wide) {
  const Eigen::Matrix<double, Eigen::Dynamic, 3> levels = LevelCoefficients(timeline);
  const CachingAllocator sizes(Bytes::Max(), config);
  const double told = std::max(1.0, static_cast<double>(message.allocated->count()));
  std::map<int64_t, double> closest;
  for (size_t i = 1; i < timeline.events.size(); ++i) {
    const Event& event = timeline.events[i];
    if (event.kind != EventKind::kAllocate || event.step == 0) continue;
    const Eigen::Index before = static_cast<Eigen::Index>(i) - 1;
    const auto level = [&](int64_t batch) {
      const double b = static_cast<double>(batch);
      return levels(before, 0) + b * (levels(before, 1) + b * levels(before, 2));
    };
    const int64_t first = FirstBatch(most, [&](int64_t batch) { return level(batch) >= told * (1 - wide); });
    for (int64_t batch = first; batch <= most && level(batch) <= told * (1 + wide); ++batch) {
      const double difference = std::abs(told - level(batch)) / told;
      const auto known = closest.find(batch);
      if (known != closest.end() && known->second <= difference) continue;
      if (!PrintsAlike(sizes.SegmentFor(timeline[event.block].bytes.At(batch)), *message.tried)) continue;
      closest[batch] = difference;
    }
  }
  std::vector<Candidate> candidates;
  for (const auto& [batch, difference] : closest) candidates.push_back({batch, difference});
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.difference < b.difference; });
  return candidates;
}

}  // namespace

std::optional<RequestMatch> RequestLike(const OutOfMemory& message, const Timeline& timeline, const Layers& layers,
                                        int64_t batch, const AllocatorConfig& config, std::optional<Bytes> room) {
  if (!message.tried) return std::nullopt;
  const std::vector<Placement> placed = Placements(timeline, batch, config);
  const CachingAllocator sizes(Bytes::Max(), config);
  std::optional<size_t> refused;
  if (room) refused = Replay(timeline, batch, config, *room).out_of_memory;
  std::optional<RequestMatch> found;
  size_t at = 0;
  int alike = 0;
  for (size_t i = 1; i < placed.size(); ++i) {
    const Event& event = timeline.events[i];
    if (event.kind != EventKind::kAllocate) continue;
    RequestMatch match;
    match.tried = sizes.SegmentFor(timeline[event.block].bytes.At(batch));
    if (!PrintsAlike(match.tried, *message.tried)) continue;
    ++alike;
    match.allocated = placed[i - 1].allocated;
    if (message.allocated) match.difference = Share(*message.allocated - match.allocated, *message.allocated);
    match.refused = refused && *refused == i && std::abs(match.difference) <= kClose;
    if (found && (found->refused || (!match.refused && std::abs(match.difference) >= std::abs(found->difference))))
      continue;
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
    if (!match || std::abs(match->difference) > kClose) continue;
    const bool closer = best && Apart(*match) < Apart(*best);
    if (!best || (match->refused == best->refused ? closer : match->refused)) best = match;
  }
  return best;
}

}  // namespace vramplan
