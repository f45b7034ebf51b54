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
  Phase phase = Phase::kSetup;
  const Mark* backward = nullptr;  // that runs
  bool keeps_graphs = false;       // of an evaluation
};

bool IsForward(const Mark& mark) {
  return mark.kind == MarkKind::kForward || mark.kind == MarkKind::kForwardOfEval || mark.kind == MarkKind::kInference;
}

class Phases {
 public:
  explicit Phases(const Recording& recording) : recording_(recording), evaluations_(EvaluationsOf(recording)) {}

  // Of increasing n.
  When Of(int64_t n, bool in_module) {
    while (next_ < recording_.marks.size() && recording_.marks[next_].allocations < n) Pass();
    while (step_ < recording_.steps.size() && recording_.steps[step_].allocations < n) ++step_;
    begun_ = begun_ || in_module || step_ > 0;
    return Here();
  }

  // Nothing may be allocated between a backward that begins, its refusal, and its end: their order in the file tells.
  When Of(const RecordedRefusal& refusal) {
    while (next_ < std::min(recording_.marks.size(), static_cast<size_t>(refusal.marks))) Pass();
    step_ = static_cast<size_t>(refusal.steps);
    begun_ = begun_ || step_ > 0;
    return Here();
  }

 private:
  void Pass() {
    const Mark& mark = recording_.marks[next_];
    switch (mark.kind) {
      case MarkKind::kBackward:
        backward_ = &mark;
        evaluation_ = nullptr;
        break;
      case MarkKind::kAfterBackward:
        backward_ = nullptr;
        break;
      case MarkKind::kUpdate:
        updating_ = true;
        evaluation_ = nullptr;
        break;
      case MarkKind::kAfterUpdate:
        updating_ = false;
        break;
      case MarkKind::kForward:
      case MarkKind::kForwardOfEval:
      case MarkKind::kInference:
        updating_ = false;  // it failed
        evaluation_ = evaluations_[next_] ? &mark : nullptr;
        break;
    }
    begun_ = true;
    ++next_;
  }

  When Here() const {
    if (!begun_) return {};
    const auto steps = static_cast<int64_t>(step_);
    if (updating_) return {steps + 1, Phase::kUpdate, backward_};
    if (backward_ != nullptr) return {steps + 1, Phase::kBackward, backward_};
    if (evaluation_ == nullptr) return {steps + 1, Phase::kForward, nullptr};
    return {steps, Phase::kEvaluation, nullptr, evaluation_->kind != MarkKind::kInference};
  }

  const Recording& recording_;
  std::vector<bool> evaluations_;
  size_t next_ = 0, step_ = 0;
  const Mark *backward_ = nullptr, *evaluation_ = nullptr;
  bool updating_ = false, begun_ = false;
};

struct Held {
  Bytes bytes;
  int32_t stack = -1, module = -1;
  Phase phase = Phase::kSetup;
  const Mark* backward = nullptr;
  bool keeps_graphs = false;
  size_t number = 0;  // of the allocations in the history
};

std::vector<HeldRow> RowsOf(const Recording& recording, const std::unordered_map<uint64_t, Held>& live,
                            const std::vector<HeldKind>& kinds) {
  std::map<int32_t, std::pair<CodePlace, CodePlace>> places;  // by stack: most of the work is finding them
  std::map<std::tuple<CodePlace, CodePlace, int32_t, Phase, HeldKind>, HeldRow> rows;
  for (const auto& [address, held] : live) {
    auto found = places.find(held.stack);
    if (found == places.end()) {
      const CodePlace place = PlaceOf(recording, held.stack);
      found = places.emplace(held.stack, std::pair(place, CallerOf(recording, held.stack, place))).first;
    }
    const auto& [place, caller] = found->second;
    const CodePlace& whose = place.file.empty() && held.backward != nullptr ? held.backward->place : place;
    const HeldKind kind = held.number < kinds.size() ? kinds[held.number] : HeldKind::kUntold;
    HeldRow& row = rows[{whose, caller, held.module, held.phase, kind}];
    row.place = whose;
    row.caller = caller;
    row.kind = kind;
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
  std::array<Bytes, kPhases> phases;
  size_t at = 0;  // the event that reached the highest
  bool unknown_free = false;
};

class Walker {
 public:
  explicit Walker(const Recording& recording)
      : recording_(recording), phases_(recording), n_(AllocationsBefore(recording)) {}

  Walk To(size_t end, HighMoment* moment) {
    Walk walk;
    size_t number = 0;
    for (size_t i = 0; i < end; ++i) {
      const HistoryEvent& event = recording_.history[i];
      if (event.kind == HistoryKind::kAllocate) {
        const When when = phases_.Of(++n_, event.module >= 0);
        walk.requested += event.bytes;
        Bytes& highest = walk.phases[static_cast<size_t>(when.phase)];
        highest = std::max(highest, walk.requested);
        live_[event.address] = {event.bytes,   event.stack,       event.module, when.phase,
                                when.backward, when.keeps_graphs, number++};
        if (walk.requested > walk.highest) {
          walk.highest = walk.requested;
          walk.at = i;
          if (moment != nullptr && i + 1 == end) {
            moment->step = when.step;
            moment->phase = when.phase;
            moment->keeps_graphs = when.keeps_graphs;
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
  When At(const RecordedRefusal& refusal) { return phases_.Of(refusal); }

 private:
  const Recording& recording_;
  Phases phases_;
  int64_t n_;  // allocations so far
  std::unordered_map<uint64_t, Held> live_;
};

// Whether no step of a training ran. Of a run that died while it computed with gradients nobody knows.
bool IsInference(const Recording& recording, bool died) {
  return recording.steps.empty() && std::ranges::all_of(recording.marks, [&](const Mark& mark) {
           return mark.kind == MarkKind::kInference || (IsForward(mark) && !died);
         });
}

HighMoment MomentAt(const Recording& recording, size_t end, bool refused, const std::vector<HeldKind>& kinds) {
  HighMoment moment;
  Walker walker(recording);
  const Walk walk = walker.To(end, &moment);
  if (refused && !recording.refusals.empty()) {
    const When when = walker.At(recording.refusals.back());
    moment.step = when.step;
    moment.phase = when.phase;
    moment.keeps_graphs = when.keeps_graphs;
    moment.place = when.backward == nullptr ? CodePlace() : when.backward->place;
  }
  if (moment.phase == Phase::kForward && IsInference(recording, refused)) moment.step = 0;
  moment.requested = walk.requested;
  moment.reserved = walk.reserved;
  moment.before_history = walk.unknown_free;
  moment.rows = RowsOf(recording, walker.live(), kinds);
  for (const auto& [address, held] : walker.live()) {
    if (held.keeps_graphs && held.module >= 0) moment.of_graphs += held.bytes;
  }
  return moment;
}

// It ended by itself and no optimizer was there: an inference, or gradients for something else than a step.
bool HasNoSteps(const Recording& recording) {
  return recording.end == "exit" && recording.failure.empty() && recording.steps.empty() &&
         std::ranges::find(recording.marks, MarkKind::kUpdate, &Mark::kind) == recording.marks.end();
}

}  // namespace

std::string WhenText(const HighMoment& moment) {
  if (moment.phase == Phase::kSetup) return "before the first step";
  if (moment.phase == Phase::kForward && moment.step == 0) return "in the forward";
  if (moment.phase != Phase::kEvaluation)
    return "in the " + std::string(Name(moment.phase)) +
           (moment.step == 0 ? "" : " of step " + std::to_string(moment.step));
  const std::string when = moment.step == 0 ? "before step 1" : "after step " + std::to_string(moment.step);
  return "in the evaluation " + when + (moment.keeps_graphs ? ", with gradients" : "");
}

std::vector<bool> EvaluationsOf(const Recording& recording) {
  const std::vector<Mark>& marks = recording.marks;
  const auto steps = static_cast<int64_t>(recording.steps.size());
  using Key = std::tuple<CodePlace, std::string, bool>;  // the line, the module, with gradients
  std::map<Key, int32_t> numbers;
  std::vector<int32_t> keys(marks.size());
  std::vector<std::pair<int64_t, int64_t>> seen;  // by key: the last whole step that had it, how many had it
  for (size_t i = 0; i < marks.size(); ++i) {
    if (!IsForward(marks[i])) continue;
    const Key key{marks[i].place, marks[i].module, marks[i].kind != MarkKind::kInference};
    keys[i] = numbers.try_emplace(key, static_cast<int32_t>(numbers.size())).first->second;
    seen.resize(numbers.size(), {-1, 0});
    auto& [last, count] = seen[static_cast<size_t>(keys[i])];
    if (marks[i].steps >= steps || marks[i].steps == last) continue;
    last = marks[i].steps;
    ++count;
  }
  const auto in_each_step = [&](size_t i) { return seen[static_cast<size_t>(keys[i])].second == steps; };
  std::vector<bool> evaluations(marks.size(), false);
  std::map<std::pair<int64_t, int32_t>, int64_t> times;  // by step and key: without a backward
  bool backward = false;
  for (size_t i = marks.size(); i-- > 0;) {
    if (i + 1 < marks.size() && marks[i + 1].steps != marks[i].steps) backward = false;
    if (marks[i].kind == MarkKind::kBackward) backward = true;
    if (!IsForward(marks[i])) continue;
    if (in_each_step(i)) {
      backward = false;
    } else if (marks[i].kind == MarkKind::kInference || !backward) {
      evaluations[i] = true;
      ++times[{marks[i].steps, keys[i]}];
    }
  }
  for (size_t i = 0; i < marks.size(); ++i) {
    if (evaluations[i] && marks[i].kind == MarkKind::kForward && times[{marks[i].steps, keys[i]}] < 2)
      evaluations[i] = false;
  }
  return evaluations;
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

int64_t AllocationsBefore(const Recording& recording) {
  if (!recording.last) return 0;
  const int64_t kept = std::ranges::count(recording.history, HistoryKind::kAllocate, &HistoryEvent::kind);
  return std::max<int64_t>(recording.last->allocations - kept, 0);
}

bool IsOfLibrary(const std::string& file) {
  // ".../lib/python3.11/threading.py"; a package lies below site-packages or dist-packages, wherever that is; what inductor
  // writes lies in /tmp/torchinductor_USER (torch/_inductor/runtime/cache_dir_utils.py, 2.10).
  return file.empty() || file.starts_with("<") || file.find("-packages/") != std::string::npos ||
         file.find("/lib/python3") != std::string::npos || file.find("/torchinductor_") != std::string::npos;
}

CodePlace OwnPlaceOf(const Recording& recording, int32_t stack) {
  if (stack < 0) return {};
  for (const int32_t frame : recording.stacks[static_cast<size_t>(stack)]) {
    const CodePlace& place = recording.frames[static_cast<size_t>(frame)];
    if (!IsOfLibrary(place.file)) return place;
  }
  return PlaceOf(recording, stack);
}

CodePlace CallerOf(const Recording& recording, int32_t stack, const CodePlace& place) {
  if (!IsOfLibrary(place.file)) return {};
  CodePlace own = OwnPlaceOf(recording, stack);
  return IsOfLibrary(own.file) ? CodePlace() : own;
}

std::array<Bytes, kPhases> PhasePeaks(const Recording& recording) {
  return Walker(recording).To(recording.history.size(), nullptr).phases;
}

HighMoment MomentOf(const Recording& recording, const std::vector<HeldKind>& kinds) {
  const Walk walk = Walker(recording).To(recording.history.size(), nullptr);
  HighMoment moment = MomentAt(recording, walk.highest > Bytes() ? walk.at + 1 : 0, false, kinds);
  moment.before_history = walk.unknown_free;
  if (HasNoSteps(recording)) moment.step = 0;
  return moment;
}

HighMoment MomentOfRefusal(const Recording& recording, const std::vector<HeldKind>& kinds) {
  size_t end = 0;
  for (size_t i = 0; i < recording.history.size(); ++i) {
    if (recording.history[i].kind == HistoryKind::kRefused) end = i;
  }
  return MomentAt(recording, end, true, kinds);
}

}  // namespace vramplan
