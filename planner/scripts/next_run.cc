#include "planner/scripts/next_run.h"

#include <algorithm>

namespace vramplan {
namespace {

// What a reader waits for at most, beside the run itself.
constexpr double kMostSeconds = 600;

}  // namespace

std::optional<ScriptNext> NextOf(const ScriptRuns& runs, const Question& question, const Script& script,
                                 const ScriptValues& values, const ScriptReport& failed) {
  if (!failed.oom || failed.recording.seconds > kMostSeconds) return std::nullopt;
  // The step that failed, and what comes between it and the next one.
  const int64_t steps = static_cast<int64_t>(failed.recording.steps.size()) + 2;
  TellProgress("running once more, on a card that is never full");
  const Result<ScriptReport> run = runs.RunOnEndlessCard(values, std::max<int64_t>(steps, script.steps));
  if (!run.ok() || run->oom) return std::nullopt;
  ScriptNext next;
  next.needs = run->band.device().likely;
  next.high = run->band.device().high;
  next.steps = static_cast<int64_t>(run->recording.steps.size());
  next.moment = run->moment;
  next.record = RecordOf(run->recording, run->card.cudnn);
  const RecordedRun recorded(next.record);
  next.smallest =
      SmallestThatHolds(question, [&](const Device& card) { return VerdictOn(card, *run, recorded).verdict; });
  next.tried = script.wishes.tries;
  return next;
}

}  // namespace vramplan
