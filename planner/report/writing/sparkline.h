// Sparklines: a course of bytes on one line of the terminal.
//
//   Sparkline({0, 2, 8, 4} MiB, ...)   "▁▃█▅", or " :#+" where the terminal has no blocks
//
// Invariant: the highest is always the highest sign, whatever the others are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/report/writing/style.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// Signs of a line: what stands beside its name on a terminal of 80 columns.
inline constexpr size_t kSparks = 56;
std::string Sparkline(const std::vector<Bytes>& levels, const Style& style);

// Lines that begin with what runs to the right, below each other; `mark`: a bar stands before this sign, 0: none.
struct Course {
  std::string name;  // "steps 1 and 2"
  const std::vector<Bytes>* levels;
  size_t mark = 0;
};
// After an empty line. Where there is room for fewer lines, the last ones of the courses; where there is none, nothing.
std::string PrintCourses(std::vector<Course> courses, int room, const Style& style);

// Requested bytes over the first two steps of a timeline: the highest of each of so many stretches of events.
std::vector<Bytes> StepCourse(const Timeline& timeline, int64_t batch, size_t stretches);
// Requested peaks at batches from 1 to `last`, evenly apart.
std::vector<Bytes> BatchCourse(const Timeline& timeline, int64_t last, size_t count);

}  // namespace vramplan
