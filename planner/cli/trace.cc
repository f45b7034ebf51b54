#include "planner/report/trace.h"

#include <algorithm>

#include "planner/allocator/stream.h"
#include "planner/answers/prepare.h"
#include "planner/cli/recorded.h"
#include "planner/cli/settings.h"
#include "planner/cli/verbs.h"
#include "planner/record/played.h"
#include "planner/remat/text.h"
#include "planner/solver/step_problem.h"

namespace vramplan {
namespace {

Status CheckTraceOptions(const Options& options) {
  if (!options.compare.empty() && options.problem)
    return Error{ErrorCode::kUsage, "--problem", "cannot be combined with --compare", "leave one of them out"};
  if (options.compare.empty() && options.format == Format::kJson)
    return Error{ErrorCode::kUsage, "--format", "the stream is always CSV; json is for the answer of --compare",
                 "leave --format out"};
  if (!options.compare.empty() && options.out == "-")
    return Error{ErrorCode::kUsage, "--out", "the terminal shows the comparison", "name a file for the stream"};
  return Done();
}

// The stream of --compare: a trace, or a step of a script's run. Of a run with one step (inference) that is the one to
// compare, where none is named.
Result<Trace> ReadRecorded(const Options& options, std::optional<int>* step) {
  if (IsRecord(options.compare)) {
    const Result<Record> record = ReadRecordFile(options.compare);
    if (!record.ok()) return record.error();
    if (!options.Given("step") && !record->rows.empty()) *step = std::clamp(record->rows.back().step, 1, **step);
    return TraceOf(*record, options.compare, *step, options.allocator);
  }
  const Result<std::string> text = ReadStream(options.compare);
  if (!text.ok()) return text.error();
  return ParseTrace(*text, options.compare);
}

}  // namespace

Result<Outcome> RunTrace(const Options& options, const Style& style, Probe* machine) {
  if (const Status checked = CheckTraceOptions(options); !checked) return checked.error();
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  TraceReport report;
  std::optional<int> step = options.step;
  if (!options.compare.empty()) {
    Result<Trace> recorded = ReadRecorded(options, &step);
    if (!recorded.ok()) return recorded.error();
    report.recorded = *std::move(recorded);
  }
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  NoteAssumedBatch(&*prepared);
  if (*chosen) prepared->notes.Append((*chosen)->notes);
  const TrainingSpec spec = SpecOf(options, *chosen);
  const int64_t batch = prepared->question.batch;
  if (options.problem) {
    const Result<RematProblem> problem =
        StepProblem(prepared->layers, spec, *chosen ? (*chosen)->rates : RatesOf(Card()), batch);
    if (!problem.ok()) return problem.error();
    return Outcome{.text = WriteProblem(*problem), .notes = prepared->notes};
  }
  const Result<Timeline> timeline = LayOut(*prepared, spec, batch, &prepared->notes);
  if (!timeline.ok()) return timeline.error();
  if (step && *step > timeline->steps) {
    return Error{ErrorCode::kUsage, "--step", "this run has " + std::to_string(timeline->steps) + " steps",
                 "type --step " + std::to_string(timeline->steps)};
  }
  Result<Trace> trace = TraceOf(*timeline, prepared->layers, step, options.allocator);
  if (!trace.ok()) return trace.error();
  if (options.compare.empty()) return Outcome{.text = PrintTrace(*trace), .notes = prepared->notes};

  report.model = FileName(options.model);
  report.file = FileName(options.compare);
  report.batch = batch;
  report.spec = SpecRows(options, spec, prepared->question, *chosen, ContextBand());
  report.spec.erase(
      std::remove_if(report.spec.begin(), report.spec.end(),  // not on the allocator's card
                     [](const SpecRow& row) { return row.option == "context" || row.option == "reserve"; }),
      report.spec.end());
  report.step = step ? "step " + std::to_string(*step) : "all steps";
  report.ours = *std::move(trace);
  report.comparison = CompareTraces(report.ours, report.recorded);
  report.notes = prepared->notes;
  Outcome outcome;
  if (options.format == Format::kJson) {
    outcome.text = Print(ToJson(report));
  } else {
    outcome.text = PrintTraceReport(report, style);
    outcome.notes = report.notes;
  }
  if (!options.out.empty()) outcome.stream = PrintTrace(report.ours);
  return outcome;
}

}  // namespace vramplan
