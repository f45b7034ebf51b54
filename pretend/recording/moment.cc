#include "pretend/recording/moment.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace vramplan {
namespace {

// What a frame of PyTorch lies in: ".../site-packages/torch/nn/modules/module.py", generated code as "<string>".
bool IsOfTorch(const std::string& file) {
  return file.find("-packages/torch/") != std::string::npos || file.starts_with("<");
}

// Where in the run the n-th allocation is: counted from 1, as the marks count what was before them.
struct When {
  int64_t step = 0;
  RunPhase phase = RunPhase::kSetup;
  const Mark* backward = nullptr;  // that runs
};

class Phases {
 public:
  explicit Phases(const Recording& recording) : recording_(recording) {}

  // Of increasing n.
  When Of(int64_t n, bool in_module) {
    while (next_ < recording_.marks.size() && recording_.marks[next_].allocations < n) {
      const Mark& mark = recording_.marks[next_++];
      switch (mark.kind) {
        case MarkKind::kBackward:
          backward_ = &mark;
          begun_ = true;
          break;
        case MarkKind::kAfterBackward:
          backward_ = nullptr;
          break;
        case MarkKind::kUpdate:
          updating_ = begun_ = true;
          break;
        case MarkKind::kAfterUpdate:
          updating_ = false;
          break;
      }
    }
    while (step_ < recording_.steps.size() && recording_.steps[step_].allocations < n) ++step_;
    begun_ = begun_ || in_module || step_ > 0;
    if (!begun_) return {0, RunPhase::kSetup, nullptr};
    const RunPhase phase = updating_ ? RunPhase::kUpdate : backward_ ? RunPhase::kBackward : RunPhase::kForward;
    return {static_cast<int64_t>(step_) + 1, phase, backward_};
  }

 private:
  const Recording& recording_;
  size_t next_ = 0, step_ = 0;
  const Mark* backward_ = nullptr;
  bool updating_ = false, begun_ = false;
};

struct Held {
  Bytes bytes;
  int32_t stack = -1, module = -1;
  RunPhase phase = RunPhase::kSetup;
  const Mark* backward = nullptr;
};

std::vector<HeldRow> RowsOf(const Recording& recording, const std::unordered_map<uint64_t, Held>& live) {
  std::map<int32_t, CodePlace> places;  // by stack: most of the work is finding them
  std::map<std::tuple<CodePlace, int32_t, RunPhase>, HeldRow> rows;
  for (const auto& [address, held] : live) {
    auto place = places.find(held.stack);
    if (place == places.end()) place = places.emplace(held.stack, PlaceOf(recording, held.stack)).first;
    const bool of_thread = place->second.file.empty() && held.backward != nullptr;
    const CodePlace& whose = of_thread ? held.backward->place : place->second;
    HeldRow& row = rows[{whose, held.module, held.phase}];
    row.place = whose;
    row.module = held.module < 0 ? "" : recording.modules[static_cast<size_t>(held.module)];
    row.phase = held.phase;
    ++row.blocks;
    row.bytes += held.bytes;
  }
  std::vector<HeldRow> sorted;
  for (auto& [key, row] : rows) sorted.push_back(std::move(row));
  std::ranges::stable_sort(sorted, [](const HeldRow& a, const HeldRow& b) { return a.bytes > b.bytes; });
  return sorted;
}

// One walk through the history, up to the event before `end`. With `highest` nothing is kept of who is live.
struct Walk {
  Bytes requested, reserved, highest;
  std::array<Bytes, kRunPhases> phases;
  size_t at = 0;  // the event that reached the highest
  bool unknown_free = false;
};

class Walker {
 public:
  explicit Walker(const Recording& recording)
      : recording_(recording), phases_(recording), n_(FirstAllocation(recording)) {}

  Walk To(size_t end, HighMoment* moment) {
    Walk walk;
    for (size_t i = 0; i < end; ++i) {
      const HistoryEvent& event = recording_.history[i];
      if (event.kind == HistoryKind::kAllocate) {
        const When when = phases_.Of(++n_, event.module >= 0);
        walk.requested += event.bytes;
        Bytes& highest = walk.phases[static_cast<size_t>(when.phase)];
        highest = std::max(highest, walk.requested);
        live_[event.address] = {event.bytes, event.stack, event.module, when.phase, when.backward};
        if (walk.requested > walk.highest) {
          walk.highest = walk.requested;
          walk.at = i;
          if (moment != nullptr && i + 1 == end) {
            moment->step = when.step;
            moment->phase = when.phase;
            moment->place = PlaceOf(recording_, event.stack);
            if (moment->place.file.empty() && when.backward != nullptr) moment->place = when.backward->place;
          }
        }
      } else if (event.kind == HistoryKind::kFree) {
        const auto held = live_.find(event.address);
        if (held == live_.end()) {
          walk.unknown_free = true;
          continue;
        }
        walk.requested -= held->second.bytes;
        live_.erase(held);
      } else if (event.kind == HistoryKind::kSegment) {
        walk.reserved += event.bytes;
      } else if (event.kind == HistoryKind::kSegmentGone) {
        walk.reserved -= event.bytes;
      }
    }
    return walk;
  }
  const std::unordered_map<uint64_t, Held>& live() const { return live_; }
  // Of the allocation that would have come next.
  When Next() { return phases_.Of(n_ + 1, false); }

 private:
  // Allocations that the history has lost, or that were made before it began.
  static int64_t FirstAllocation(const Recording& recording) {
    if (!recording.last) return 0;
    const int64_t kept = std::ranges::count(recording.history, HistoryKind::kAllocate, &HistoryEvent::kind);
    return std::max<int64_t>(recording.last->allocations - kept, 0);
  }

  const Recording& recording_;
  Phases phases_;
  int64_t n_;  // allocations so far
  std::unordered_map<uint64_t, Held> live_;
};

HighMoment MomentAt(const Recording& recording, size_t end, bool refused) {
  HighMoment moment;
  Walker walker(recording);
  const Walk walk = walker.To(end, &moment);
  if (refused) {
    const When when = walker.Next();
    moment.step = when.step;
    moment.phase = when.phase;
    moment.place = when.backward == nullptr ? CodePlace() : when.backward->place;
  }
  moment.requested = walk.requested;
  moment.reserved = walk.reserved;
  moment.before_history = walk.unknown_free;
  moment.rows = RowsOf(recording, walker.live());
  return moment;
}

}  // namespace

std::string_view Name(RunPhase phase) {
  switch (phase) {
    case RunPhase::kSetup:
      return "setup";
    case RunPhase::kForward:
      return "forward";
    case RunPhase::kBackward:
      return "backward";
    case RunPhase::kUpdate:
      return "update";
  }
  return "";
}

CodePlace PlaceOf(const Recording& recording, int32_t stack) {
  if (stack < 0) return {};
  const std::vector<int32_t>& frames = recording.stacks[static_cast<size_t>(stack)];
  for (const int32_t frame : frames) {
    const CodePlace& place = recording.frames[static_cast<size_t>(frame)];
    if (!IsOfTorch(place.file)) return place;
  }
  return frames.empty() ? CodePlace() : recording.frames[static_cast<size_t>(frames.front())];
}

std::array<Bytes, kRunPhases> PhasePeaks(const Recording& recording) {
  return Walker(recording).To(recording.history.size(), nullptr).phases;
}

HighMoment MomentOf(const Recording& recording) {
  const Walk walk = Walker(recording).To(recording.history.size(), nullptr);
  HighMoment moment = MomentAt(recording, walk.highest > Bytes() ? walk.at + 1 : 0, false);
  moment.before_history = walk.unknown_free;
  return moment;
}

HighMoment MomentOfRefusal(const Recording& recording) {
  size_t end = 0;
  for (size_t i = 0; i < recording.history.size(); ++i) {
    if (recording.history[i].kind == HistoryKind::kRefused) end = i;
  }
  return MomentAt(recording, end, true);
}

}  // namespace vramplan
