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

// A step, and where cuDNN chooses workspaces, the same step with them at their high end.
struct BothEnds {
  Timeline likely;
  std::optional<Timeline> high;
};
Result<BothEnds> LayOutBothEnds(const Prepared& prepared, const TrainingSpec& spec, int64_t batch, Notes* notes);

// The step at any batch. Notes are not taken: those of the batch that is reported say the same.
Layout LayoutOf(const Prepared& prepared, const TrainingSpec& spec);

// Fills `verdict`, `peak` and `band` of `fit`, whose `device` is set.
void Judge(const BothEnds& step, int64_t batch, const TrainingSpec& spec, const AllocatorConfig& given, CardFit* fit);

// The largest batch that fits at the likely value. A graph without a batch has one size: it fits as batch 1, or not.
Result<LargestBatch> FindLargest(const Prepared& prepared, const TrainingSpec& spec, const AllocatorConfig& given,
                                 const Timeline& timeline, const CardFit& fit);

// The largest batch that fits at the high end too; 0: none does. `fit`: judged at `batch`, with its largest batch.
Result<int64_t> FindSafe(const Prepared& prepared, int64_t batch, const TrainingSpec& spec,
                         const AllocatorConfig& given, const CardFit& fit);

}  // namespace vramplan
