#include <doctest/doctest.h>

#include "planner/timeline/timeline.h"

namespace vramplan {
namespace {

TEST_CASE("requested levels are running sums by power of the batch") {
  Timeline timeline;
  const auto block = [&](Dim bytes) {
    timeline.blocks.push_back({.bytes = SizeExpr::Of(DType::kUint8, bytes), .category = Category::kActivations});
    return BlockId{static_cast<int32_t>(timeline.blocks.size()) - 1};
  };
  const BlockId a = block(Dim::Polynomial(100, 0, 0)), b = block(Dim::Polynomial(5, 20, 0)),
                c = block(Dim::Polynomial(0, 1, 3));
  const auto event = [&](EventKind kind, BlockId id) {
    timeline.events.push_back({kind, Phase::kForward, Category::kActivations, 1, id});
  };
  event(EventKind::kAllocate, a);
  event(EventKind::kAllocate, b);
  event(EventKind::kRetag, b);
  event(EventKind::kAllocate, c);
  event(EventKind::kAfterForward, BlockId());
  event(EventKind::kFree, b);
  const std::vector<RequestedLevel> levels = RequestedLevels(timeline);
  CHECK(levels ==
        std::vector<RequestedLevel>{{100, 0, 0}, {105, 20, 0}, {105, 20, 0}, {105, 21, 3}, {105, 21, 3}, {100, 1, 3}});
  CHECK(levels[3].At(10) == 105 + 210 + 300);
}

}  // namespace
}  // namespace vramplan
