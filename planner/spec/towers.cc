#include "planner/spec/towers.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <string_view>

#include "graph/layers/trained.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

constexpr size_t kFewestTensors = 4;  // trained ones of a tower: two layers with biases

class TowerFinder {
 public:
  explicit TowerFinder(const Layers& layers) : layers_(layers), group_(layers.values.size()) {
    std::iota(group_.begin(), group_.end(), size_t{0});
    FindWhatComesBeforeWeights();
    for (const Layer& layer : layers_.layers) JoinAt(layer);
  }

  std::vector<Tower> Towers() {
    std::map<size_t, Tower> towers;  // by group; a tower comes where its first parameter is listed
    std::vector<size_t> order;
    for (const ValueId id : layers_.parameters) {
      if (!IsTrained(layers_, id)) continue;
      const auto [found, is_new] = towers.try_emplace(GroupOf(id));
      if (is_new) {
        found->second.first = layers_[id].name;
        order.push_back(found->first);
      }
      found->second.parameters.push_back(id);
    }
    std::vector<Tower> large;
    std::vector<size_t> groups;
    for (const size_t group : order) {
      if (towers[group].parameters.size() < kFewestTensors) continue;
      large.push_back(std::move(towers[group]));
      groups.push_back(group);
    }
    if (large.size() < 2) return {};
    const Uses uses(layers_);
    std::vector<std::set<ValueId>> inputs;
    std::vector<Form> forms;
    for (size_t i = 0; i < large.size(); ++i) {
      inputs.push_back(InputsOf(groups[i], uses));
      forms.push_back(FormOf(large[i]));
    }
    std::vector<Tower> result;
    for (size_t i = 0; i < large.size(); ++i) {
      bool beside = false;
      for (size_t j = 0; j < large.size() && !beside; ++j) {
        beside = j != i && (Share(inputs[i], inputs[j]) || std::ranges::includes(forms[i], forms[j]) ||
                            std::ranges::includes(forms[j], forms[i]));
      }
      if (beside) result.push_back(large[i]);
    }
    return result;
  }

 private:
  using Form = std::vector<std::string>;  // shapes, sorted

  bool IsParameter(ValueId id) const { return id.valid() && layers_[id].role == Role::kParameter; }

  bool LeadsToWeights(const Layer& layer) const {
    return std::ranges::any_of(layer.inputs, [&](ValueId id) { return IsParameter(id); }) ||
           std::ranges::any_of(layer.outputs, [&](ValueId id) { return id.valid() && before_[id.index()]; });
  }

  void FindWhatComesBeforeWeights() {
    before_.assign(layers_.values.size(), false);
    for (auto layer = layers_.layers.rbegin(); layer != layers_.layers.rend(); ++layer) {
      if (!LeadsToWeights(*layer)) continue;
      for (const ValueId id : layer->inputs) {
        if (id.valid()) before_[id.index()] = true;
      }
    }
  }

  // What stands before a weight, or behind one network alone, belongs to that network.
  void JoinAt(const Layer& layer) {
    std::vector<size_t> joined;
    for (const ValueId id : layer.inputs) {
      if (id.valid() && Belongs(id)) joined.push_back(GroupOf(id));
    }
    std::ranges::sort(joined);
    joined.erase(std::unique(joined.begin(), joined.end()), joined.end());
    if (joined.empty() || (joined.size() > 1 && !LeadsToWeights(layer))) return;
    for (const size_t group : joined) group_[group] = joined.front();
    for (const ValueId id : layer.outputs) {
      if (id.valid()) group_[id.index()] = joined.front();
    }
  }

  // To some network: its parameters, and what was made of them. Inputs and constants are everybody's.
  bool Belongs(ValueId id) const { return IsParameter(id) || group_[id.index()] != id.index(); }

  size_t GroupOf(ValueId id) {
    size_t group = id.index();
    while (group_[group] != group) group = group_[group] = group_[group_[group]];
    return group;
  }

  std::set<ValueId> InputsOf(size_t group, const Uses& uses) {
    std::set<ValueId> found;
    for (const Layer& layer : layers_.layers) {
      if (layer.outputs.empty() || !layer.outputs[0].valid() || !Belongs(layer.outputs[0])) continue;
      if (GroupOf(layer.outputs[0]) != group) continue;
      for (const ValueId id : layer.inputs) {
        if (id.valid() && !Belongs(id)) found.insert(SourceOf(id, uses));
      }
    }
    return found;
  }

  // The input of the model behind what has no weights.
  static ValueId SourceOf(ValueId id, const Uses& uses) {
    for (const Layer* maker = uses.MakerOf(id); maker != nullptr; maker = uses.MakerOf(id)) {
      if (maker->inputs.empty() || !maker->inputs[0].valid()) break;
      id = maker->inputs[0];
    }
    return id;
  }

  bool Share(const std::set<ValueId>& a, const std::set<ValueId>& b) const {
    return std::ranges::any_of(a, [&](ValueId id) { return layers_[id].role == Role::kInput && b.contains(id); });
  }

  Form FormOf(const Tower& tower) const {
    Form form;
    for (const ValueId id : tower.parameters) form.push_back(ToString(layers_[id].shape));
    std::ranges::sort(form);
    return form;
  }

  const Layers& layers_;
  std::vector<size_t> group_;  // by value: one that stands for its network
  std::vector<bool> before_;   // by value: a weight is read behind it
};

// The shortest beginnings of names that only parameters inside have.
std::vector<TrainedPattern> OnlyIn(const std::set<ValueId>& inside, const Layers& layers, bool trained) {
  std::set<std::string_view> foreign;  // "m.", "m.student."
  const auto beginnings = [&](ValueId id, const auto& take) {
    const std::string_view name = layers[id].name;
    for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
      if (take(name.substr(0, dot + 1))) return;
    }
  };
  for (const ValueId id : layers.parameters) {
    if (inside.contains(id)) continue;
    beginnings(id, [&](std::string_view beginning) { return foreign.insert(beginning), false; });
  }
  std::set<std::string> globs;
  for (const ValueId id : inside) {
    std::string glob = layers[id].name;  // where others share each beginning of it
    beginnings(id, [&](std::string_view beginning) {
      if (foreign.contains(beginning)) return false;
      glob = std::string(beginning) + "*";
      return true;
    });
    globs.insert(glob);
  }
  std::vector<TrainedPattern> patterns;
  for (const std::string& glob : globs) patterns.push_back({glob, trained});
  return patterns;
}

}  // namespace

std::vector<Tower> FindTowers(const Layers& layers) {
  std::vector<Tower> towers = TowerFinder(layers).Towers();
  if (towers.size() < 2) towers.clear();
  return towers;
}

std::vector<TrainedPattern> FrozenPatterns(const Tower& tower, const Layers& layers) {
  const std::set<ValueId> inside(tower.parameters.begin(), tower.parameters.end());
  std::set<ValueId> outside;
  std::ranges::copy_if(layers.parameters, std::inserter(outside, outside.end()),
                       [&](ValueId id) { return !inside.contains(id); });
  std::vector<TrainedPattern> patterns = OnlyIn(inside, layers, false);
  std::vector<TrainedPattern> rest = OnlyIn(outside, layers, true);
  if (rest.size() + 1 >= patterns.size()) return patterns;
  rest.insert(rest.begin(), {"*", false});
  return rest;
}

}  // namespace vramplan
