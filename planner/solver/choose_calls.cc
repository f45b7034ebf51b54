#include "planner/solver/choose_calls.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "planner/solver/steady_step.h"

namespace vramplan {
namespace {

// What ran again in the last step: layers, and which operators of them.
struct Again {
  std::set<int32_t> layers;
  std::set<std::pair<int32_t, std::string_view>> operators;
};

Again ReadAgain(const Timeline& timeline) {
  Again again;
  for (const Event& event : timeline.events) {
    if (event.step != timeline.steps || event.phase != Phase::kRecompute || event.kind != EventKind::kAllocate)
      continue;
    const Origin& origin = timeline[event.block].origin;
    again.layers.insert(origin.layer);
    again.operators.emplace(origin.layer, origin.op);
  }
  return again;
}

int64_t BytesOf(const Timeline& timeline, const std::vector<BlockId>& blocks) {
  int64_t bytes = 0;
  for (const BlockId block : blocks) bytes += timeline[block].bytes.At(timeline.batch).count();
  return bytes;
}

// Whether `bytes` more during all of `away` stay within `most`.
bool HasRoom(const std::vector<int64_t>& levels, const WrappedModule& module, int64_t bytes, int64_t most) {
  for (const auto& [begin, end] : module.away) {
    for (size_t t = begin; t < end; ++t) {
      if (levels[t] + bytes > most) return false;
    }
  }
  return true;
}

void Put(std::vector<int64_t>* levels, const WrappedModule& module, int64_t bytes) {
  for (const auto& [begin, end] : module.away) {
    for (size_t t = begin; t < end; ++t) (*levels)[t] += bytes;
  }
}

}  // namespace

CallProfile ProfileCalls(const Timeline& timeline, const Layers& layers, const StepTime& time,
                         const ModuleProfile& profile) {
  CallProfile calls;
  const SteadyStep step = ReadSteadyStep(timeline, layers.layers.size());
  const size_t first = timeline.events.size() - step.levels.size();
  std::vector<size_t> cuts = {0, step.levels.size()};
  std::vector<const CheckpointRun*> runs;
  for (const CheckpointRun& run : timeline.checkpoints) {
    if (run.closed <= first || run.again <= run.closed) continue;
    runs.push_back(&run);
    cuts.push_back(run.closed - first);
    cuts.push_back(run.again - first);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    calls.levels.push_back(*std::max_element(step.levels.begin() + static_cast<std::ptrdiff_t>(cuts[i]),
                                             step.levels.begin() + static_cast<std::ptrdiff_t>(cuts[i + 1])));
  }
  const auto moment = [&](size_t event) {
    return static_cast<size_t>(std::lower_bound(cuts.begin(), cuts.end(), event) - cuts.begin());
  };
  const Again again = ReadAgain(timeline);
  std::map<int32_t, int> calls_of_layer;
  for (const CheckpointRun* run : runs) {
    for (const OperatorCall& call : run->calls) ++calls_of_layer[call.layer];
  }
  std::map<SavedCall, size_t> known;
  std::set<SavedCall> refused;
  for (const CheckpointRun* run : runs) {
    size_t m = 0;
    while (m < calls.modules.size() && calls.modules[m].path != run->module) ++m;
    if (m == calls.modules.size()) {
      WrappedModule module{run->module, 0, 0, {}};
      for (const ProfiledModule& profiled : profile.modules) {
        if (profiled.path != run->module) continue;
        module.seconds = profiled.seconds;
        for (const size_t c : profiled.calls) module.dropped = std::max(module.dropped, profile.calls[c].dropped);
      }
      calls.seconds += module.seconds;
      calls.modules.push_back(std::move(module));
    }
    calls.modules[m].away.emplace_back(moment(run->closed - first), moment(run->again - first));
    for (const OperatorCall& call : run->calls) {
      const SavedCall saved{run->module, call.op, call.occurrence};
      const bool ran =
          !call.results.empty() && again.operators.count({call.layer, timeline[call.results[0]].origin.op}) != 0;
      if (call.overwritten || !ran) refused.insert(saved);
      const auto [place, fresh] = known.emplace(saved, calls.calls.size());
      if (fresh) calls.calls.push_back({m, saved, 0, 0});
      CallToSave& to_save = calls.calls[place->second];
      to_save.bytes = std::max(to_save.bytes, BytesOf(timeline, call.results));
      to_save.seconds += time.forward[static_cast<size_t>(call.layer)] / calls_of_layer[call.layer];
    }
  }
  std::erase_if(calls.calls, [&](const CallToSave& call) { return refused.count(call.call) != 0 || call.bytes == 0; });
  return calls;
}

namespace {

// One thing that fills the room left: a call to save, or a module to leave as it is.
struct Filling {
  bool is_module = false;
  size_t index = 0;
  double seconds = 0;
  int64_t bytes = 0;
};

enum class First : uint8_t { kCalls, kModules, kNeither };

std::vector<Filling> FillingsOf(const CallProfile& profile, First first) {
  std::vector<Filling> fillings;
  for (size_t c = 0; c < profile.calls.size(); ++c) {
    if (profile.calls[c].seconds > 0) fillings.push_back({false, c, profile.calls[c].seconds, profile.calls[c].bytes});
  }
  for (size_t m = 0; m < profile.modules.size(); ++m)
    fillings.push_back({true, m, profile.modules[m].seconds, std::max<int64_t>(1, profile.modules[m].dropped)});
  std::stable_sort(fillings.begin(), fillings.end(), [&](const Filling& a, const Filling& b) {
    if (first != First::kNeither && a.is_module != b.is_module) return a.is_module == (first == First::kModules);
    return a.seconds * static_cast<double>(b.bytes) > b.seconds * static_cast<double>(a.bytes);
  });
  return fillings;
}

CallChoice Fill(const CallProfile& profile, int64_t most, First first) {
  std::vector<int64_t> levels = profile.levels;
  std::vector<bool> saved(profile.calls.size()), unwrapped(profile.modules.size());
  std::vector<int64_t> kept(profile.modules.size());
  std::vector<double> left;
  for (const WrappedModule& module : profile.modules) left.push_back(module.seconds);
  for (const Filling& filling : FillingsOf(profile, first)) {
    const size_t m = filling.is_module ? filling.index : profile.calls[filling.index].module;
    const int64_t more = filling.is_module ? profile.modules[m].dropped - kept[m] : filling.bytes;
    if (unwrapped[m] || !HasRoom(levels, profile.modules[m], more, most)) continue;
    Put(&levels, profile.modules[m], more);
    kept[m] += more;
    if (filling.is_module) {
      unwrapped[m] = true;
    } else {
      saved[filling.index] = true;
      left[m] -= filling.seconds;
    }
  }
  CallChoice choice;
  for (size_t m = 0; m < profile.modules.size(); ++m) {
    if (unwrapped[m]) continue;
    choice.checkpoint.push_back(profile.modules[m].path);
    choice.seconds += std::max(0.0, left[m]);
  }
  for (size_t c = 0; c < profile.calls.size(); ++c) {
    if (saved[c] && !unwrapped[profile.calls[c].module]) choice.saved.push_back(profile.calls[c].call);
  }
  return choice;
}

}  // namespace

std::optional<CallChoice> ChooseCalls(const CallProfile& profile, int64_t most) {
  if (profile.levels.empty() || *std::max_element(profile.levels.begin(), profile.levels.end()) > most)
    return std::nullopt;
  CallChoice best = Fill(profile, most, First::kCalls);
  for (const First first : {First::kModules, First::kNeither}) {
    CallChoice other = Fill(profile, most, first);
    if (other.seconds < best.seconds) best = std::move(other);
  }
  return best;
}

double LeastSecondsOfAny(const Timeline& timeline, const Layers& layers, const StepTime& time, int64_t most) {
  const SteadyStep step = ReadSteadyStep(timeline, layers.layers.size());
  struct Item {
    size_t begin, end;
    double bytes, seconds;
  };
  std::vector<Item> items;
  std::set<size_t> moments;
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    if (step.saved[l].empty() || step.forward_end[l] == kNever) continue;
    const double bytes = static_cast<double>(std::accumulate(step.saved[l].begin(), step.saved[l].end(), int64_t{0}));
    const size_t end = step.backward_begin[l] == kNever ? step.levels.size() : step.backward_begin[l];
    items.push_back({step.forward_end[l], end, bytes, time.forward[l]});
    moments.insert(end);
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const Item& a, const Item& b) { return a.seconds * b.bytes < b.seconds * a.bytes; });
  double least = 0;
  for (const size_t t : moments) {
    if (t == 0 || t > step.levels.size()) continue;
    double excess = static_cast<double>(step.levels[t - 1] - most), seconds = 0;
    for (const Item& item : items) {
      if (excess <= 0) break;
      if (item.begin >= t || item.end < t) continue;
      const double part = std::min(1.0, excess / item.bytes);
      seconds += part * item.seconds;
      excess -= part * item.bytes;
    }
    if (excess <= 0) least = std::max(least, seconds);
  }
  return least;
}

}  // namespace vramplan
