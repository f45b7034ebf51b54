// Joins: where what several readers made of one value comes together again, and the name of the value goes.
//
//   a = f(x); b = g(x); x = cat([a, b])      x lives until the cat, which writes its name anew
#pragma once

#include <vector>

#include "planner/lifetimes/statements.h"

namespace vramplan {

// By layer: whether it joins a list that has a name, which lives to the end of the frame. `from_input`: by value.
std::vector<bool> JoinsOfLists(const Layers& layers, const std::vector<bool>& from_input);

// Lengthens the lives of values that several statements read. `producer`: by value, the call that made it.
void HoldJoined(const Layers& layers, const Calls& calls, const Statements& statements,
                const std::vector<bool>& joins_list, const std::vector<ModuleId>& producer, Holds& release);

}  // namespace vramplan
