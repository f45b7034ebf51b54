#include "planner/answers/pictures.h"

#include <algorithm>
#include <set>

#include "planner/answers/parallel.h"
#include "planner/report/record.h"
#include "planner/runtimes/runtime.h"

namespace vramplan {
namespace {

// Of a step that fits, the capacity: what is cached is given back there. Else a card without end.
struct Room {
  AllocatorConfig config;
  Bytes capacity = Bytes::Max();
};
Room RoomFor(const DrawnStep& step) {
  Room endless{step.given};
  if (endless.config.bfc) endless.config.bfc->limit = Bytes::Max();
  if (!step.device || step.given.bfc) return endless;
  const Room card{AllocatorOn(*step.device, step.given), step.device->CapacityWith(step.context.likely)};
  const bool fits = !Replay(step.timeline, step.batch, card.config, card.capacity).out_of_memory;
  return fits ? card : endless;
}

// Round numbers from 1 to `last`, and those that are named.
std::vector<int64_t> BatchesUpTo(int64_t last, std::initializer_list<int64_t> named) {
  constexpr int64_t kPoints = 10;
  std::set<int64_t> batches = {1, last};
  for (int64_t i = 1; i < kPoints; ++i) batches.insert(std::max<int64_t>(1, last * i / kPoints));
  for (const int64_t batch : named) {
    if (batch >= 1 && batch <= last) batches.insert(batch);
  }
  return {batches.begin(), batches.end()};
}

}  // namespace

StepPictures DrawnPictures(const DrawnStep& step) {
  const Room room = RoomFor(step);
  const Subject subject = SubjectOf(step.timeline, step.prepared.layers, step.batch, room.config, room.capacity);
  return PicturesOf(
      subject,
      {.title = TitleOf(step.head, step.batch, step.device),
       .context = step.context.likely,
       .device = step.device,
       .train = step.head.mode == Mode::kTrain},
      [&](const Peak& peak) { return PrintPlace(peak, PlaceOf(peak, step.timeline, step.prepared.layers)); });
}

StepPictures RecordPictures(const Record& record, const std::string& name, const std::optional<Device>& device,
                            ContextBand context, const AllocatorConfig& config) {
  const PlayedRecord played = Played(record);
  const Subject subject = SubjectOf(record, played, config);
  const auto place = [&](const Peak& peak) -> std::string {
    if (peak.moment.event >= played.rows.size()) return "no step";
    const RecordMoment moment = MomentOf(record, played, peak.moment.event);
    std::string text = moment.step == 0
                           ? "before step 1"
                           : "step " + std::to_string(moment.step) + ", " + std::string(Name(moment.phase));
    return moment.place.empty() ? text : text + ", at " + moment.place;
  };
  return PicturesOf(subject, {.title = name, .context = context.likely, .device = device, .train = true}, place);
}

Result<BatchChart> BatchesAround(const DrawnStep& step, const std::optional<CardFit>& card) {
  BatchChart chart;
  chart.asked = step.head.batch;
  if (!step.head.model.has_batch) return chart;
  int64_t last = std::max<int64_t>(8, 2 * chart.asked);
  if (card) {
    chart.card = card->device.available();
    chart.card_name = card->device.name;
    if (card->largest.first_failing_batch) {
      const int64_t failing = *card->largest.first_failing_batch;
      last = std::max({failing + failing / 4, failing + 2, chart.asked});
      chart.safe = card->safe_batch;
      chart.largest = card->largest.largest_batch;
    }
  }
  // One layout near the end stands for the batches around it; the batch of the answer has its own.
  const int64_t laid_out = std::max<int64_t>(1, chart.largest.value_or(chart.asked));
  StepEnds steps(step.prepared, step.spec);
  if (step.timeline.batch == laid_out) steps.likely.Keep(step.timeline);
  const Result<BothEnds> ends = steps.At(laid_out);
  if (!ends.ok()) return ends.error();
  for (const int64_t batch : BatchesUpTo(last, {chart.asked, chart.safe.value_or(0), chart.largest.value_or(0)}))
    chart.points.push_back({batch, {}});
  ForEach(chart.points.size(), [&](size_t i) {
    CurvePoint& point = chart.points[i];
    if (card && point.batch == chart.asked) {
      point.device = card->band.device();
    } else if (card) {
      point.device = CardJudge(steps, card->device, step.given).Alone(*ends, point.batch).band.device();
    } else {
      point.device = WithoutCard(*ends, point.batch, steps, step.given, step.context).band.device();
    }
  });
  return chart;
}

}  // namespace vramplan
