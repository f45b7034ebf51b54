// Watch: the peak of a run of the user's beside what was predicted for the model ("vramplan.watch/1").
//
//   train.py took 5.31 GiB on Tesla T4, 5.36 GiB predicted for unet.onnx at batch 8 (-0.9 %): inside the band
#pragma once

#include <optional>
#include <string>

#include "graph/base/note.h"
#include "planner/calibration/watch.h"
#include "planner/report/estimate.h"

namespace vramplan {

struct WatchReport {
  std::string run;               // "pid 4121", or the command
  std::optional<int> exit_code;  // of the command; nothing: a process that was there
  std::optional<int> signal;     // that ended the command
  WatchResult result;
  std::string card;                           // name of the busiest
  std::optional<Estimate> estimate;           // --model
  std::optional<WatchPrediction> prediction;  // with it
  Explanation explanation;                    // with it
  std::optional<Bytes> saved_context;         // --save
  std::string saved;                          // the file; empty: nothing was saved
  Notes notes;
};

WatchPrediction PredictionOf(const Estimate& estimate);

std::string PrintWatch(const WatchReport& report, const Style& style);
Json ToJson(const WatchReport& report);

}  // namespace vramplan
