// SweepLaws: the law by which the requested bytes of many answers grow along each number that differs between them:
// options of sweep, --vary and --largest of run.
//
//   batch 1 2 4, sequence 128 256    batch      linear: each further sample 326.80 MiB (at sequence 128)
//                                    sequence   nothing is said: two values have any law
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"
#include "planner/solver/growth.h"

namespace vramplan {

// The law along one axis, where the others have their first values.
struct SweepLaw {
  std::string axis, unit;  // "sequence", "token"
  GrowthLaw law;
  std::string at;     // "batch 1", what the others were; empty: there is no other
  int64_t first = 0;  // length
};

// One answer: a value of each axis, and the peak of requested bytes; nothing: there was no answer.
struct SweptAnswer {
  std::vector<std::string> values;
  std::optional<Bytes> requested;
};

// Along each axis of whole numbers, where the others have the values of the first answer; where fewer than `least`
// numbers have an answer, no law.
std::vector<SweepLaw> LawsAlong(const std::vector<std::string>& axes, const std::vector<SweptAnswer>& answers,
                                size_t least = 2);

// "sample" of a batch, "token" of a sequence, "pixel" of a height; else the dim's own name.
std::string UnitOf(const std::string& axis);

// "linear", "quadratic" ...
std::string_view GrowthName(Growth growth);
// "linear: each further sample 326.80 MiB (at sequence 128), from 4 on".
std::string LawText(const SweepLaw& law);

// A line for each, indented.
std::string PrintLaws(const std::vector<SweepLaw>& laws, const Style& style);

}  // namespace vramplan
