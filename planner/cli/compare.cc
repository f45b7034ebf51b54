// `vramplan compare`: a snapshot that PyTorch wrote of a run, beside the step of the model that ran.
#include <algorithm>

#include "planner/allocator/stream.h"
#include "planner/answers/prepare.h"
#include "planner/cli/settings.h"
#include "planner/cli/verbs.h"
#include "planner/report/trace.h"
#include "planner/snapshot/recorded_step.h"

namespace vramplan {
namespace {

// Requested bytes when this step begins.
Bytes RequestedBefore(const Timeline& timeline, int64_t batch, int step) {
  Bytes level;
  for (const Event& event : timeline.events) {
    if (event.step >= step) break;
    const bool birth = event.kind == EventKind::kAllocate;
    if (!birth && event.kind != EventKind::kFree) continue;
    const Bytes bytes = timeline[event.block].bytes.At(batch);
    level = birth ? level + bytes : level - bytes;
  }
  return level;
}

// The step of ours that a recorded one stands beside: of a run that was seen from its start the same one, else the
// steady state.
int StepOfOurs(const RecordedSteps& recorded, int steps) {
  return recorded.from_start ? std::min(recorded.number, steps) : steps;
}

}  // namespace

Result<Outcome> RunCompare(const Options& options, const Style& style, Probe* machine) {
  const Result<std::string> bytes = ReadStream(options.file);
  if (!bytes.ok()) return bytes.error();
  if (!IsPickle(*bytes)) {
    Options asked = options;
    asked.compare = options.file;
    return RunTrace(asked, style, machine);
  }
  const Result<Pickle> snapshot = ReadPickle(*bytes, options.file);
  if (!snapshot.ok()) return snapshot.error();
  StepChoice choice;
  if (options.spec.given.contains("step")) choice.step = options.step;
  choice.zero_grad_first = options.spec.zero_grad != ZeroGrad::kEnd;
  Result<RecordedSteps> recorded = StepOfSnapshot(*snapshot, options.file, choice);
  if (!recorded.ok()) return recorded.error();

  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  NoteAssumedBatch(&*prepared);
  if (*chosen) prepared->notes.Append((*chosen)->notes);
  const TrainingSpec spec = SpecOf(options, *chosen);
  const int64_t batch = prepared->question.batch;
  const Result<Timeline> timeline = LayOut(*prepared, spec, batch, &prepared->notes);
  if (!timeline.ok()) return timeline.error();
  const int step = StepOfOurs(*recorded, timeline->steps);
  Result<Trace> ours = TraceOf(*timeline, prepared->layers, step, options.allocator);
  if (!ours.ok()) return ours.error();

  TraceReport report;
  report.model = FileName(options.model);
  report.file = FileName(options.file);
  report.batch = batch;
  report.row = "entry";
  report.level = "requested";
  report.step = "step " + std::to_string(step);
  report.file += " (its step " + std::to_string(recorded->number) + " of " + std::to_string(recorded->whole) + ")";
  report.spec = SpecRows(options, spec, prepared->question, *chosen, ContextBand());
  std::erase_if(report.spec, [](const SpecRow& row) { return row.option == "context" || row.option == "reserve"; });
  report.ours = AsRequested(*std::move(ours), RequestedBefore(*timeline, batch, step));
  report.recorded = std::move(recorded->step);
  report.comparison = CompareTraces(report.ours, report.recorded);
  report.notes = prepared->notes;
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(report))};
  return Outcome{.text = PrintTraceReport(report, style), .notes = report.notes};
}

}  // namespace vramplan
