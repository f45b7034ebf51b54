#include "planner/report/parts/assumption.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

Bytes MiB(int64_t count) { return Bytes::MiB(count); }

TEST_CASE("moves of the peak alone add up") {
  const std::vector<Assumption> both = {{.low = MiB(90), .likely = MiB(100), .high = MiB(100)},
                                        {.low = MiB(95), .likely = MiB(100), .high = MiB(120)}};
  CHECK(Together(both) == std::pair(MiB(85), MiB(120)));
}

TEST_CASE("two that leave the peak where it is may move it together, in two phases or in one") {
  // The forward is the peak, the backward near it: one lowers the forward, the other the backward.
  const std::vector<Assumption> lower = {
      {.low = MiB(98),
       .likely = MiB(100),
       .high = MiB(100),
       .phases = {{MiB(70), MiB(98)}, {MiB(100), MiB(98)}, {MiB(100), MiB(98)}}},
      {.low = MiB(100),
       .likely = MiB(100),
       .high = MiB(100),
       .phases = {{MiB(100), MiB(60)}, {MiB(100), MiB(98)}, {MiB(100), MiB(98)}}},
  };
  CHECK(Together(lower) == std::pair(MiB(70), MiB(100)));
  // Each lifts the backward to where the forward is.
  const ByPhase lifts = {{MiB(100), MiB(60)}, {MiB(100), MiB(60)}, {MiB(100), MiB(100)}};
  const Assumption one = {.low = MiB(100), .likely = MiB(100), .high = MiB(100), .phases = lifts};
  CHECK(Together({one, one}) == std::pair(MiB(100), MiB(140)));
}

TEST_CASE("what is said elsewhere moves nothing here") {
  const std::vector<Assumption> all = {
      {.low = MiB(10), .likely = MiB(100), .high = MiB(300), .said_elsewhere = true},
      {.low = MiB(95), .likely = MiB(100), .high = MiB(100)},
  };
  CHECK(Together(all) == std::pair(MiB(95), MiB(100)));
  CHECK(Together({}) == std::pair(Bytes(), Bytes()));
}

}  // namespace
}  // namespace vramplan
