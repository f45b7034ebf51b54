#include "planner/allocator/replay.h"

#include <algorithm>

#include "graph/base/check.h"
#include "planner/allocator/player.h"

namespace vramplan {
namespace {

// The counters of torch.cuda.memory_stats() that a report needs, with reset_peak_memory_stats() (peak = current) at the
// beginning of each step.
class PeakMeter {
 public:
  explicit PeakMeter(Peak* peak) : peak_(*peak) {}

  void BeginStep(int step, size_t event, const Levels& now) {
    if (step == 1) {  // the setup's own peak does not count
      peak_.peak = now;
      peak_.moment.levels = now;
      peak_.moment.event = event == 0 ? 0 : event - 1;
    }
    peak_.steps.push_back({step, now, Phase::kForward, Bytes(), Bytes()});
  }

  void Allocated(size_t index, const Event& event, const Levels& now) {
    peak_.most_reserved = std::max(peak_.most_reserved, now.reserved);
    if (!peak_.steps.empty()) {
      StepPeak& step = peak_.steps.back();
      if (now.requested > step.peak.requested) {
        step.peak.requested = now.requested;
        step.phase = event.phase == Phase::kRecompute ? Phase::kBackward : event.phase;
      }
      step.peak.allocated = std::max(step.peak.allocated, now.allocated);
      step.peak.reserved = std::max(step.peak.reserved, now.reserved);
    }
    peak_.peak.requested = std::max(peak_.peak.requested, now.requested);
    peak_.peak.reserved = std::max(peak_.peak.reserved, now.reserved);
    if (now.allocated > peak_.peak.allocated) {
      peak_.peak.allocated = now.allocated;
      peak_.moment.levels = now;
      peak_.moment.event = index;
    }
  }

 private:
  Peak& peak_;
};

// The blocks that are live after events[0 .. moment.event], from the timeline alone, checked against the allocator.
void DescribeMoment(const Timeline& timeline, int64_t batch, PeakMoment* moment) {
  if (timeline.events.empty()) return;
  moment->step = timeline.events[moment->event].step;
  moment->phase = timeline.events[moment->event].phase;
  constexpr int8_t kDead = -1;
  std::vector<int8_t> category(timeline.blocks.size(), kDead);
  std::vector<BlockId> born;
  for (size_t i = 0; i <= moment->event; ++i) {
    const Event& event = timeline.events[i];
    if (!event.block.valid()) continue;
    int8_t& slot = category[static_cast<size_t>(event.block.value)];
    if (event.kind == EventKind::kFree) {
      slot = kDead;
    } else {
      const bool birth = event.kind == EventKind::kAllocate;
      if (birth) born.push_back(event.block);
      slot = static_cast<int8_t>(birth ? timeline[event.block].category : event.category);
    }
  }
  Bytes sum;
  for (const BlockId block : born) {
    const int8_t slot = category[static_cast<size_t>(block.value)];
    const Bytes bytes = timeline[block].bytes.At(batch);
    if (slot == kDead || bytes == Bytes()) continue;
    moment->categories[static_cast<size_t>(slot)] += bytes;
    moment->live.push_back(block);
    sum += bytes;
  }
  moment->slack = moment->levels.allocated - moment->levels.requested;
  CHECK(sum == moment->levels.requested);  // so categories + slack == allocated
}

// Replays the timeline to its end, or until memory runs out.
Peak PlayAll(const Timeline& timeline, int64_t batch, const PlacedBlock& placed, Player* player_given) {
  Player& player = *player_given;
  Peak peak;
  PeakMeter meter(&peak);
  int step = 0;
  for (size_t i = 0; i < timeline.events.size(); ++i) {
    const Event& event = timeline.events[i];
    CHECK(event.step == step || event.step == step + 1);
    CHECK(event.block.valid() || event.step > 0);  // marks belong to steps
    if (event.step != step) meter.BeginStep(step = event.step, i, player.levels());
    std::optional<Allocation> block;
    if (!player.Play(event, placed ? &block : nullptr)) {
      peak.out_of_memory = i;
      break;
    }
    if (block && !placed(i, *block)) break;
    switch (event.kind) {
      case EventKind::kAllocate:
        meter.Allocated(i, event, player.levels());
        break;
      case EventKind::kAfterForward:
        peak.steps.back().after_forward = player.statistics().requested;
        break;
      case EventKind::kAfterBackward:
        peak.steps.back().after_backward = player.statistics().requested;
        break;
      default:
        break;
    }
  }
  peak.retries = player.statistics().retries;
  if (peak.moment.levels == Levels{}) return peak;  // nothing was ever allocated
  DescribeMoment(timeline, batch, &peak.moment);
  return peak;
}

}  // namespace

Bytes RequestedPeak(const Timeline& timeline, int64_t batch) {
  Bytes peak, now;
  for (const Event& event : timeline.events) {
    if (event.step > 0) peak = std::max(peak, now);
    if (event.kind == EventKind::kFree) now -= timeline[event.block].bytes.At(batch);
    if (event.kind != EventKind::kAllocate) continue;
    now += timeline[event.block].bytes.At(batch);
    if (event.step > 0) peak = std::max(peak, now);
  }
  return peak;
}

ReplayEnd EndOfReplay(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity) {
  Player player(timeline, batch, config, capacity);
  ReplayEnd end;
  end.fits = std::ranges::all_of(timeline.events, [&](const Event& event) {
    const bool played = player.Play(event);
    end.most_reserved = std::max(end.most_reserved, player.statistics().reserved);
    return played;
  });
  end.retries = player.statistics().retries;
  return end;
}

Peak Replay(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity,
            PeakSegments* segments) {
  Player player(timeline, batch, config, capacity);
  const Peak peak = PlayAll(timeline, batch, nullptr, &player);
  if (segments != nullptr && peak.moment.levels != Levels{}) {
    Player again(timeline, batch, config, capacity);
    for (size_t i = 0; i <= peak.moment.event; ++i) CHECK(again.Play(timeline.events[i]));
    *segments = again.Picture();
  }
  return peak;
}

Peak ReplayOn(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity,
              DeviceMemory* device, const PlacedBlock& placed) {
  Player player(timeline, batch, config, capacity, device);
  return PlayAll(timeline, batch, placed, &player);
}

std::vector<Placement> Placements(const Timeline& timeline, int64_t batch, const AllocatorConfig& config) {
  Player player(timeline, batch, config, Bytes::Max());
  std::vector<Placement> placements;
  placements.reserve(timeline.events.size());
  Bytes before;
  for (const Event& event : timeline.events) {
    if (!player.Play(event)) break;
    const Bytes now = player.statistics().allocated;
    placements.push_back({now > before ? now - before : before - now, now});
    before = now;
  }
  return placements;
}

std::vector<Levels> LevelsOver(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity) {
  Player player(timeline, batch, config, capacity);
  std::vector<Levels> levels;
  levels.reserve(timeline.events.size());
  for (const Event& event : timeline.events) {
    if (!player.Play(event)) break;
    levels.push_back(player.levels());
  }
  return levels;
}

}  // namespace vramplan
