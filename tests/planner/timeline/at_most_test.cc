#include <doctest/doctest.h>

#include "planner/semantics/cudnn_workspace.h"
#include "planner/timeline/timeline.h"
#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

TEST_CASE("AtMost: cuDNN's workspaces are there at their highest, and nothing else changes") {
  const Layers layers = LayersFromText(R"(
    agraph (float[N, 64, 56, 56] x) => (float[N, 64, 56, 56] y) <float[64, 64, 3, 3] w> {
      y = Conv <pads = [1, 1, 1, 1]> (x, w)
    })");
  TrainingSpec spec;
  spec.mode = Mode::kInfer;
  spec.capability = {7, 5};
  Notes notes;
  const Result<Timeline> likely = Schedule(layers, spec, 8, &notes);
  REQUIRE(likely.ok());
  const Timeline most = AtMost(*likely);
  REQUIRE(most.blocks.size() == likely->blocks.size());
  CHECK(most.events.size() == likely->events.size());
  int workspaces = 0;
  for (size_t i = 0; i < most.blocks.size(); ++i) {
    if (most.blocks[i].category != Category::kWorkspace) {
      CHECK(most.blocks[i] == likely->blocks[i]);
      continue;
    }
    CHECK(likely->blocks[i].bytes.IsZero());
    CHECK(most.blocks[i].bytes == likely->blocks[i].most);
    CHECK(most.blocks[i].bytes.At(8) > Bytes());
    ++workspaces;
  }
  CHECK(workspaces == 2);                // two forwards
  spec.cudnn_workspace = Bytes::MiB(4);  // nothing is left to choose
  const Result<Timeline> given = Schedule(layers, spec, 8, &notes);
  REQUIRE(given.ok());
  CHECK(AtMost(*given).blocks == given->blocks);
}

}  // namespace
}  // namespace vramplan
