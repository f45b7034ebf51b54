#include "planner/solver/module_profile.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "graph/base/check.h"
#include "graph/layers/trained.h"
#include "graph/layers/uses.h"
#include "planner/solver/steady_step.h"
#include "planner/timeline/checkpointed_calls.h"

namespace vramplan {
namespace {

// Who really made a value: views and in-place operators give on what they got. Invalid: it is not made by a layer.
class Makers {
 public:
  explicit Makers(const Layers& layers) : uses_(layers) {}
  int Of(ValueId id) const {
    const Layer* maker = uses_.MakerOf(id);
    while (maker != nullptr) {
      const bool gives_on = IsView(*maker) || maker->attributes.Int("inplace", 0) != 0;
      if (!gives_on || !Uses::In(maker, 0).valid()) return static_cast<int>(uses_.PlaceOf(maker));
      maker = uses_.MakerOf(maker->inputs[0]);
    }
    return -1;
  }

 private:
  const Uses uses_;
};

class Profiler {
 public:
  Profiler(const Timeline& timeline, const Layers& layers, const StepTime& time)
      : timeline_(timeline),
        layers_(layers),
        time_(time),
        makers_(layers),
        step_(ReadSteadyStep(timeline, layers.layers.size())) {}

  ModuleProfile Run() {
    FindCalls();
    for (const ValueId id : layers_.outputs) {
      if (id.valid()) used_by_[makers_.Of(id)].insert(layers_.layers.size());
    }
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      for (const ValueId id : layers_.layers[l].inputs) {
        if (id.valid() && layers_[id].role == Role::kActivation) used_by_[makers_.Of(id)].insert(l);
      }
    }
    for (size_t c = 0; c < calls_.size(); ++c) Measure(c);
    KeepUseful();
    LayOutMoments();
    return std::move(profile_);
  }

 private:
  struct Measured {
    size_t forward_end = kNever, backward_begin = kNever;
    int64_t dropped = 0, most_dropped = 0, again_level = 0;
    double seconds = 0;
    bool useful = false;
  };

  // Every module that runs two operators or more, as if all were wrapped. But not what runs all of them: it keeps as
  // much as it saves, and is mostly a wrapper of the export around the user's model, who has no such module.
  void FindCalls() {
    std::map<std::string, size_t> layers_in;
    for (const Layer& layer : layers_.layers) {
      for (ModuleId m = layer.module; m.valid(); m = layers_[m].parent) ++layers_in[layers_[m].path];
    }
    std::vector<std::string> paths;
    for (const auto& [path, count] : layers_in) {
      if (!path.empty() && count >= 2 && count < layers_.layers.size()) paths.push_back(path);
    }
    Result<std::vector<CheckpointedCall>> calls = FindCheckpointedCalls(layers_, paths);
    CHECK(calls.ok());
    calls_ = *std::move(calls);
    measured_.resize(calls_.size());
  }

  // torch.nn.MultiheadAttention projects query, key and value at once when they are one object
  // (torch/nn/functional.py, _in_projection_packed). Inside another checkpoint its arguments come back as three, and
  // the second forward saves other tensors than the first: CheckpointError, measured in PyTorch 2.10. It is a module
  // that itself, not by modules of its own, projects and attends.
  bool ComparesArguments(const CheckpointedCall& call) const {
    bool projects = false, attends = false;
    for (const size_t l : call.layers) {
      const Layer& layer = layers_.layers[l];
      if (layer.module != call.module) continue;
      const bool weighs = std::any_of(layer.inputs.begin(), layer.inputs.end(),
                                      [&](ValueId id) { return id.valid() && IsStored(layers_[id]); });
      projects = projects || (weighs && FlopsOf(layers_, layer, 1) > 0);
      attends = attends || layer.op == "scaled_dot_product_attention" || layer.op == "softmax";
    }
    return projects && attends;
  }

  // Only positional tensors go through the checkpoint around a call (torch/utils/checkpoint.py, _NoopSaveInputs,
  // PyTorch 2.10): keywords, as transformers gives them, and lists, as DenseNet does, are held, which a file does not
  // show. Modules of one argument get it by its place.
  bool MustBeAlone(const CheckpointedCall& call) const { return call.arguments.size() > 1 || ComparesArguments(call); }

  int64_t LargestSaved(int layer) const {
    if (layer < 0) return 0;
    const std::vector<int64_t>& saved = step_.saved[static_cast<size_t>(layer)];
    return saved.empty() ? 0 : *std::max_element(saved.begin(), saved.end());
  }

  void Measure(size_t c) {
    const CheckpointedCall& call = calls_[c];
    Measured& m = measured_[c];
    const std::set<size_t> inside(call.layers.begin(), call.layers.end());
    size_t forward_begin = kNever;
    size_t last_saving = 0;
    for (const size_t l : call.layers) {
      if (step_.forward_end[l] != kNever) {
        forward_begin = std::min(forward_begin, step_.forward_begin[l]);
        m.forward_end = m.forward_end == kNever ? step_.forward_end[l] : std::max(m.forward_end, step_.forward_end[l]);
      }
      if (step_.backward_begin[l] != kNever) m.backward_begin = std::min(m.backward_begin, step_.backward_begin[l]);
      if (!step_.saved[l].empty()) last_saving = l;
      for (const int64_t bytes : step_.saved[l]) m.dropped += bytes;
      // What others use outside stays.
      const auto users = used_by_.find(static_cast<int>(l));
      if (users != used_by_.end() &&
          (*users->second.begin() < call.layers.front() || *users->second.rbegin() > call.layers.back()))
        m.dropped -= LargestSaved(static_cast<int>(l));
    }
    if (m.forward_end == kNever || m.backward_begin == kNever || m.backward_begin <= m.forward_end) return;
    m.most_dropped = m.dropped;
    std::set<int> kept;  // arguments that nothing saved so far
    for (const ValueId id : call.arguments) {
      const int maker = layers_[id].role == Role::kInput ? -1 : makers_.Of(id);
      if (maker < 0 || !step_.saved[static_cast<size_t>(maker)].empty() || !kept.insert(maker).second) continue;
      m.dropped -= SizeExpr::Of(layers_[id].type, layers_[id].shape.Elements()).At(timeline_.batch).count();
    }
    // The run ends when the last tensor is saved again (torch/utils/checkpoint.py, early stop).
    for (const size_t l : call.layers) {
      if (l <= last_saving) m.seconds += time_.forward[l];
    }
    int64_t highest = 0;
    for (size_t at = forward_begin; at <= m.forward_end; ++at) highest = std::max(highest, step_.levels[at]);
    m.again_level = step_.levels[m.backward_begin] + (highest - step_.levels[m.forward_end]);
    m.useful = m.dropped > 0;
  }

  // Modules whose calls all drop something.
  void KeepUseful() {
    std::set<std::string> useless;
    for (size_t c = 0; c < calls_.size(); ++c) {
      if (!measured_[c].useful) useless.insert(layers_[calls_[c].module].path);
    }
    std::vector<int> place(calls_.size(), -1);
    std::map<std::string, size_t> module_of;
    for (size_t c = 0; c < calls_.size(); ++c) {
      const std::string& path = layers_[calls_[c].module].path;
      int around = calls_[c].around;
      while (around >= 0 && place[static_cast<size_t>(around)] < 0) around = calls_[static_cast<size_t>(around)].around;
      if (useless.count(path) != 0) continue;
      place[c] = static_cast<int>(profile_.calls.size());
      const auto [found, fresh] = module_of.emplace(path, profile_.modules.size());
      if (fresh) profile_.modules.push_back({path, 0, {}});
      ProfiledModule& module = profile_.modules[found->second];
      module.calls.push_back(profile_.calls.size());
      module.seconds += measured_[c].seconds;
      module.alone = module.alone || MustBeAlone(calls_[c]);
      ProfiledCall call;
      call.module = found->second;
      call.around = around < 0 ? -1 : place[static_cast<size_t>(around)];
      call.dropped = measured_[c].dropped;
      call.most_dropped = measured_[c].most_dropped;
      call.seconds = measured_[c].seconds;
      call.again_level = measured_[c].again_level;
      profile_.calls.push_back(call);
      source_.push_back(c);
    }
  }

  void LayOutMoments() {
    std::vector<size_t> cuts = {0, step_.levels.size()};
    for (const size_t c : source_) {
      cuts.push_back(measured_[c].forward_end + 1);
      cuts.push_back(measured_[c].backward_begin);
    }
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      profile_.levels.push_back(*std::max_element(step_.levels.begin() + static_cast<std::ptrdiff_t>(cuts[i]),
                                                  step_.levels.begin() + static_cast<std::ptrdiff_t>(cuts[i + 1])));
    }
    const auto moment = [&](size_t event) {
      return static_cast<size_t>(std::lower_bound(cuts.begin(), cuts.end(), event) - cuts.begin());
    };
    for (size_t i = 0; i < source_.size(); ++i) {
      ProfiledCall& call = profile_.calls[i];
      call.begin = moment(measured_[source_[i]].forward_end + 1);
      call.end = call.again = moment(measured_[source_[i]].backward_begin);
    }
  }

  const Timeline& timeline_;
  const Layers& layers_;
  const StepTime& time_;
  const Makers makers_;
  const SteadyStep step_;
  std::vector<CheckpointedCall> calls_;
  std::vector<Measured> measured_;           // by call
  std::vector<size_t> source_;               // by profiled call
  std::map<int, std::set<size_t>> used_by_;  // layers that use what a layer made; one past the last: the caller
  ModuleProfile profile_;
};

}  // namespace

double ModuleProfile::Seconds(const ModuleSet& set) const {
  double seconds = 0;
  for (size_t m = 0; m < modules.size(); ++m) {
    if (set[m]) seconds += modules[m].seconds;
  }
  return seconds;
}

std::vector<size_t> ModuleProfile::SubtreeEnds() const {
  std::vector<size_t> ends(calls.size());
  for (size_t c = calls.size(); c-- > 0;) {  // inner ones first
    ends[c] = std::max(ends[c], c + 1);
    if (calls[c].around < 0) continue;
    size_t& outer = ends[static_cast<size_t>(calls[c].around)];
    outer = std::max(outer, ends[c]);
  }
  return ends;
}

std::vector<int64_t> ModuleProfile::Levels(const ModuleSet& set) const {
  std::vector<int64_t> with = levels, change(levels.size() + 1, 0);
  for (const ProfiledCall& call : calls) {
    if (!set[call.module]) continue;
    with[call.again] = std::max(with[call.again], call.again_level);
    change[call.begin] -= call.dropped;
    change[call.end] += call.dropped;
    // While a wrapped call around it is away, that one counts.
    int around = call.around;
    while (around >= 0 && !set[calls[static_cast<size_t>(around)].module])
      around = calls[static_cast<size_t>(around)].around;
    if (around < 0) continue;
    const ProfiledCall& outer = calls[static_cast<size_t>(around)];
    change[std::max(call.begin, outer.begin)] += call.dropped;
    change[std::max(call.begin, std::min(call.end, outer.end))] -= call.dropped;
  }
  int64_t running = 0;
  for (size_t t = 0; t < with.size(); ++t) {
    running += change[t];
    with[t] += running;
  }
  return with;
}

int64_t ModuleProfile::Highest(const ModuleSet& set) const {
  const std::vector<int64_t> with = Levels(set);
  return with.empty() ? 0 : *std::max_element(with.begin(), with.end());
}

std::vector<std::string> ModuleProfile::Paths(const ModuleSet& set) const {
  std::vector<std::string> paths;
  for (size_t m = 0; m < modules.size(); ++m) {
    if (set[m]) paths.push_back(modules[m].path);
  }
  return paths;
}

ModuleProfile ProfileModules(const Timeline& timeline, const Layers& layers, const StepTime& time) {
  return Profiler(timeline, layers, time).Run();
}

}  // namespace vramplan
