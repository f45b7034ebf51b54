// AssumptionsOf: the assumptions behind one step. Each asks what else could be true, lays the step out so, and replays it.
//
//   resnet18.ts-eval.onnx   folded-batch-norms   likely 351.2 MiB, 260.3 MiB without them
//                           in-place             likely 351.2 MiB, 432.9 MiB where no activation is in place
//
// A new one is one row in assumptions.cc: what it is about, when it applies, and the step under each other answer.
#pragma once

#include <vector>

#include "planner/answers/prepare.h"
#include "planner/report/parts/assumption.h"

namespace vramplan {

struct AssumedStep {
  const Prepared& prepared;
  const Question& question;
  const TrainingSpec& spec;
  int64_t batch;
  const Timeline& likely;  // laid out for `spec`, at `batch` or near it
  Bytes requested;         // its peak at `batch`
  bool brief = false;      // what its line of assumptions says in a word is left out
};

// In the order of the rows. What cannot be laid out under another answer is left out.
std::vector<Assumption> AssumptionsOf(const AssumedStep& step);

}  // namespace vramplan
