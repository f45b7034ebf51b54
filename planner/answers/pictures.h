// Pictures of a step for --format html and svg: the step that an answer is about, drawn with the same card and the
// same allocator, and the batches around it.
#pragma once

#include <optional>

#include "planner/answers/judge.h"
#include "planner/answers/prepare.h"
#include "planner/picture/batch_chart.h"
#include "planner/picture/step_pictures.h"

namespace vramplan {

// A step at one batch, and the card it is on, if there is one.
struct DrawnStep {
  const Prepared& prepared;
  const AnswerHead& head;
  const Timeline& timeline;
  int64_t batch = 1;
  const TrainingSpec& spec;
  const AllocatorConfig& given;  // of the question
  ContextBand context;
  std::optional<Device> device;
};
StepPictures DrawnPictures(const DrawnStep& step);

// Of a script's run, or of its record. `device`: nothing, or one that is never full, has no line.
StepPictures RecordPictures(const Record& record, const std::string& name, const std::optional<Device>& device,
                            ContextBand context, const AllocatorConfig& config);

// The band at batches up to a quarter beyond the one that fails; without a card up to twice the one asked for.
// `card`: judged, and with its batches; nothing: none is named.
Result<BatchChart> BatchesAround(const DrawnStep& step, const std::optional<CardFit>& card);

}  // namespace vramplan
