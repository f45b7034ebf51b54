// Assumption: something that the input does not say and the answer rests on, how far the requested peak moves when it
// is otherwise, and the option that settles it.
//
//   assumed: the 53 batch norms that the export folded run in training (otherwise the peak is up to 31 % lower; ...)
//   not in the file: which tensors the code keeps under a name (otherwise the peak is from 4 % lower to ...)
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/base/bytes.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

// The most that each phase of a step asks for (planner/timeline/peaks_by_phase.h): as assumed, and the least and the most
// that another answer gives.
struct ByPhase {
  std::vector<Bytes> low, likely, high;
  bool operator==(const ByPhase&) const = default;
};

struct Assumption {
  std::string code;    // stable, kebab-case: "folded-batch-norms"
  std::string text;    // a whole sentence without its full stop
  std::string settle;  // what to type, or to do, so that nothing is assumed
  // The requested peak at `batch`: as assumed, and the least and the most that another answer gives.
  int64_t batch = 1;
  Bytes low, likely, high;
  ByPhase phases = {};  // for what several assumptions do together; those of one step have as many
  // The share of the likely peak, in percent, above which people are told.
  int told_above = 2;
  // The line of what is assumed says it too, in few words: printed where the style is verbose.
  bool said_elsewhere = false;
  bool Matters() const;
  // What can only lower the peak is no doubt about whether the step fits, but a suggestion.
  bool OnlyLowers() const { return high <= likely; }
  bool operator==(const Assumption&) const = default;
};

// "up to 31 % lower", "from 4 % lower to 8 % higher".
std::string MovesText(const Assumption& assumption);

// What the peak is between when several turn out otherwise: {least, most}. Their moves add up in each phase, so that
// two which leave the peak where it is may move it together. Without those that are said elsewhere.
std::pair<Bytes, Bytes> Together(const std::vector<Assumption>& assumptions);

// Above the table: one line each for those that matter and may raise the peak, the one that moves it most first; of more than
// three the first three, unless the style is verbose; below two or more, between what these lines put it together.
// `safe`: the answer calls a batch safe, which these do not count for.
std::string PrintAssumptions(const std::vector<Assumption>& assumptions, const Style& style, bool safe = false);
// Below the table: the others that matter, as suggestions; "" where there are none.
std::string PrintSuggestions(const std::vector<Assumption>& assumptions, const Style& style);

}  // namespace vramplan
