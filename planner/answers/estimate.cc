#include "planner/answers/estimate.h"

#include <utility>

#include "planner/answers/assumptions.h"
#include "planner/report/writing/sparkline.h"

namespace vramplan {

Result<Estimate> EstimateOf(const Question& question, const std::optional<ChosenDevice>& chosen, StepEnds& steps,
                            const EstimateParts& parts, Notes notes) {
  const Prepared& prepared = steps.prepared;
  const TrainingSpec& spec = steps.spec;
  const AllocatorConfig& config = question.allocator;
  const int64_t batch = prepared.head.batch;
  const Result<BothEnds> ends = steps.At(batch, &notes);
  if (!ends.ok()) return ends.error();
  const Timeline& timeline = *ends->likely;
  Estimate estimate;
  if (chosen) estimate.device = chosen->device;
  estimate.context = ContextFor(question, chosen, spec);
  estimate.head = prepared.head;
  estimate.head.loss = timeline.loss;
  OnCard& on = estimate;
  if (chosen) {
    const Result<CardFit> fit = CardJudge(steps, chosen->device, config).At(batch);
    if (!fit.ok()) return fit.error();
    on = static_cast<const OnCard&>(*fit);
  } else {
    on = WithoutCard(*ends, batch, steps, config, estimate.context);
  }
  if (parts.segments) {
    estimate.segments.emplace();
    const bool within = chosen && on.verdict != Verdict::kDoesNotFit;
    const Bytes capacity = within ? RoomsOf(chosen->device).likely : Bytes::Max();
    static_cast<void>(
        Replay(timeline, batch, within ? AllocatorOn(chosen->device, config) : config, capacity, &*estimate.segments));
  }
  estimate.assumptions =
      AssumptionsOf({prepared, question, spec, batch, timeline, estimate.peak.peak.requested, parts.brief});
  estimate.place = PlaceOf(estimate.peak, timeline, prepared.layers);
  estimate.layers = LayerTable(timeline, prepared.layers, spec, batch);
  estimate.training_steps = timeline.steps;
  estimate.over_step = StepCourse(timeline, batch, kSparks);
  estimate.notes = std::move(notes);
  return estimate;
}

}  // namespace vramplan
