#include "planner/report/estimate.h"

#include <algorithm>

#include "planner/answers/doubts.h"
#include "planner/answers/judge.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/estimate_step.h"
#include "planner/cli/settings.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/picture/estimate_page.h"
#include "planner/report/writing/sparkline.h"

namespace vramplan {

Result<Estimate> EstimateStep(const Options& options, const std::optional<ChosenDevice>& chosen,
                              EstimatePictures* pictures) {
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  NoteAssumedBatch(&*prepared);
  if (chosen) prepared->notes.Append(chosen->notes);
  const TrainingSpec spec = SpecOf(options, chosen);
  const int64_t batch = prepared->question.batch;
  StepEnds steps(*prepared, spec);
  const Result<BothEnds> ends = steps.At(batch, &prepared->notes);
  if (!ends.ok()) return ends.error();
  const Timeline& timeline = *ends->likely;

  Estimate estimate;
  if (chosen) estimate.device = chosen->device;
  if (estimate.device) {
    estimate.context = estimate.device->context;
  } else {
    estimate.context = options.context ? GivenContext(*options.context) : ContextOf(spec.capability, spec.framework);
  }
  estimate.question = prepared->question;
  estimate.question.spec = SpecRows(options, spec, estimate.question, chosen, estimate.context);
  SayLoss(timeline.loss, &estimate.question.spec);
  if (options.segments) estimate.segments.emplace();
  const AllocatorConfig& config = options.allocator;
  OnCard& on = estimate;
  if (chosen) {
    const Result<CardFit> fit = CardJudge(steps, chosen->device, config).At(batch);
    if (!fit.ok()) return fit.error();
    on = static_cast<const OnCard&>(*fit);
  } else {
    on = WithoutCard(*ends, batch, steps, config, estimate.context);
  }
  if (estimate.segments) {
    const bool within = chosen && on.verdict != Verdict::kDoesNotFit;
    const Bytes capacity = within ? RoomsOf(chosen->device).likely : Bytes::Max();
    static_cast<void>(
        Replay(timeline, batch, within ? AllocatorOn(chosen->device, config) : config, capacity, &*estimate.segments));
  }
  estimate.assumptions =
      Doubts({*prepared, options, spec, batch, timeline, estimate.peak.peak.requested, IsBrief(options)});
  estimate.place = PlaceOf(estimate.peak, timeline, prepared->layers);
  estimate.layers = LayerTable(timeline, prepared->layers, spec, batch);
  estimate.training_steps = timeline.steps;
  estimate.over_step = StepCourse(timeline, batch, kSparks);
  estimate.notes = prepared->notes;
  if (pictures == nullptr) return estimate;
  const DrawnStep step{*prepared, estimate.question, timeline, batch, spec, config, estimate.context, estimate.device};
  if (IsStepAlone(options.format)) {
    pictures->alone = StepAlone(options.format, step);
    return estimate;
  }
  pictures->step = DrawnPictures(step);
  Result<BatchChart> batches = BatchesAround(step, std::nullopt);
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
  if (IsPicture(options.format)) {
    std::string page = PrintEstimatePage(*estimate, pictures.step, pictures.batches);
    if (options.format == Format::kAll)
      page = AllForms(ToJson(*estimate), PrintEstimate(*estimate, style), std::move(page));
    return Outcome{.text = std::move(page)};
  }
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(*estimate))};
  return Outcome{.text = PrintEstimate(*estimate, style), .notes = estimate->notes};
}

}  // namespace vramplan
