#include "planner/answers/estimate.h"

#include "planner/cli/all_forms.h"
#include "planner/cli/estimate_step.h"
#include "planner/cli/settings.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/picture/estimate_page.h"

namespace vramplan {

Result<Estimate> EstimateStep(const Options& options, const std::optional<ChosenDevice>& chosen,
                              EstimatePictures* pictures) {
  Result<Prepared> prepared = PrepareForBatch(options, chosen);
  if (!prepared.ok()) return prepared.error();
  const TrainingSpec spec = SpecOf(options, chosen);
  StepEnds steps(*prepared, spec);
  Result<Estimate> estimate =
      EstimateOf(options, chosen, steps, {IsBrief(options), options.segments}, std::move(prepared->notes));
  if (!estimate.ok()) return estimate;
  estimate->head.spec = SpecRows(options, spec, estimate->head, chosen, estimate->context);
  if (pictures == nullptr) return estimate;
  const int64_t batch = estimate->head.batch;
  const Result<LaidOut> step = steps.likely.At(batch);
  if (!step.ok()) return step.error();
  const DrawnStep drawn{*prepared,         estimate->head,    **step,          batch, spec,
                        options.allocator, estimate->context, estimate->device};
  if (IsStepAlone(options.format)) {
    pictures->alone = StepAlone(options.format, drawn);
    return estimate;
  }
  pictures->step = DrawnPictures(drawn);
  Result<BatchChart> batches = BatchesAround(drawn, std::nullopt);
  if (!batches.ok()) return batches.error();
  pictures->batches = *std::move(batches);
  return estimate;
}

Result<Outcome> RunEstimate(const Options& options, const Style& style, Probe* machine) {
  if (options.dump == Dump::kHolds) return RunInspect(options, style, machine);
  if (options.dump != Dump::kNone) {
    return Error{ErrorCode::kUsage, "--dump", "estimate prints holds alone",
                 "vramplan inspect FILE --dump layers, shapes or parameters"};
  }
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  EstimatePictures pictures;
  const Result<Estimate> estimate = EstimateStep(options, *chosen, IsPicture(options.format) ? &pictures : nullptr);
  if (!estimate.ok()) return estimate.error();
  if (IsStepAlone(options.format)) return Outcome{.text = pictures.alone};
  // Of a card that was named it says whether the step fits, as fit does.
  const int exit_code = estimate->device && estimate->verdict == Verdict::kDoesNotFit ? kExitDoesNotFit : 0;
  if (IsPicture(options.format)) {
    std::string page = PrintEstimatePage(*estimate, pictures.step, pictures.batches);
    if (options.format == Format::kAll)
      page = AllForms(ToJson(*estimate), PrintEstimate(*estimate, style), std::move(page));
    return Outcome{.text = std::move(page), .exit_code = exit_code};
  }
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(*estimate)), .exit_code = exit_code};
  return Outcome{.text = PrintEstimate(*estimate, style), .exit_code = exit_code, .notes = estimate->notes};
}

}  // namespace vramplan
