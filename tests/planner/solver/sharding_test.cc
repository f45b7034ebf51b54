#include "planner/solver/sharding.h"

#include <doctest/doctest.h>

#include "tests/support/timelines.h"

namespace vramplan {
namespace {

TEST_CASE("the parts of a step at their highest") {
  const StepParts parts = PartsOf(TimelineText("setup + 0 parameters 4000\n"
                                               "forward + 1 activations 100*B\n"
                                               "forward |\n"
                                               "backward + 2 gradients 4000\n"
                                               "backward - 1\n"
                                               "backward |\n"
                                               "update + 3 optimizer_state 8000\n"
                                               "update + 4 temporaries 4000\n"
                                               "update - 4\n"
                                               "update - 2\n"),
                                  3);
  CHECK_EQ(parts.parameters, Bytes::Of(4000));
  CHECK_EQ(parts.gradients, Bytes::Of(4000));
  CHECK_EQ(parts.optimizer_state, Bytes::Of(8000));
  CHECK_EQ(parts.rest, Bytes::Of(300));
}

TEST_CASE("ZeRO: cards at each stage") {
  const StepParts parts{Bytes::GiB(6), Bytes::GiB(6), Bytes::GiB(12), Bytes::GiB(3)};
  struct Row {
    int64_t capacity;
    std::array<std::optional<int64_t>, 3> cards;
  };
  const Row kRows[] = {{15, {std::nullopt, 3, 2}}, {16, {12, 3, 2}}, {27, {1, 1, 1}}, {3, {}}};
  for (const Row& row : kRows) {
    CAPTURE(row.capacity);
    CHECK(CardsUnderZero(parts, Bytes::GiB(row.capacity)) == row.cards);
  }
  CHECK_EQ(ExceedsAlone(parts, Bytes::GiB(11)), "optimizer states alone need 12.00 GiB");
  CHECK_EQ(ExceedsAlone(parts, Bytes::GiB(15)), "");
  CHECK_EQ(ZeroInWords(parts, Bytes::GiB(15)),
           "with ZeRO and this batch on each card it takes 3 cards at stage 2, 2 at stage 3; stage 1 does not fit on "
           "any number");
  CHECK_EQ(ZeroInWords(parts, Bytes::GiB(27)),
           "with ZeRO and this batch on each card it takes 1 card at stage 1, 1 at stage 2, 1 at stage 3");
  CHECK_EQ(ZeroInWords(parts, Bytes::GiB(3)),
           "no number of cards helps: activations and temporaries alone need 3.00 GiB");
}

}  // namespace
}  // namespace vramplan
