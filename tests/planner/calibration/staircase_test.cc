#include "planner/calibration/staircase.h"

#include <doctest/doctest.h>

#include "tests/support/fake_probe.h"

namespace vramplan {
namespace {

// Climbs on card 0 of `script`; the fake afterwards holds nothing.
Result<Staircase> ClimbOn(FakeScript script) {
  FakeProbe machine(std::move(script));
  Result<Staircase> stairs = [&]() -> Result<Staircase> {
    const Result<std::unique_ptr<CardSession>> session = machine.Open(0);
    if (!session.ok()) return session.error();
    Result<Staircase> climbed = ClimbStaircase(session->get());
    // All that is left is the context.
    if (climbed.ok()) CHECK(machine.held() == Bytes::MiB(200));
    return climbed;
  }();
  CHECK(machine.held() == Bytes());
  return stairs;
}

constexpr Bytes kFree = Bytes::GiB(15) - Bytes::MiB(800);  // of the fake T4, less 600 MiB of another and our context

TEST_CASE("a card in one piece") {
  const Result<Staircase> stairs = ClimbOn({.cards = {FakeT4()}});
  REQUIRE(stairs.ok());
  CHECK(stairs->free == kFree);
  CHECK(stairs->steps == std::vector<StairStep>{{Bytes::Of(1), Bytes::MiB(2)},
                                                {Bytes::KiB(512), Bytes::MiB(2)},
                                                {Bytes::MiB(1), Bytes::MiB(2)},
                                                {Bytes::MiB(2) + Bytes::Of(1), Bytes::MiB(4)},
                                                {Bytes::MiB(3), Bytes::MiB(4)},
                                                {Bytes::MiB(5) + Bytes::Of(1), Bytes::MiB(6)}});
  const Bytes margin = MarginOf(kFree);
  CHECK(margin == Bytes::Of(kFree.count() / 32));
  CHECK(stairs->memory.granularity == Bytes::MiB(2));
  CHECK(stairs->memory.margin == margin);
  CHECK(stairs->memory.largest <= kFree - margin);
  CHECK(stairs->memory.largest > kFree - margin - Bytes::MiB(2));
  CHECK(stairs->memory.reachable == kFree);
  CHECK_FALSE(stairs->refused);
  CHECK(stairs->drift == Bytes());
}

TEST_CASE("the margin is never touched") {
  FakeProbe machine({.cards = {FakeT4()}});
  const Result<std::unique_ptr<CardSession>> session = machine.Open(0);
  REQUIRE(session.ok());
  REQUIRE(ClimbStaircase(session->get()).ok());
  const Bytes most = kFree - MarginOf(kFree);
  for (const std::string& call : machine.calls()) {
    if (call.starts_with("allocate ")) CHECK(std::stoll(call.substr(9)) <= most.count());
  }
  CHECK(MarginOf(Bytes::GiB(1)) == Bytes::MiB(256));
}

TEST_CASE("fragmented: the largest block is found, and the rest in pieces") {
  FakeCard card = FakeT4();
  card.largest_piece = Bytes::MiB(102);
  const Result<Staircase> stairs = ClimbOn({.cards = {card}});
  REQUIRE(stairs.ok());
  CHECK(stairs->memory.largest == Bytes::MiB(102));
  CHECK(stairs->memory.reachable == kFree);
}

TEST_CASE("another granularity") {
  FakeCard card = FakeT4();
  card.facts.granularity = Bytes::KiB(64);
  card.context = Bytes::MiB(200);
  const Result<Staircase> stairs = ClimbOn({.cards = {card}});
  REQUIRE(stairs.ok());
  CHECK(stairs->memory.granularity == Bytes::KiB(64));
}

TEST_CASE("a neighbour takes memory between two calls") {
  // The 7th allocation is the first of the bisection, after the six steps.
  const Result<Staircase> stairs = ClimbOn({.cards = {FakeT4()}, .neighbour = {{7, Bytes::GiB(4)}}});
  REQUIRE(stairs.ok());
  CHECK(stairs->drift == Bytes::GiB(4));
  CHECK(stairs->memory.largest <= kFree - Bytes::GiB(4) - stairs->memory.margin);
  CHECK(stairs->memory.largest > Bytes::GiB(9));
  CHECK(stairs->memory.reachable == kFree - Bytes::GiB(4));
  // One that takes all but a little leaves nothing to climb on, and no error.
  const Result<Staircase> none = ClimbOn({.cards = {FakeT4()}, .neighbour = {{1, kFree - Bytes::MiB(8)}}});
  REQUIRE(none.ok());
  CHECK(none->memory.largest == Bytes());
}

TEST_CASE("a card that is lost, at every call, ends it and holds nothing") {
  FakeProbe whole({.cards = {FakeT4()}});
  REQUIRE(ClimbStaircase(whole.Open(0).value().get()).ok());
  const int calls = static_cast<int>(whole.calls().size());
  CHECK(calls > 100);
  for (int at = 1; at < calls - 2; at += 7) {
    CAPTURE(at);
    const Result<Staircase> stairs = ClimbOn({.cards = {FakeT4()}, .lost_at = at});
    REQUIRE_FALSE(stairs.ok());
    CHECK(stairs.error().code == ErrorCode::kNoCard);
  }
}

}  // namespace
}  // namespace vramplan
