#include <algorithm>
#include <unordered_map>

#include "planner/record/played.h"

namespace vramplan {
namespace {

constexpr size_t kNever = SIZE_MAX;

// The allocations of the history that only tries which failed had: born in one, and gone when the next allocation comes.
std::vector<bool> OfFailedTries(const std::vector<HistoryEvent>& history) {
  struct Block {
    size_t number = 0, born = 0;
  };
  std::unordered_map<uint64_t, Block> live;
  std::vector<bool> failed;
  std::vector<size_t> gone;  // in this try so far
  size_t step = 0;           // where the last whole step ended
  size_t begun = kNever;     // where this try began to compute
  bool cleaning = false;     // what is freed now was the failed try's
  for (size_t i = 0; i < history.size(); ++i) {
    const HistoryEvent& event = history[i];
    switch (event.kind) {
      case HistoryKind::kAllocate:
        cleaning = false;
        live[event.address] = {failed.size(), i};
        failed.push_back(false);
        break;
      case HistoryKind::kFree: {
        const auto block = live.find(event.address);
        if (block == live.end()) break;
        if (cleaning && block->second.born > step) failed[block->second.number] = true;
        if (!cleaning && begun != kNever && block->second.born > begun) gone.push_back(block->second.number);
        live.erase(block);
        break;
      }
      case HistoryKind::kEnter:
        if (begun == kNever) begun = i;
        break;
      case HistoryKind::kLoopMark:
        if (static_cast<LoopMark>(event.what) != LoopMark::kStep) break;
        step = begun = i;
        gone.clear();
        break;
      case HistoryKind::kRefused:
        for (const size_t number : gone) failed[number] = true;
        gone.clear();
        begun = i;
        cleaning = true;
        break;
      default:
        break;
    }
  }
  return failed;
}

void Raise(Levels* peak, const Levels& seen) {
  peak->requested = std::max(peak->requested, seen.requested);
  peak->allocated = std::max(peak->allocated, seen.allocated);
  peak->reserved = std::max(peak->reserved, seen.reserved);
}

}  // namespace

Recording Succeeded(const Recording& whole) {
  const std::vector<bool> failed = OfFailedTries(whole.history);
  Recording recording = whole;
  // Without them, and with the counts of allocations as they are then.
  const int64_t before = AllocationsBefore(whole);
  std::vector<int64_t> left_out(failed.size() + 1);
  for (size_t i = 0; i < failed.size(); ++i) left_out[i + 1] = left_out[i] + (failed[i] ? 1 : 0);
  const auto lower = [&](int64_t* allocations) {
    const int64_t kept = std::clamp<int64_t>(*allocations - before, 0, static_cast<int64_t>(failed.size()));
    *allocations -= left_out[static_cast<size_t>(kept)];
  };
  for (Mark& mark : recording.marks) lower(&mark.allocations);
  for (RecordedStep& step : recording.steps) lower(&step.allocations);
  for (RecordedRefusal& refusal : recording.refusals) lower(&refusal.allocations);
  if (recording.last) lower(&recording.last->allocations);
  size_t number = 0;
  std::unordered_map<uint64_t, bool> gone;  // by address: the block that lies there is left out
  std::erase_if(recording.history, [&](const HistoryEvent& event) {
    if (event.kind == HistoryKind::kAllocate) return gone[event.address] = failed[number++];
    return event.kind == HistoryKind::kFree && gone[event.address];
  });
  // From the first step that a try failed in the counters have it in them: these are what our allocator makes of the rest.
  const PlayedRecord played = Played(RecordOf(recording, false));
  const std::vector<Levels> levels = LevelsOver(played.timeline, 1, AllocatorConfig(), Bytes::Max());
  const auto first = static_cast<size_t>(recording.refusals.front().steps);
  std::vector<Levels> peaks(recording.steps.size() + 1), after = peaks;
  size_t step = 0;
  int64_t n = before;
  for (size_t i = 0; i < levels.size(); ++i) {
    if (played.timeline.events[i].kind == EventKind::kAllocate) ++n;
    while (step < recording.steps.size() && n > recording.steps[step].allocations) ++step;
    after[step] = {levels[i].requested, levels[i].allocated, levels[i].reserved};
    Raise(&peaks[step], after[step]);
  }
  Levels run;
  for (size_t i = 0; i < recording.steps.size(); ++i) {
    if (i >= first) recording.steps[i].peak = peaks[i];
    if (i >= first) recording.steps[i].after.reserved = after[i].reserved;
    Raise(&run, recording.steps[i].peak);
  }
  Raise(&run, peaks.back());
  if (recording.last) {
    recording.last->run = run;
    recording.last->peak = peaks.back();
    recording.last->now.reserved = after.back().reserved;
  }
  return recording;
}

}  // namespace vramplan
