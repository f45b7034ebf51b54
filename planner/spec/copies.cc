#include "planner/spec/copies.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "graph/base/text.h"
#include "graph/layers/trained.h"
#include "graph/layers/uses.h"
#include "planner/spec/towers.h"

namespace vramplan {
namespace {

// Names of two children of one module; * is the same text in both.
struct CopyRow {
  std::string_view copy, original;
  std::string_view source;
};

constexpr CopyRow kCopyRows[] = {
    {"teacher", "student", "facebookresearch/dino main_dino.py; Tarvainen and Valpola 2017 (arXiv 1703.01780)"},
    {"teacher_*", "student_*", "microsoft/unilm beit2; huggingface/transformers research projects, distillation"},
    {"*_teacher", "*_student", "facebookresearch/dinov2 train/ssl_meta_arch.py"},
    {"target_*", "online_*", "lucidrains/byol-pytorch byol_pytorch.py, online_encoder and target_encoder"},
    {"target", "online", "Grill et al. 2020, section 3.1, the online and the target network (arXiv 2006.07733)"},
    {"target_*", "*", "facebookresearch/ijepa src/train.py, encoder and target_encoder"},
    {"target_net", "policy_net", "pytorch/tutorials intermediate_source/reinforcement_q_learning.py"},
    {"*_target", "*", "DLR-RM/stable-baselines3 dqn/policies.py, q_net and q_net_target"},
    {"encoder_k", "encoder_q", "facebookresearch/moco moco/builder.py"},
    {"momentum_*", "base_*", "facebookresearch/moco-v3 moco/builder.py, base_encoder and momentum_encoder"},
    {"*_momentum", "*", "lightly-ai/lightly examples, backbone and backbone_momentum"},
    {"*_m", "*", "salesforce/ALBEF models/model_pretrain.py, visual_encoder and visual_encoder_m"},
    {"ema_*", "online_*", "lucidrains/ema-pytorch ema_pytorch.py, online_model and ema_model"},
    {"ema_*", "*", "the same, where the first network keeps its name"},
    {"*_ema", "*", "the same"},
};

// What * stands for in `name`; nothing: the pattern is another one. A pattern has one * at most, at an end.
std::optional<std::string_view> StarIn(std::string_view pattern, std::string_view name) {
  if (name.size() < pattern.size()) return std::nullopt;  // * stands for something
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name ? std::optional<std::string_view>("") : std::nullopt;
  const std::string_view before = pattern.substr(0, star), after = pattern.substr(star + 1);
  if (name.size() <= before.size() + after.size() || !name.starts_with(before) || !name.ends_with(after))
    return std::nullopt;
  return name.substr(before.size(), name.size() - before.size() - after.size());
}

std::string WithStar(std::string_view pattern, std::string_view text) {
  std::string name(pattern);
  if (const size_t star = name.find('*'); star != std::string::npos) name.replace(star, 1, text);
  return name;
}

bool MayBeCopy(std::string_view part) {
  return std::any_of(std::begin(kCopyRows), std::end(kCopyRows),
                     [&](const CopyRow& row) { return StarIn(row.copy, part).has_value(); });
}

// The parameters of a module: what follows its path, and shapes.
using Form = std::map<std::string, Shape>;

// Children of one module, by their paths: "student", "teacher".
using Children = std::map<std::string, Form>;

std::map<std::string, Children> ChildrenByParent(const Layers& layers) {
  std::map<std::string, Children> all;
  for (const ValueId id : layers.parameters) {
    const std::string_view name = layers[id].name;
    size_t begin = 0;  // of the child's name
    for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
      const std::string_view part = name.substr(begin, dot - begin);
      Children& children = all[std::string(name.substr(0, begin))];
      children[std::string(part)].emplace(name.substr(dot + 1), layers[id].shape);
      if (MayBeCopy(part)) break;  // inside a copy there is no other
      begin = dot + 1;
    }
  }
  return all;
}

// A shape that a file leaves out is [0].
bool IsUnknown(const Shape& shape) { return shape.rank() == 1 && shape[0].Is(0); }

// Whether the first has all that the copy is made of. It may have more: a predictor behind it.
bool Holds(const Form& original, const Form& copy) {
  return std::all_of(copy.begin(), copy.end(), [&](const auto& parameter) {
    const auto twin = original.find(parameter.first);
    if (twin == original.end()) return false;
    return twin->second == parameter.second || IsUnknown(twin->second) || IsUnknown(parameter.second);
  });
}

// The original of a child, and the row that says so; null: the child is no copy.
std::pair<const std::string*, const CopyRow*> OriginalOf(const std::string& child, const Children& children) {
  for (const CopyRow& row : kCopyRows) {
    const std::optional<std::string_view> star = StarIn(row.copy, child);
    const auto original = star ? children.find(WithStar(row.original, *star)) : children.end();
    if (original != children.end() && Holds(original->second, children.at(child))) return {&original->first, &row};
  }
  return {nullptr, nullptr};
}

using NameSet = std::set<std::string>;

// Whether all parameters of a child are of these names, and a child beside it is of the same form and not of them.
bool IsTwinWithin(const std::string& parent, const std::string& child, const Children& children, const NameSet& names) {
  const Form& form = children.at(child);
  const std::string path = parent + child + ".";
  const bool inside = std::all_of(form.begin(), form.end(),
                                  [&](const auto& parameter) { return names.contains(path + parameter.first); });
  return inside && std::any_of(children.begin(), children.end(), [&](const auto& other) {
           return other.first != child && other.second == form &&
                  !names.contains(parent + other.first + "." + form.begin()->first);
         });
}

// What stands behind a copy and has a twin too, in the network that it ends in: the head of a teacher, "ht" beside "hs".
void AddHeads(const Layers& layers, const std::map<std::string, Children>& all, Copies* copies) {
  const auto is_copy = [&](const std::string& name) {
    return std::any_of(copies->patterns.begin(), copies->patterns.end(), [&](const TrainedPattern& pattern) {
      std::string_view prefix = pattern.glob;
      prefix.remove_suffix(1);  // the star
      return name.starts_with(prefix);
    });
  };
  for (const Tower& tower : FindTowers(layers)) {
    NameSet names;
    for (const ValueId id : tower.parameters) names.insert(layers[id].name);
    if (std::none_of(names.begin(), names.end(), is_copy)) continue;
    for (const auto& [parent, children] : all) {
      for (const auto& [child, form] : children) {
        if (!is_copy(parent + child + ".") && IsTwinWithin(parent, child, children, names))
          copies->patterns.push_back({parent + child + ".*", false});
      }
    }
  }
}

}  // namespace

std::optional<Copies> FindCopies(const Layers& layers) {
  const bool any = std::any_of(layers.parameters.begin(), layers.parameters.end(), [&](ValueId id) {
    const std::vector<std::string_view> parts = PartsOf(layers[id].name);
    return std::any_of(parts.begin(), parts.end(), MayBeCopy);
  });
  if (!any) return std::nullopt;  // most models: no table is made
  Copies copies;
  const std::map<std::string, Children> all = ChildrenByParent(layers);
  for (const auto& [parent, children] : all) {
    for (const auto& [child, form] : children) {
      const auto [original, row] = OriginalOf(child, children);
      if (original == nullptr) continue;
      copies.patterns.push_back({parent + child + ".*", false});
      if (copies.patterns.size() > 1) continue;
      copies.what = parent + child + ", a copy of " + parent + *original;
      copies.first = parent + child + "." + form.begin()->first;
      copies.source = row->source;
    }
  }
  if (copies.patterns.empty()) return std::nullopt;
  AddHeads(layers, all, &copies);
  return copies;
}

std::optional<Layers> WithoutGradient(const Layers& layers, const Copies& copies) {
  std::vector<bool> of_copy(layers.values.size());
  for (const ValueId id : layers.parameters) {
    of_copy[id.index()] = std::ranges::any_of(
        copies.patterns, [&](const TrainedPattern& pattern) { return MatchesGlob(pattern.glob, layers[id].name); });
    if (of_copy[id.index()] && IsTrained(layers, id)) return std::nullopt;
  }
  const Uses uses(layers);
  std::vector<bool> inside(layers.layers.size());
  const auto is_inside = [&](int32_t place) {
    return static_cast<size_t>(place) < inside.size() && inside[static_cast<size_t>(place)];
  };
  for (size_t l = layers.layers.size(); l-- > 0;) {
    const Layer& layer = layers.layers[l];
    inside[l] = std::ranges::any_of(layer.inputs, [&](ValueId id) { return id.valid() && of_copy[id.index()]; }) ||
                std::ranges::all_of(layer.outputs, [&](ValueId id) {
                  const auto readers = uses.ReadersOf(id);
                  return !readers.empty() && std::ranges::all_of(readers, is_inside);
                });
  }
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    bool any = false, others = false;
    for (const ValueId id : layers.layers[l].inputs) {
      if (!id.valid() || layers[id].role != Role::kActivation) continue;
      (is_inside(uses.PlaceOfMaker(id)) ? any : others) = true;
    }
    inside[l] = inside[l] || (any && !others);
  }
  if (std::ranges::none_of(inside, [](bool one) { return one; })) return std::nullopt;
  Layers other = layers;
  for (size_t l = 0; l < inside.size(); ++l) {
    if (inside[l]) other.layers[l].attributes.Set("no_grad", int64_t{1});
  }
  return other;
}

}  // namespace vramplan
