#include "planner/cli/script_next.h"

#include <algorithm>

namespace vramplan {
namespace {

// What a reader waits for at most, beside the run itself.
constexpr double kMostSeconds = 600;

std::optional<std::string> SmallestForRun(const ScriptReport& run, const Options& options) {
  Options on_card = options;
  on_card.gpu_memory.reset();
  for (const Card* card : SmallestFirst(on_card)) {
    const Device device = DeviceOf(*card, on_card).device;
    DeviceBand band = run.band;
    band.context = {device.context.low, device.context.likely, device.context.high};
    if (band.device().high <= device.available()) return card->name + " (--gpu " + card->id + ")";
  }
  return std::nullopt;
}

}  // namespace

std::optional<ScriptNext> NextOf(const ScriptRuns& runs, const Options& options, const ScriptValues& values,
                                 const ScriptReport& failed) {
  if (!failed.oom || failed.recording.seconds > kMostSeconds) return std::nullopt;
  // The step that failed, and what comes between it and the next one.
  const int64_t steps = static_cast<int64_t>(failed.recording.steps.size()) + 2;
  TellProgress("running once more, on a card that is never full");
  const Result<ScriptReport> run = runs.RunOnEndlessCard(values, std::max<int64_t>(steps, options.steps));
  if (!run.ok() || run->oom) return std::nullopt;
  ScriptNext next;
  next.needs = run->band.device().likely;
  next.high = run->band.device().high;
  next.steps = static_cast<int64_t>(run->recording.steps.size());
  next.moment = run->moment;
  next.smallest = SmallestForRun(*run, options);
  next.tried = options.wishes_of_script.tries;
  return next;
}

}  // namespace vramplan
