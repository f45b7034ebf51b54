// Habits of libraries (graph/habits) where Layers tell whose code it is: a name says nothing in another's class.
#pragma once

#include <string>

#include "graph/habits/habits.h"
#include "graph/layers/layers.h"

namespace vramplan {

// The habit of a parameter's name: in a file with classes, that of the module which holds it must be the library's.
const NameHabit* HabitOfParameter(const Layers& layers, const std::string& name, NameHabit::Of of);

// The habit of the name that a call of a module ends with; the class is the module's own.
inline const NameHabit* HabitOfModule(const Module& module, NameHabit::Of of) {
  return HabitOfName(module.path, of, module.class_name);
}

}  // namespace vramplan
