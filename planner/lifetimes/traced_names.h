// TracedNames: where the file says in which line of Python each operator ran (graph/lift/source_lines/read_source.cc),
// names are read instead of guessed. What a statement makes and a later one reads has the name that the line writes,
// until a later line of the same frame writes it anew or the frame ends; what is read in the same statement has none.
//
//   d4 = self.up4(x4)                   d4: to the third line, which writes it anew
//   x3 = self.att4(g=d4, x=x3)
//   d4 = torch.cat((x3, d4), dim=1)     x3: to the frame's end, nobody writes it again
#pragma once

#include <vector>

#include "planner/lifetimes/statements.h"

namespace vramplan {

// `read`: when each value would go that had no name. Replaces the guesses of `release` where lines say it. Gives, by
// value, whether the lines leave no doubt: what a function does that a line calls, they do not say.
std::vector<bool> FollowTracedNames(const Layers& layers, const Statements& statements, const Holds& read,
                                    Holds& release);

}  // namespace vramplan
