#include "planner/allocator/replays.h"

#include <algorithm>
#include <utility>

namespace vramplan {
namespace {

bool DependsOnCapacity(const AllocatorConfig& config) {
  return config.expandable_segments || config.bfc || config.per_process_memory_fraction < 1;
}

}  // namespace

Replays::Known& Replays::About(const Step& step, int64_t batch, const AllocatorConfig& config) {
  // Only a fraction is of the device's memory.
  AllocatorConfig counting = config;
  if (config.per_process_memory_fraction >= 1) counting.device_total.reset();
  const auto found = std::ranges::find_if(known_, [&](const Known& known) {
    return known.batch == batch && known.step.lock() == step && known.config == counting;
  });
  if (found != known_.end()) return *found;
  std::erase_if(known_, [](const Known& known) { return known.step.expired(); });
  const Bytes requested = config.bfc ? Bytes() : RequestedPeak(*step, batch);
  return known_.emplace_back(Known{step, batch, std::move(counting), requested, std::nullopt, {}});
}

std::optional<bool> Replays::Answered(const Step& step, int64_t batch, const AllocatorConfig& config, Bytes capacity) {
  const std::lock_guard lock(mutex_);
  const Known& known = About(step, batch, config);
  if (known.requested > capacity) return false;
  if (known.enough && capacity >= *known.enough) return true;
  const auto asked = std::ranges::find(known.answers, capacity, &Answer::capacity);
  return asked == known.answers.end() ? std::nullopt : std::optional(asked->fits);
}

void Replays::Keep(const ReplayEnd& end, const Step& step, int64_t batch, const AllocatorConfig& config,
                   Bytes capacity) {
  const std::lock_guard lock(mutex_);
  Known& known = About(step, batch, config);
  if (end.fits && end.retries == 0 && !DependsOnCapacity(known.config)) known.enough = end.most_reserved;
  known.answers.push_back({capacity, end.fits});
}

Peak Replays::Of(const Step& step, int64_t batch, const AllocatorConfig& config, Bytes capacity) {
  Peak peak = Replay(*step, batch, config, capacity);
  Keep({!peak.out_of_memory, peak.retries, peak.most_reserved}, step, batch, config, capacity);
  return peak;
}

std::optional<Peak> Replays::Within(const Step& step, int64_t batch, const AllocatorConfig& config, Bytes capacity) {
  if (Answered(step, batch, config, capacity) == std::optional(false)) return std::nullopt;
  Peak peak = Of(step, batch, config, capacity);
  return peak.out_of_memory ? std::nullopt : std::optional(std::move(peak));
}

bool Replays::Fits(const Step& step, int64_t batch, const AllocatorConfig& config, Bytes capacity) {
  if (const std::optional<bool> answered = Answered(step, batch, config, capacity)) return *answered;
  const ReplayEnd end = EndOfReplay(*step, batch, config, capacity);
  Keep(end, step, batch, config, capacity);
  return end.fits;
}

}  // namespace vramplan
