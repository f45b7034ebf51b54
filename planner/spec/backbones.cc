#include "planner/spec/backbones.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/habits/habits.h"
#include "graph/layers/trained.h"
#include "planner/spec/trained.h"

namespace vramplan {
namespace {

// Layers that a model has beside a published network are more than a head where they have this many weights.
constexpr int kWeightsBeside = 3;
// A published network classifies into the 1,000 classes of ImageNet or more; a head for fewer is a new one.
constexpr int64_t kPublishedClasses = 1000;

std::string_view WithoutDigits(std::string_view child) {
  while (!child.empty() && (child.back() == '.' || std::isdigit(static_cast<unsigned char>(child.back())) != 0))
    child.remove_suffix(1);
  return child;
}

// The children of a model that is a published network itself: conv1, bn1 and layer1 to layer4 of a ResNet, whose
// decoder, or whose new head, stands behind them. None where it has the head that it was published with. `first` and
// `within`: parameters of it. It begins in the child of `first` where that is a convolution of an image's channels, or
// at the front.
std::set<std::string> ChildrenOfPublished(std::string_view first, std::string_view within, const Layers& layers) {
  constexpr int64_t kColours = 3;
  const size_t wrappers = SharedPrefix(layers).size();
  struct Child {
    std::string name;
    int weights = 0;
  };
  std::vector<Child> children;
  int64_t rows = 0;  // of the last weight
  std::string begins;
  for (const ValueId id : layers.parameters) {
    const std::string& name = layers[id].name;
    const std::string child = name.substr(0, std::min(name.find('.', wrappers), name.size() - 1) + 1);
    if (children.empty() || children.back().name != child) children.push_back({child});
    const Shape& shape = layers[id].shape;
    if (shape.rank() < 2 || !shape[0].IsConstant() || !shape[1].IsConstant()) continue;
    ++children.back().weights;
    rows = shape[0].c0();
    if (name == first && shape[1].c0() == kColours) begins = child;
  }
  const auto begin = std::ranges::find_if(children, [&](const Child& child) { return child.name == begins; });
  const auto front = begin == children.end() ? children.begin() : begin;
  auto behind = std::find_if(front, children.end(), [&](const Child& child) { return within.starts_with(child.name); });
  if (behind == children.end()) return {};
  const std::string_view kind = WithoutDigits(behind->name);
  while (behind != children.end() && WithoutDigits(behind->name) == kind) ++behind;
  int weights = 0;
  for (auto child = behind; child != children.end(); ++child) weights += child->weights;
  for (auto child = children.begin(); child != front; ++child) weights += child->weights;
  if (weights >= kWeightsBeside && behind == children.end()) rows = 1;  // its own last weight
  if (rows == 0 || rows >= kPublishedClasses) return {};
  if (weights < kWeightsBeside) {
    if (behind == children.end() && !kind.empty()) return {};  // no head at all; parts of an nn.Sequential have numbers
    behind = children.end() - 1;
  }
  std::set<std::string> names;
  for (auto child = front; child != behind; ++child) names.insert(child->name);
  return names;
}

// Beginnings of names behind which a network begins that people freeze: "backbone.", "m.net.".
std::set<std::string> Beginnings(const Layers& layers) {
  std::set<std::string_view> names;
  for (const ValueId id : layers.parameters) names.insert(layers[id].name);
  const std::string shared = SharedPrefix(layers);
  const size_t wrappers = shared.size();
  const std::vector<NameHabit> inside = NamesWith(NameHabit::Of::kPublishedIn);
  std::set<std::string> beginnings;
  for (const NameHabit& habit : NamesWith(NameHabit::Of::kPublished)) {
    for (const std::string_view name : names) {
      if (habit.with.empty()) {  // a name of the whole
        const size_t at = name.find(habit.name, wrappers);
        if (at != std::string_view::npos && (at == 0 || name[at - 1] == '.'))
          beginnings.insert(std::string(name.substr(0, at + habit.name.size())));
        continue;
      }
      if (name.size() < wrappers + habit.name.size() || !name.ends_with(habit.name)) continue;
      const std::string beginning(name.substr(0, name.size() - habit.name.size()));
      if (!(beginning == shared || beginning.ends_with('.'))) continue;
      const std::string with = beginning + std::string(habit.with);
      if (!names.contains(with)) continue;
      const std::string child = beginning.substr(wrappers);
      if (child.empty() || std::ranges::any_of(inside, [&](const NameHabit& of) { return child == of.name; }))
        beginnings.merge(ChildrenOfPublished(name, with, layers));
      else
        beginnings.insert(beginning);
    }
  }
  return beginnings;
}

// The model's own children that hold modules of a library, where the file names classes and the model is its user's:
// nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool, net.layer1).
std::set<std::string> ChildrenOfLibraries(const Layers& layers) {
  const auto is_of_library = [](const Module& module) {
    return IsOfAnyLibrary(module.class_name) && !module.class_name.starts_with("torch.");
  };
  std::string model = SharedPrefix(layers);  // behind wrappers
  if (!model.empty()) model.pop_back();
  std::set<std::string> beginnings;
  for (const Module& module : layers.modules) {
    if (!is_of_library(module)) continue;
    const Module* child = &module;
    while (child->parent.valid() && layers[child->parent].path != model) child = &layers[child->parent];
    if (!child->parent.valid() || is_of_library(layers[child->parent])) return {};  // the model is the library's
    beginnings.insert(child->path + ".");
  }
  return beginnings;
}

}  // namespace

std::optional<Tower> FindBackbone(const Layers& layers) {
  std::set<std::string> beginnings = Beginnings(layers);
  beginnings.merge(ChildrenOfLibraries(layers));
  if (beginnings.empty()) return std::nullopt;
  Tower backbone;
  bool others = false;
  for (const ValueId id : layers.parameters) {
    if (!IsTrained(layers, id)) continue;
    const std::string& name = layers[id].name;
    const bool inside =
        std::ranges::any_of(beginnings, [&](const std::string& beginning) { return name.starts_with(beginning); });
    if (inside) backbone.parameters.push_back(id);
    others = others || !inside;
  }
  if (backbone.parameters.empty() || !others) return std::nullopt;
  backbone.first = layers[backbone.parameters.front()].name;
  return backbone;
}

}  // namespace vramplan
