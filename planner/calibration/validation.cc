#include "planner/calibration/validation.h"

#include <algorithm>

namespace vramplan {
namespace {

std::string Because(const Refusal& refusal) {
  const std::string free = ToString(refusal.free) + " is free";
  switch (refusal.cause) {
    case Refusal::Cause::kCard:
      return free;
    case Refusal::Cause::kFragmented:
      return free + ", but not in one piece";
    case Refusal::Cause::kMargin:
      return free + ", of which a margin is left to others";
    case Refusal::Cause::kMost:
      return "above the limit of --max-bytes";
    case Refusal::Cause::kNeighbour:
      return free + ", because other programs took " + ToString(refusal.others) + " meanwhile";
  }
  return free;
}

std::string Moved(Bytes bytes) {
  return bytes < Bytes() ? "gave back " + ToString(Bytes() - bytes) : "took " + ToString(bytes);
}

// What is wrong with the step at the batch itself; "" when nothing is.
std::string StepDiffers(const Prediction& prediction, const Observation& seen) {
  const bool ran = seen.run.end == CardTry::End::kRan;
  if (!ran && prediction.fits.high) return "it was predicted to fit: " + Describe(seen.run);
  if (!ran) return "";
  if (!prediction.fits.low)
    return "batch " + std::to_string(prediction.batch) + " runs, though it was predicted not to fit";
  const Levels& counted = seen.run.peak.peak;
  if (counted.requested != prediction.peak.peak.requested)
    return "tensors took " + ToString(counted.requested) + ", predicted were " +
           ToString(prediction.peak.peak.requested);
  const Bytes most = counted.reserved + prediction.context.high;
  for (const auto& [where, device] : {std::pair("from inside", seen.inside), std::pair("from outside", seen.outside)}) {
    if (device && *device > most)
      return "seen " + std::string(where) + " it took " + ToString(*device) + ", at most " + ToString(most) +
             " was predicted";
  }
  return "";
}

std::string BatchDiffers(const Prediction& prediction, const Observation& seen) {
  if (seen.found.stopped) return "";
  const int64_t low = std::min(prediction.largest.high, seen.largest_predicted);
  const int64_t high = std::max(prediction.largest.low, seen.largest_predicted);
  if (seen.found.largest >= low && seen.found.largest <= high) return "";
  return "the largest batch that runs is " + std::to_string(seen.found.largest) + ", predicted was " +
         (low == high ? std::to_string(low) : std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

std::optional<Bytes> ContextSeen::total() const {
  if (!bare) return std::nullopt;
  return *bare + kernel + cublas.value_or(Bytes()) + cudnn.value_or(Bytes());
}

std::string_view Name(Agreement agreement) {
  switch (agreement) {
    case Agreement::kAgrees:
      return "agrees";
    case Agreement::kDiffers:
      return "differs";
    case Agreement::kStopped:
      return "stopped";
  }
  return "";
}

std::string Describe(const CardTry& tried) {
  const std::string batch = "batch " + std::to_string(tried.batch);
  if (tried.error) return batch + ": " + tried.error->text;
  if (!tried.at) return batch + " runs";
  const Bottleneck& at = *tried.at;
  std::string text = batch + " fails " +
                     (at.step == 0 ? "before step 1"
                                   : "in the " + std::string(Name(at.phase)) + " of step " + std::to_string(at.step)) +
                     ": " + ToString(at.bytes) + " for " + at.tensor + (at.node.empty() ? "" : ", at " + at.node);
  if (!tried.refusal) return text + ", above the memory fraction of --allocator-conf";
  return text + ": a segment of " + ToString(tried.refusal->wanted) + ", and " + Because(*tried.refusal);
}

Judgement Judge(const Prediction& prediction, const Observation& seen) {
  if (seen.error) return {Agreement::kStopped, seen.error->subject + ": " + seen.error->text};
  if (seen.disturbed != Bytes()) {
    return {Agreement::kStopped,
            "other programs " + Moved(seen.disturbed) + " of the card meanwhile, so there is nothing to compare"};
  }
  std::string reason = StepDiffers(prediction, seen);
  if (reason.empty()) reason = BatchDiffers(prediction, seen);
  if (!reason.empty()) return {Agreement::kDiffers, reason};
  return {};
}

}  // namespace vramplan
