// SweepOf: what sweep answers: the same question under every combination of a few values, a row each, and the law of each
// length.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/result.h"
#include "planner/answers/choose_device.h"
#include "planner/answers/question.h"
#include "planner/report/sweep.h"

namespace vramplan {

struct SweepAxis {
  std::string name;
  std::vector<std::string> values;
  bool operator==(const SweepAxis&) const = default;
};
// Of an option: with another value of it only the step is another one, and not the model.
inline bool IsBatchAxis(std::string_view name) { return name == "batch" || name == "sequences"; }

// The question with these values, one of each axis.
using QuestionAt = std::function<Result<Question>(const std::vector<std::string>& values)>;

struct Swept {
  SweepReport report;
  std::vector<std::string> first;  // the values that were answered first
  Question asked = {};             // with them, and with what the file says
};

// The settings that the answer shows (SweepReport::head.spec) are left to the caller: those
// of the question at `first`, without what the axes change.
// Errors: those of `at`; no combination can be answered. Of the others a row says why it has no answer.
Result<Swept> SweepOf(const std::vector<SweepAxis>& axes, const QuestionAt& at,
                      const std::optional<ChosenDevice>& chosen, bool of_many_cards);

}  // namespace vramplan
