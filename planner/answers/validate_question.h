// ValidateQuestion: what validate asks: everything that is predicted of a step on a card of this machine, and the same
// step on the card itself, at any batch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "graph/base/note.h"
#include "planner/answers/prepare.h"
#include "planner/report/validate.h"
#include "planner/solver/batch_search.h"

namespace vramplan {

class ValidateQuestion {
 public:
  // `most`: that it may take of the card.
  ValidateQuestion(const Question& question, Bytes most, ChosenDevice chosen, Prepared prepared);

  // The report without what is observed, and without the settings that it shows (ValidateReport::head.spec). Errors:
  // those of laying the step out.
  Result<ValidateReport> Predict();
  // One step on the card. `predicted`: its peak; null: it is predicted here.
  Result<CardTry> Try(Probe* machine, CardSession* session, int64_t batch, const Peak* predicted) const;
  // The largest batch with this context.
  Result<LargestBatch> Largest(Bytes context, int64_t near) const;

  int64_t Most() const { return has_batch() ? kLargestBatchTried : 1; }
  bool has_batch() const { return prepared_.head.model.has_batch; }
  const CardFacts& card() const { return *chosen_.facts; }
  const ChosenDevice& chosen() const { return chosen_; }
  const TrainingSpec& spec() const { return spec_; }

 private:
  Result<Timeline> LayOut(int64_t batch, Notes* notes) const;
  // What the step may take with so large a context.
  Bytes CapacityWith(Bytes context) const { return std::min(chosen_.device.CapacityWith(context), limits_.most); }
  // Within the capacity when it fits, else as if the card had no end.
  Peak Within(const Timeline& timeline, int64_t batch, Bytes context, bool* fits) const;
  void Count(const Timeline& timeline, ValidateReport* report) const;

  ChosenDevice chosen_;
  Prepared prepared_;
  TrainingSpec spec_;
  AllocatorConfig config_;
  CardLimits limits_;
};

}  // namespace vramplan
