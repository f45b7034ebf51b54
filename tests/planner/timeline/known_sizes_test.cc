#include "planner/timeline/known_sizes.h"

#include <doctest/doctest.h>

#include "planner/timeline/name_ends.h"
#include "planner/timeline/timeline.h"
#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

TEST_CASE("a tensor of unknown length that takes memory is an error which names it, not a step of 0 B") {
  const std::string text = R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      sizes = Shape (x)
      made = ConstantOfShape (sizes)
      y = Add (x, made)
    })";
  Layers layers = LayersFromText(text);
  TrainingSpec spec;
  spec.mode = Mode::kInfer;
  Notes notes;
  REQUIRE(Schedule(layers, spec, 2, &notes).ok());
  for (Value& value : layers.values) {
    if (value.name == "made") value.shape = Shape{Dim::Unknown(), 4};
  }
  const auto timeline = Schedule(layers, spec, 2, &notes);
  REQUIRE_FALSE(timeline.ok());
  CHECK(timeline.error().text == "the shape of 'made', [?, 4], is not known, so the memory of a step is not either");
  CHECK(timeline.error().hint == "give its lengths: --dim made:0=N");
  const auto peaks = PeaksAs(ReleasesAfter(layers), layers, spec, 2, &notes);
  REQUIRE_FALSE(peaks.ok());
  CHECK(peaks.error().text == timeline.error().text);
}

}  // namespace
}  // namespace vramplan
