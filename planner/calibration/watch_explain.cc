#include <algorithm>

#include "planner/calibration/watch.h"

namespace vramplan {
namespace {

std::string Process(const WatchedProcess& process) {
  return process.name + (process.name.empty() ? "pid " : " (pid ") + std::to_string(process.pid) +
         (process.name.empty() ? "" : ")");
}

// Of our processes, all but the largest.
Bytes Beside(const std::vector<const WatchedProcess*>& ours, std::string* names) {
  const WatchedProcess* largest =
      *std::max_element(ours.begin(), ours.end(),
                        [](const WatchedProcess* a, const WatchedProcess* b) { return a->at_peak < b->at_peak; });
  Bytes sum;
  for (const WatchedProcess* process : ours) {
    if (process == largest || process->at_peak == Bytes()) continue;
    sum += process->at_peak;
    *names += (names->empty() ? "" : ", ") + Process(*process);
  }
  return sum;
}

// Whether `a` explains `b` for the most part.
bool MostOf(Bytes a, Bytes b) { return a * 2 >= b; }
// Within a tenth.
bool About(Bytes a, Bytes b) { return a * 10 >= b * 9 && a * 10 <= b * 11; }

Explanation Above(const Watched& watched, const WatchPrediction& prediction) {
  using enum Explanation::Place;
  const Bytes excess = watched.peak - prediction.device_likely;
  if (watched.source == WatchSource::kDifference) {
    return {kAbove, "others",
            "the driver does not say what each process holds: this is the whole rise of the card's use, " +
                ToString(excess) + " more than predicted, and other processes may be part of it"};
  }
  const std::vector<const WatchedProcess*> ours = watched.Ours();
  std::string names;
  const Bytes beside = Beside(ours, &names);
  if (beside > Bytes() && MostOf(beside, excess)) {
    return {kAbove, "processes",
            "more than one process of the run is on the card: " + names + " with " + ToString(beside) +
                ", with a context and tensors of its own"};
  }
  const Bytes first = ours.front()->first.value_or(Bytes());
  // Twice as much as is known of any context is none: then tensors were there at the first look.
  const bool context_alone = first > prediction.context_high && first <= prediction.context_high * 2;
  if (!watched.there_before && context_alone && MostOf(first - prediction.context_likely, excess)) {
    return {kAbove, "context",
            "when it was first seen it held " + ToString(first) + ", and a context was predicted to take at most " +
                ToString(prediction.context_high) + ": the context is larger here, or something was loaded by then"};
  }
  if (prediction.weights > Bytes() && About(excess, prediction.weights)) {
    return {kAbove, "allocated",
            "it is about one more copy of the weights (" + ToString(prediction.weights) +
                "): a second model, an averaged copy, or a state dict that was loaded onto the card"};
  }
  const Bytes context = prediction.context_high - prediction.context_likely;
  return {kAbove, "reserved",
          "a larger context explains " + ToString(std::min(context, excess)) + " of the " + ToString(excess) +
              " at most; the rest was reserved beyond the prediction (fragmentation, cuDNN workspaces, another batch "
              "or shape); torch.cuda.max_memory_allocated() and max_memory_reserved() in the run tell which"};
}

Explanation Below(const Watched& watched, const WatchPrediction& prediction) {
  using enum Explanation::Place;
  if (watched.peak <= prediction.context_high) {
    return {kBelow, "context", "that is no more than a context: no step was seen, or it ran on another card"};
  }
  const Bytes tensors = watched.peak - prediction.context_likely;
  if (tensors >= prediction.levels.allocated) {
    return {kBelow, "reserved",
            "the " + ToString(prediction.levels.allocated) +
                " that were predicted to be allocated are in it: less was reserved in addition than predicted"};
  }
  return {kBelow, "allocated",
          "without a context it is " + ToString(tensors) + ", and " + ToString(prediction.levels.allocated) +
              " were predicted for tensors alone: a smaller batch or shape, another precision, or a run without the "
              "backward or the optimizer"};
}

}  // namespace

std::string_view Name(Explanation::Place place) {
  switch (place) {
    case Explanation::Place::kInside:
      return "inside";
    case Explanation::Place::kAbove:
      return "above";
    case Explanation::Place::kBelow:
      return "below";
    case Explanation::Place::kUnseen:
      return "unseen";
  }
  return "";
}

Explanation Explain(const Watched& watched, const WatchPrediction& prediction) {
  using enum Explanation::Place;
  if (watched.source == WatchSource::kNothing) return {kUnseen, "", "the run was not seen on the card"};
  if (watched.peak > prediction.device_high) return Above(watched, prediction);
  if (watched.peak < prediction.device_low) return Below(watched, prediction);
  return {kInside, "", "inside the band: there is nothing to explain"};
}

std::optional<Bytes> ContextOfRun(const Watched& watched, const WatchPrediction& prediction) {
  if (watched.source != WatchSource::kProcesses || watched.Ours().size() != 1) return std::nullopt;
  const Bytes context = watched.peak - prediction.levels.reserved;
  if (context * 2 < prediction.context_low || context > prediction.context_high * 2) return std::nullopt;
  return context;
}

}  // namespace vramplan
