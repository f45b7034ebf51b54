#include "planner/answers/validate_question.h"

#include <algorithm>
#include <utility>

namespace vramplan {

ValidateQuestion::ValidateQuestion(const Question& question, Bytes most, ChosenDevice chosen, Prepared prepared)
    : chosen_(std::move(chosen)),
      prepared_(std::move(prepared)),
      spec_(SpecOn(chosen_, question.spec)),
      config_(AllocatorOn(chosen_.device, question.allocator)),
      limits_{question.reserve, most} {}

Result<ValidateReport> ValidateQuestion::Predict() {
  ValidateReport report;
  report.head = prepared_.head;
  report.device = chosen_.device;
  report.limits = limits_;
  Prediction& prediction = report.prediction;
  prediction.context = chosen_.device.context;
  const ContextBand& context = prediction.context;
  Result<LargestBatch> likely = Largest(context.likely, prepared_.head.batch);
  if (!likely.ok()) return likely.error();
  const int64_t largest = prediction.largest.likely = likely->largest_batch;
  prediction.at_end = has_batch() && !likely->first_failing_batch;
  prediction.batch = prepared_.head.batch_given ? prepared_.head.batch : std::max<int64_t>(1, largest);
  for (const auto& [to, bytes] :
       {std::pair(&prediction.largest.low, context.low), std::pair(&prediction.largest.high, context.high)}) {
    Result<LargestBatch> found = Largest(bytes, std::max<int64_t>(1, largest));
    if (!found.ok()) return found.error();
    *to = found->largest_batch;
  }
  const Result<Timeline> timeline = LayOut(prediction.batch, &prepared_.notes);
  if (!timeline.ok()) return timeline.error();
  prediction.peak = Within(*timeline, prediction.batch, context.likely, &prediction.fits.likely);
  Within(*timeline, prediction.batch, context.low, &prediction.fits.low);
  Within(*timeline, prediction.batch, context.high, &prediction.fits.high);
  Count(*timeline, &report);
  report.most_tries = MostTries(std::max<int64_t>(1, largest), Most());
  report.head.batch = prediction.batch;
  report.notes = prepared_.notes;
  report.notes.Append(chosen_.notes);
  return report;
}

Result<CardTry> ValidateQuestion::Try(Probe* machine, CardSession* session, int64_t batch,
                                      const Peak* predicted) const {
  Notes already_told;
  const Result<Timeline> timeline = LayOut(batch, &already_told);
  if (!timeline.ok()) return timeline.error();
  bool fits = false;
  const Peak peak = predicted != nullptr ? *predicted : Within(*timeline, batch, chosen_.device.context.likely, &fits);
  return TryOnCard(machine, chosen_.facts->index, session, *timeline, prepared_.layers, batch, config_, limits_, peak);
}

Result<LargestBatch> ValidateQuestion::Largest(Bytes context, int64_t near) const {
  const Bytes capacity = CapacityWith(context);
  const Layout layout = [this](int64_t batch) {
    Notes already_told;
    return LayOut(batch, &already_told);
  };
  if (has_batch()) {
    const int64_t asked = prepared_.head.batch_given ? prepared_.head.batch : 1;
    return FindLargestBatch(layout, prepared_.layers, config_, capacity, asked, near);
  }
  const Result<Timeline> timeline = layout(1);
  if (!timeline.ok()) return timeline.error();
  LargestBatch only;
  only.largest_batch = Replay(*timeline, 1, config_, capacity).out_of_memory ? 0 : 1;
  if (only.largest_batch == 0) only.first_failing_batch = 1;
  return only;
}

Result<Timeline> ValidateQuestion::LayOut(int64_t batch, Notes* notes) const {
  return vramplan::LayOut(prepared_, spec_, batch, notes);
}

Peak ValidateQuestion::Within(const Timeline& timeline, int64_t batch, Bytes context, bool* fits) const {
  Peak peak = Replay(timeline, batch, config_, CapacityWith(context));
  *fits = !peak.out_of_memory;
  if (*fits) return peak;
  AllocatorConfig endless = config_;
  endless.device_total.reset();
  return Replay(timeline, batch, endless, Bytes::Max());
}

void ValidateQuestion::Count(const Timeline& timeline, ValidateReport* report) const {
  const std::vector<Placement> placements = Placements(timeline, report->prediction.batch, config_);
  for (size_t i = 0; i < placements.size(); ++i) {
    if (timeline.events[i].kind != EventKind::kAllocate || placements[i].block == Bytes()) continue;
    ++report->allocations;
    report->written += placements[i].block;
  }
}

}  // namespace vramplan
