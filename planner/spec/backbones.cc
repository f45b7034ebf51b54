#include "planner/spec/backbones.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "graph/habits/habits.h"
#include "graph/layers/trained.h"
#include "planner/spec/trained.h"

namespace vramplan {
namespace {

// Beginnings of names behind which a network begins that people freeze: "backbone.", "m.net.".
std::set<std::string> Beginnings(const Layers& layers) {
  std::set<std::string_view> names;
  for (const ValueId id : layers.parameters) names.insert(layers[id].name);
  const size_t wrappers = SharedPrefix(layers).size();
  std::set<std::string> beginnings;
  for (const NameHabit& habit : NamesWith(NameHabit::Of::kPublished)) {
    for (const std::string_view name : names) {
      if (habit.with.empty()) {  // a name of the whole
        const size_t at = name.find(habit.name, wrappers);
        if (at != std::string_view::npos && (at == 0 || name[at - 1] == '.'))
          beginnings.insert(std::string(name.substr(0, at + habit.name.size())));
        continue;
      }
      if (name.size() <= wrappers + habit.name.size() || !name.ends_with(habit.name)) continue;
      const std::string beginning(name.substr(0, name.size() - habit.name.size()));
      if (beginning.ends_with('.') && names.contains(beginning + std::string(habit.with))) beginnings.insert(beginning);
    }
  }
  return beginnings;
}

}  // namespace

std::optional<Tower> FindBackbone(const Layers& layers) {
  const std::set<std::string> beginnings = Beginnings(layers);
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
