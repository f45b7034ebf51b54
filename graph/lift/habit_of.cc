#include "graph/lift/habit_of.h"

#include <algorithm>
#include <string_view>

namespace vramplan {

const NameHabit* HabitOfParameter(const Layers& layers, const std::string& name, NameHabit::Of of) {
  const NameHabit* habit = HabitOfName(name, of);
  if (habit == nullptr) return nullptr;
  std::string_view holder = name;
  holder.remove_suffix(habit->name.size());
  if (holder.ends_with('.')) holder.remove_suffix(1);
  const auto module = std::ranges::find_if(layers.modules, [&](const Module& one) { return one.path == holder; });
  return module == layers.modules.end() ? habit : HabitOfName(name, of, module->class_name);
}

}  // namespace vramplan
