// Habits of libraries (graph/habits) where Layers tell whose code it is: a name says nothing in another's class.
#pragma once

#include <string_view>

#include "graph/habits/habits.h"
#include "graph/layers/layers.h"

namespace vramplan {

// The habit of the name that the path of a module or of a parameter ends with. In a file with classes, that of the
// module which has something of this name must be the library's: the class of "model" for "model.wpe.weight" and a
// habit of "wpe.weight".
const NameHabit* HabitOfPath(const Layers& layers, std::string_view path, NameHabit::Of of);

// The same of a name somewhere in the path.
const NameHabit* HabitInPath(const Layers& layers, std::string_view path, NameHabit::Of of);

// Whether some module's path ends so: what habits ask of a model by `with`.
bool HasModule(const Layers& layers, std::string_view end);

// The habit of the name that a call of a module ends with; the class is the module's own.
inline const NameHabit* HabitOfModule(const Module& module, NameHabit::Of of) {
  return HabitOfName(module.path, of, module.class_name);
}

}  // namespace vramplan
