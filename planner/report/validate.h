// Validate: what was predicted of a step on this machine's card beside what the card did ("vramplan.validate/1").
//
//   unet.onnx at batch 38 on Tesla T4: agrees: 14.31 GiB on the card, 14.43 GiB predicted (-0.8 %); largest batch 38,
//   38 predicted
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda_probe/facts.h"
#include "graph/base/note.h"
#include "planner/calibration/validation.h"
#include "planner/report/estimate.h"

namespace vramplan {

struct ValidateReport {
  AnswerHead head;
  Device device;
  std::optional<int> card;  // its number on this machine; nothing: a dry run on a card that is not here
  DriverFacts driver;
  CardLimits limits;
  Prediction prediction;
  // Of the step at the batch: requests, and the bytes that are written.
  int64_t allocations = 0;
  Bytes written;
  int most_tries = 0;               // when the prediction is wrong
  std::optional<Observation> seen;  // nothing: a dry run
  Judgement judgement;
  // Of the card, when the session was over: zero unless something is wrong. Nothing: the driver does not say.
  std::optional<Bytes> left_behind;
  Notes notes;
};

// A level beside itself.
struct LevelRow {
  std::string level;
  std::optional<Bytes> predicted, seen;
  bool operator==(const LevelRow&) const = default;
};
std::vector<LevelRow> LevelRows(const Prediction& prediction, const Observation& seen);

std::string PrintValidate(const ValidateReport& report, const Style& style);
Json ToJson(const ValidateReport& report);

}  // namespace vramplan
