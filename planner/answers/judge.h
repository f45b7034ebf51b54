// Judge: the verdict about a step of a file on a card (planner/report/verdict.h), and the batches that go with it.
//
//   U-Net on a T4     likely: no cuDNN workspaces, a context of 350 MiB       batch 38 is the largest that may fit
//                     high:   what cuDNN's heuristics may pick, 450 MiB,      batch 34 is safe
//                             and reserved as measured cards had it
//
// Invariants: safe <= largest; neither depends on the batch that was asked about, but that one which fits is not above the
// largest; the verdict of a batch is kFits only where it is at most `safe`.
#pragma once

#include <optional>

#include "graph/base/note.h"
#include "planner/answers/prepare.h"
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

// The steps of a question on one card, under one setting of the allocator.
class CardJudge {
 public:
  // All must outlive it. `near`: a guess of the largest batch, which only makes searches shorter.
  CardJudge(StepEnds& steps, const Device& device, const AllocatorConfig& given, int64_t near = 1)
      : steps_(steps), device_(device), given_(given), near_(near) {}

  // All of the answer but its id. Batches are searched once, whatever is asked.
  Result<CardFit> At(int64_t batch);
  // The same where what the card holds of this step is known.
  Result<CardFit> At(const BothEnds& step, int64_t batch, OnCard alone);
  // What the card holds of a step, without a search: it may say kFits of a batch above the safe one, where fragmentation
  // lets a larger batch fit although a smaller one fails.
  OnCard Alone(const BothEnds& step, int64_t batch) const;
  // Its verdict alone, which is found sooner.
  Verdict VerdictAt(const BothEnds& step, int64_t batch) const;
  // The largest batch that fits at the likely value. A graph without a batch has one size: it fits as batch 1, or not.
  Result<LargestBatch> Largest(int64_t asked);
  // That batch alone, which is found sooner.
  Result<int64_t> LargestAlone(int64_t asked);

 private:
  // The largest batch that fits at the high end too; 0: none does.
  Result<int64_t> Safe(int64_t limit);
  Result<bool> IsSafe(int64_t batch);
  Demand DemandOf(const BothEnds& step, int64_t batch) const {
    return {step.likely, step.high, batch, steps_.cudnn_chooses};
  }

  StepEnds& steps_;
  const Device& device_;
  const AllocatorConfig& given_;
  const int64_t near_;
  std::optional<LargestBatch> largest_;
  std::optional<int64_t> safe_;
};

// What a step takes where no card is named: on one that is never full.
OnCard WithoutCard(const BothEnds& step, int64_t batch, const StepEnds& steps, const AllocatorConfig& given,
                   const ContextBand& context);

// The smallest card of the catalogue on which the step fits; null: on none, or it cannot be laid out.
const Card* SmallestCard(const Question& question, const Prepared& prepared, int64_t batch);

}  // namespace vramplan
