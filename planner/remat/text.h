// The files of `vramplan solve`: a problem and a schedule of it, in a form that other solvers can read and write too.
//
//   4 4          n nodes, m edges
//   5 4          cost and bytes of node 0, ...
//   1 2
//   1 3
//   1 1
//   0 1          edges: source, then target
//   1 2
//   0 3
//   2 3
//
// and "0 1 2 0 3", a schedule. Lines that begin with # are comments. Errors name the line. A number in the file never
// decides how much is allocated.
#pragma once

#include <string>
#include <string_view>

#include "planner/remat/problem.h"

namespace vramplan {

// `file` is only for errors.
Result<RematProblem> ReadProblem(std::string_view text, const std::string& file);
std::string WriteProblem(const RematProblem& problem);
std::string WriteSchedule(const RematSchedule& schedule);

}  // namespace vramplan
