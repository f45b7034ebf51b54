#include "planner/answers/fit.h"

#include <algorithm>

#include "planner/answers/emitted.h"
#include "planner/answers/judge.h"
#include "planner/answers/prepare.h"
#include "planner/answers/vllm.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/recorded.h"
#include "planner/cli/settings.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/picture/fit_page.h"
#include "planner/report/request.h"

namespace vramplan {
namespace {

// The page, or the step alone: at the batch that was asked for, else at the largest.
Result<std::string> Drawn(StepEnds& steps, const Options& options, const Fit& fit) {
  const bool at_largest = !fit.head.batch_given && fit.card.largest.largest_batch > 1;
  const int64_t batch = at_largest ? fit.card.largest.largest_batch : fit.head.batch;
  const Result<LaidOut> step = steps.likely.At(batch);
  if (!step.ok()) return step.error();
  const DrawnStep drawn{steps.prepared,          fit.head,       **step, batch, steps.spec, options.allocator,
                        fit.card.device.context, fit.card.device};
  if (IsStepAlone(options.format)) return StepAlone(options.format, drawn);
  const Result<BatchChart> batches = BatchesAround(drawn, fit.card);
  if (!batches.ok()) return batches.error();
  return PrintFitPage(fit, DrawnPictures(drawn), *batches);
}

Result<Outcome> RunFitMatrix(const Options& options, Prepared prepared, const Style& style) {
  Result<FitMatrix> matrix = FitMatrixOf(options, std::move(prepared));
  if (!matrix.ok()) return matrix.error();
  matrix->head.spec = SpecRows(options, options.spec, matrix->head, std::nullopt, ContextBand());
  // Those are each card's own.
  std::erase_if(matrix->head.spec, [](const SpecRow& row) {
    return !row.given && (row.option == "capability" || row.option == "context");
  });
  const bool any_fits =
      std::ranges::any_of(matrix->cards, [](const CardFit& card) { return card.verdict != Verdict::kDoesNotFit; });
  const int exit_code = any_fits ? 0 : kExitDoesNotFit;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(*matrix)), exit_code, Notes()};
  if (options.format == Format::kAll) {
    return Outcome{AllForms(ToJson(*matrix), PrintFitMatrix(*matrix, style), PrintFitMatrixPage(*matrix)), exit_code,
                   Notes()};
  }
  if (options.format == Format::kHtml) return Outcome{PrintFitMatrixPage(*matrix), exit_code, Notes()};
  return Outcome{PrintFitMatrix(*matrix, style), exit_code, matrix->notes};
}

// What PyTorch does in a step says nothing of vLLM's.
bool IsOfStep(const SpecRow& row) { return row.option == "framework" || row.option == "context"; }

Result<Outcome> RunVllm(const Options& options, const ChosenDevice& chosen, const Style& style) {
  Result<VllmStart> start = VllmStartOf(options, chosen);
  if (!start.ok()) return start.error();
  start->head.spec = SpecRows(options, SpecOn(chosen, options.spec), start->head, chosen, chosen.device.context);
  std::erase_if(start->head.spec, [](const SpecRow& row) { return !row.given && IsOfStep(row); });
  const int exit_code = start->verdict == Verdict::kDoesNotFit ? kExitDoesNotFit : 0;
  std::optional<std::string> emitted;
  if (options.emit != Emit::kNone && exit_code == 0) {
    emitted = VllmCommand(*start);
    if (options.format != Format::kAll && options.EmitsToOutput()) return Outcome{*std::move(emitted), 0, start->notes};
  }
  if (options.format == Format::kJson) return Outcome{Print(ToJson(*start)), exit_code, Notes(), std::move(emitted)};
  if (options.format == Format::kAll)
    return Outcome{AllForms(ToJson(*start), PrintVllm(*start, style), "", emitted.value_or("")), exit_code, Notes()};
  return Outcome{PrintVllm(*start, style), exit_code, start->notes, std::move(emitted)};
}

}  // namespace

Result<Outcome> RunFit(const Options& options, const Style& style, Probe* machine) {
  if (IsRecord(options.file)) return RunRecorded(options, style, machine);
  std::optional<ChosenDevice> chosen;
  if (AsksOfMany(options.gpu) && !options.profile.empty())
    return Error{ErrorCode::kUsage, "--profile", "is for one card, but --gpu " + options.gpu + " asks about many",
                 "leave one of them out"};
  if (!AsksOfMany(options.gpu)) {
    Result<std::optional<ChosenDevice>> found = ChooseDevice(options, machine);
    if (!found.ok()) return found.error();
    chosen = *std::move(found);
  }
  if (options.vllm && chosen) return RunVllm(options, *chosen, style);
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  if (!chosen) return RunFitMatrix(options, *std::move(prepared), style);
  prepared->notes.Append(chosen->notes);

  const TrainingSpec spec = SpecOn(*chosen, options.spec);
  const int64_t batch = prepared->head.batch;
  StepEnds steps(*prepared, spec);
  const Result<BothEnds> step = steps.At(batch, &prepared->notes);
  if (!step.ok()) return step.error();
  if (!chosen->nvidia) NoteAmd(&prepared->notes);

  Result<CardFit> judged = CardJudge(steps, chosen->device, options.allocator).At(batch);
  if (!judged.ok()) return judged.error();
  judged->id = chosen->id;
  std::optional<std::string> emitted;
  if (options.emit != Emit::kNone && judged->verdict != Verdict::kDoesNotFit) {
    Result<std::string> snippet = EmittedStep(options.emit, options, steps, *judged);
    if (!snippet.ok()) return snippet.error();
    if (options.format != Format::kAll && options.EmitsToOutput())
      return Outcome{*std::move(snippet), 0, prepared->notes};
    emitted = *std::move(snippet);
  }
  const FitParts parts{IsBrief(options), options.host || options.format == Format::kRequest};
  Result<Fit> answered = FitOf(options, *chosen, steps, *std::move(judged), parts, std::move(prepared->notes));
  if (!answered.ok()) return answered.error();
  Fit& fit = *answered;
  fit.head.spec = SpecRows(options, spec, fit.head, chosen, chosen->device.context);
  const int exit_code = fit.card.verdict == Verdict::kDoesNotFit ? kExitDoesNotFit : 0;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(fit)), exit_code, Notes(), std::move(emitted)};
  if (options.format == Format::kRequest) {
    const int64_t ranks = steps.spec.ranks;  // of a job: a process for each card
    const Band each = fit.host->Sum(fit.host->beside);
    const Band host{each.low * ranks, each.likely * ranks, each.high * ranks};
    return Outcome{PrintRequest({VerdictLine(fit), fit.card.band.device(), host, ranks}), exit_code, fit.notes};
  }
  if (IsPicture(options.format)) {
    Result<std::string> drawn = Drawn(steps, options, fit);
    if (!drawn.ok()) return drawn.error();
    if (options.format == Format::kAll)
      return Outcome{AllForms(ToJson(fit), PrintFit(fit, style), *std::move(drawn), emitted.value_or("")), exit_code,
                     Notes()};
    return Outcome{*std::move(drawn), exit_code, Notes(), std::move(emitted)};
  }
  return Outcome{PrintFit(fit, style), exit_code, fit.notes, std::move(emitted)};
}

}  // namespace vramplan
