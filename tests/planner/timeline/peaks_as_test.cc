// A step that is asked for its peaks alone has those of its timeline.
#include <doctest/doctest.h>

#include <string>

#include "planner/allocator/replay.h"
#include "planner/timeline/name_ends.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

TEST_CASE("PeaksAs gives the peaks of what ScheduleAs lays out") {
  for (const char* model : {"mobilenet_v2.ts-train", "gpt_small.ts-train", "unet_bilinear.dynamo-train"}) {
    const std::string path = DataFolder() + "/zoo/" + model + ".onnx";
    Result<Layers> layers = LayersOf(path, "");
    if (!layers.ok()) layers = LayersOf(path, "sequence=128");
    REQUIRE(layers.ok());
    const Lifetimes lifetimes = LifetimesOf(*layers);
    for (const Mode mode : {Mode::kTrain, Mode::kInfer}) {
      for (const int accumulate : {1, 4}) {
        CAPTURE(model);
        CAPTURE(accumulate);
        TrainingSpec spec;
        spec.mode = mode;
        spec.accumulate = accumulate;
        spec.inplace = Inplace::kOff;
        const Result<Timeline> timeline = ScheduleAs(lifetimes.most, *layers, spec, 3, nullptr);
        REQUIRE(timeline.ok());
        const Result<PeaksByPhase> peaks = PeaksAs(lifetimes.most, *layers, spec, 3, nullptr);
        REQUIRE(peaks.ok());
        CHECK(peaks->Peak() == RequestedPeak(*timeline, 3));
        CHECK(peaks->All() == PeaksByPhaseOf(*timeline, 3).All());
      }
    }
  }
}

}  // namespace
}  // namespace vramplan::testing
