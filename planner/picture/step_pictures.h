// StepPictures: what a page or an SVG shows of one step, made from its Timeline by one more replay.
#pragma once

#include <optional>
#include <string>

#include "planner/picture/held.h"
#include "planner/picture/page.h"
#include "planner/picture/step_chart.h"
#include "planner/spec/device.h"

namespace vramplan {

struct StepPictures {
  StepChart chart;
  HeldNode held;
  Markup segments;
};

// What the pictures say beside the step.
struct StepFrame {
  std::string title;  // "unet.onnx at batch 38 on Tesla T4"
  Bytes context;
  std::optional<Device> device;
  bool train = true;
};

// `place`: of the peak that a replay finds, in words.
using PlaceWords = std::function<std::string(const Peak& peak)>;
StepPictures PicturesOf(const Subject& subject, const StepFrame& frame, const PlaceWords& place);

// "unet.onnx at batch 38 on Tesla T4".
std::string TitleOf(const AnswerHead& head, int64_t batch, const std::optional<Device>& device);

// An answer as text that a page takes its words from: nothing is broken or shortened.
inline const Style kWholeLines{.width = 1 << 20, .unicode = true, .verbose = true};

// Adds the sections of the step, of who holds its peak, and of the segments.
void AddPictures(const StepPictures& pictures, Page* page);

}  // namespace vramplan
