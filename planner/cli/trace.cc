#include "planner/cli/trace.h"

#include <algorithm>
#include <utility>

#include "planner/allocator/stream.h"
#include "planner/answers/trace.h"
#include "planner/cli/recorded.h"
#include "planner/cli/settings.h"
#include "planner/cli/verbs.h"
#include "planner/record/played.h"
#include "planner/remat/text.h"
#include "planner/snapshot/recorded_step.h"
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
    return Error{ErrorCode::kUsage, "--out", "the comparison already goes to the terminal",
                 "name a file for the stream"};
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
  if (IsPickle(*text)) return IsNoText(options.compare);
  return ParseTrace(*text, options.compare);
}

// --problem: the step as a checkpointing problem.
Result<Outcome> PrintStepProblem(const Options& options, const std::optional<ChosenDevice>& chosen) {
  Result<Prepared> prepared = PrepareForBatch(options, chosen);
  if (!prepared.ok()) return prepared.error();
  const Result<RematProblem> problem = StepProblem(prepared->layers, SpecOf(options, chosen),
                                                   chosen ? chosen->rates : RatesOf(Card()), prepared->head.batch);
  if (!problem.ok()) return problem.error();
  return Outcome{.text = WriteProblem(*problem), .notes = prepared->notes};
}

}  // namespace

Outcome ShowTrace(const Options& options, const LaidOutStep& laid_out, const std::optional<ChosenDevice>& chosen,
                  TraceReport report, const Style& style) {
  report.spec = SpecRows(options, laid_out.spec, laid_out.prepared.head, chosen, ContextBand());
  // Not on the allocator's card.
  std::erase_if(report.spec, [](const SpecRow& row) { return row.option == "context" || row.option == "reserve"; });
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(report))};
  return Outcome{.text = PrintTraceReport(report, style), .notes = report.notes};
}

Result<Outcome> RunTrace(const Options& options, const Style& style, Probe* machine) {
  if (const Status checked = CheckTraceOptions(options); !checked) return checked.error();
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  if (options.problem) return PrintStepProblem(options, *chosen);
  std::optional<int> step = options.step;
  Result<Trace> recorded = Trace();
  if (!options.compare.empty()) recorded = ReadRecorded(options, &step);
  if (!recorded.ok()) return recorded.error();
  const Result<LaidOutStep> laid_out = LayOutQuestion(options, *chosen);
  if (!laid_out.ok()) return laid_out.error();
  if (options.compare.empty()) {
    if (const Status checked = CheckStep(step, laid_out->timeline); !checked) return checked.error();
    const Result<Trace> trace = TraceOf(laid_out->timeline, laid_out->prepared.layers, step, options.allocator);
    if (!trace.ok()) return trace.error();
    return Outcome{.text = PrintTrace(*trace), .notes = laid_out->prepared.notes};
  }
  Result<TraceReport> compared = TraceBeside(*laid_out, step, *std::move(recorded), options.compare, options.allocator);
  if (!compared.ok()) return compared.error();
  std::optional<std::string> stream;
  if (!options.out.empty()) stream = PrintTrace(compared->ours);
  Outcome outcome = ShowTrace(options, *laid_out, *chosen, *std::move(compared), style);
  outcome.stream = std::move(stream);
  return outcome;
}

}  // namespace vramplan
