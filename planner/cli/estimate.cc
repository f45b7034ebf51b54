#include "planner/report/estimate.h"

#include <algorithm>

#include "planner/cli/doubts.h"
#include "planner/cli/estimate_step.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/picture/estimate_page.h"
#include "planner/report/writing/sparkline.h"
#include "planner/runtimes/runtime.h"

namespace vramplan {

Result<Estimate> EstimateStep(const Options& options, const std::optional<ChosenDevice>& chosen,
                              EstimatePictures* pictures) {
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  if (chosen) prepared->notes.Append(chosen->notes);
  const TrainingSpec spec = SpecOf(options, chosen);
  const int64_t batch = prepared->question.batch;
  const Result<Timeline> timeline = LayOut(*prepared, spec, batch, &prepared->notes);
  if (!timeline.ok()) return timeline.error();

  Estimate estimate;
  if (chosen) estimate.device = chosen->device;
  if (estimate.device) {
    estimate.context = estimate.device->context;
  } else {
    estimate.context = options.context ? GivenContext(*options.context) : ContextOf(spec.capability, spec.framework);
  }
  estimate.question = prepared->question;
  estimate.question.spec = SpecRows(options, spec, estimate.question, chosen, estimate.context);
  SayLoss(timeline->loss, &estimate.question.spec);
  if (options.segments) estimate.segments.emplace();
  // On a card without end, unless the user set a limit.
  const AllocatorConfig& config = options.allocator;
  estimate.peak = Replay(*timeline, batch, config, Bytes::Max(), estimate.segments ? &*estimate.segments : nullptr);
  estimate.assumptions = Doubts({*prepared, options, spec, batch, *timeline, estimate.peak.peak.requested});
  ReservedEnds ends;
  ends.uncertain = CudnnChooses(prepared->layers, spec);
  if (ends.uncertain) ends.high = Replay(AtMost(*timeline), batch, config, Bytes::Max()).peak.reserved;
  const Bytes reserved = estimate.peak.peak.reserved;
  if (spec.framework.runtime != Runtime::kPyTorch) {
    const ReservedRange range = ReservedAround(*timeline, spec, batch, config, reserved);
    ends.range = Band{range.low, range.likely, range.high};
  }
  estimate.band = BandOf(reserved, ends, estimate.context);
  estimate.place = PlaceOf(estimate.peak, *timeline, prepared->layers);
  estimate.layers = LayerTable(*timeline, prepared->layers, spec, batch);
  estimate.training_steps = timeline->steps;
  estimate.over_step = StepCourse(*timeline, batch, kSparks);
  estimate.notes = prepared->notes;
  if (pictures == nullptr) return estimate;
  const DrawnStep step{*prepared, estimate.question, *timeline, batch, spec, config, estimate.context, estimate.device};
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
  if (options.dump == Dump::kHolds) return RunInspect(options, style);
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
  if (options.format == Format::kHtml)
    return Outcome{.text = PrintEstimatePage(*estimate, pictures.step, pictures.batches)};
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(*estimate))};
  return Outcome{.text = PrintEstimate(*estimate, style), .notes = estimate->notes};
}

}  // namespace vramplan
