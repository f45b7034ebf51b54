#include "planner/picture/step_pictures.h"

#include "planner/picture/icicle.h"
#include "planner/picture/segment_chart.h"
#include "planner/report/parts/breakdown.h"

namespace vramplan {

StepPictures PicturesOf(const Subject& subject, const StepFrame& frame, const PlaceWords& place) {
  PeakSegments at_peak;
  const Peak peak = Replay(subject.timeline, subject.batch, subject.config, subject.capacity, &at_peak);
  StepPictures pictures;
  StepChart& chart = pictures.chart;
  chart.series = SeriesOf(subject, peak);
  chart.context = frame.context;
  chart.device = DeviceBytes(peak, frame.context);
  if (frame.device) {
    chart.card = frame.device->available();
    chart.card_name = frame.device->name;
  }
  chart.title = frame.title;
  chart.place = place(peak);
  chart.train = frame.train;
  pictures.held = HeldAt(subject, peak.moment);
  pictures.segments = DrawSegments(subject, at_peak, peak.moment);
  return pictures;
}

std::string TitleOf(const AnswerHead& head, int64_t batch, const std::optional<Device>& device) {
  std::string title = FileName(head.model.file);
  if (head.model.has_batch) title += " at batch " + std::to_string(batch);
  if (device) title += " on " + device->name;
  return title;
}

void AddPictures(const StepPictures& pictures, Page* page) {
  const StepChart& chart = pictures.chart;
  page->Add("Memory over the step", chart.title + ", stacked by what it is for.", DrawStep(chart));
  page->Add(
      "Who holds it at the peak",
      "Modules and what belongs to them, " + ToString(pictures.held.bytes) + " requested in all; a click unfolds.",
      DrawHeld(pictures.held));
}

}  // namespace vramplan
