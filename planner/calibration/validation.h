// Validation: what was predicted of a step on this machine's card beside what the card did, and whether they agree.
//
//   agrees    it ran (or failed) where that was predicted, within the band of the context; so did the largest batch
//   differs   it failed where a fit was predicted, ran where none was, or took more than the band says
//   stopped   the card could not answer: it was lost, or another program took or gave back memory meanwhile
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/calibration/card_replay.h"
#include "planner/calibration/failing_batch.h"
#include "planner/spec/context.h"

namespace vramplan {

// At the three ends of the context's band: at `low` most is left.
template <typename T>
struct AtContext {
  T low{}, likely{}, high{};
  bool operator==(const AtContext&) const = default;
};

struct Prediction {
  int64_t batch = 1;
  Peak peak;  // at `batch`: within the capacity when it fits, else as if the card had no end
  ContextBand context;
  AtContext<bool> fits;        // at `batch`
  AtContext<int64_t> largest;  // batch; 0: none
  bool at_end = false;         // `largest` is where the search ends, not where the card does
};

// What of the card is taken before the first tensor.
struct ContextSeen {
  std::optional<Bytes> bare;           // the context; nothing: what was free before it is not known
  Bytes kernel;                        // the first kernel
  std::optional<Bytes> cublas, cudnn;  // nothing: not installed
  std::optional<Bytes> total() const;
};

struct Observation {
  ContextSeen context;
  CardTry run;                           // at Prediction::batch
  std::optional<Bytes> inside, outside;  // device at the peak: of cuMemGetInfo, of NVML
  FailingBatch found;
  std::vector<CardTry> tries;     // of `found`; `run` is not among them
  int64_t largest_predicted = 0;  // with the context as it was observed
  std::optional<Error> error;     // the first: what ended it
  Bytes disturbed;                // with kStopped and no error: what others took; negative: gave back
};

enum class Agreement : uint8_t { kAgrees, kDiffers, kStopped };
std::string_view Name(Agreement agreement);  // "agrees", "differs", "stopped"

struct Judgement {
  Agreement agreement = Agreement::kAgrees;
  std::string reason;  // one sentence, of kDiffers and kStopped
  bool operator==(const Judgement&) const = default;
};
Judgement Judge(const Prediction& prediction, const Observation& seen);

// "batch 39 fails in the backward of step 2: 624.00 MiB for ..., 120.00 MiB is free": why a try ended.
std::string Describe(const CardTry& tried);

}  // namespace vramplan
