#include "graph/lift/habit_of.h"

#include <algorithm>

namespace vramplan {
namespace {

// The class of what has this name; empty: no call of it is in the file, or the file has no classes.
std::string_view ClassOf(const Layers& layers, std::string_view path) {
  if (path.starts_with('.')) path.remove_prefix(1);
  if (path.ends_with('.')) path.remove_suffix(1);
  const auto module = std::ranges::find_if(layers.modules, [&](const Module& one) { return one.path == path; });
  return module == layers.modules.end() ? std::string_view() : module->class_name;
}

}  // namespace

const NameHabit* HabitOfPath(const Layers& layers, std::string_view path, NameHabit::Of of) {
  const NameHabit* habit = HabitOfName(path, of, "");
  if (habit == nullptr) return nullptr;
  return HabitOfName(path, of, ClassOf(layers, path.substr(0, path.size() - habit->name.size())));
}

const NameHabit* HabitInPath(const Layers& layers, std::string_view path, NameHabit::Of of) {
  const NameHabit* habit = HabitWithin(path, of, "");
  return habit == nullptr ? nullptr : HabitWithin(path, of, ClassOf(layers, path.substr(0, path.find(habit->name))));
}

bool HasModule(const Layers& layers, std::string_view end) {
  return std::ranges::any_of(layers.modules, [&](const Module& module) { return module.path.ends_with(end); });
}

}  // namespace vramplan
