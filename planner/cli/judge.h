// Judge: whether a step fits a card at the likely value of the band and at its high end, and the largest batch that
// does either.
//
//   U-Net on a T4     likely: no cuDNN workspaces, a context of 350 MiB       batch 38 is the largest that may fit
//                     high:   what cuDNN's heuristics may pick, 450 MiB,      batch 35 is safe
//                             and reserved as measured cards had it
//
// Invariants: safe <= largest; the verdict of a batch is kFits where it is at most `safe`.
#pragma once

#include <optional>

#include "graph/base/note.h"
#include "planner/cli/prepare.h"
#include "planner/report/fit.h"

namespace vramplan {

// A step, and where cuDNN chooses workspaces, the same step with them at their high end; else null.
struct BothEnds {
  LaidOut likely, high;
};

// A question's step at any batch, each laid out once.
class StepEnds {
 public:
  // Both must outlive it.
  StepEnds(const Prepared& prepared, const TrainingSpec& spec);
  // `notes`: of laying it out, if nobody has asked for this batch before. Those of one batch are those of all.
  Result<BothEnds> At(int64_t batch, Notes* notes = nullptr);

  const Prepared& prepared;
  const TrainingSpec& spec;
  Steps likely, high;  // equal where cuDNN does not choose
  const bool cudnn_chooses;
};

// Fills `verdict`, `peak` and `band` of `fit`, whose `device` is set.
void Judge(const BothEnds& step, int64_t batch, const TrainingSpec& spec, const AllocatorConfig& given, CardFit* fit);

// The largest batch that fits at the likely value. A graph without a batch has one size: it fits as batch 1, or not.
// `near`: a guess of it, which only makes the search shorter.
Result<LargestBatch> FindLargest(StepEnds& steps, const AllocatorConfig& given, const CardFit& fit, int64_t near = 1);

// The largest batch that fits at the high end too; 0: none does. `fit`: judged at `batch`, with its largest batch.
Result<int64_t> FindSafe(StepEnds& steps, int64_t batch, const AllocatorConfig& given, const CardFit& fit);

// The smallest card of the catalogue on which the step fits; null: on none, or it cannot be laid out.
const Card* SmallestCard(const Options& options, const Prepared& prepared, int64_t batch);

}  // namespace vramplan
