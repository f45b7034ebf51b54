// CardMemory: margins, limits, neighbours, errors; what was taken is given back however it ends.
#include "planner/calibration/card_memory.h"

#include <doctest/doctest.h>

#include "tests/support/fake_probe.h"

using namespace vramplan;

namespace {

using Cause = Refusal::Cause;

// 15 GiB usable, of which python3 holds 600 MiB and our context 200: 14'560 MiB are free.
constexpr Bytes kFree = Bytes::MiB(15 * 1024 - 600 - 200);

struct Opened {
  explicit Opened(FakeScript script) : machine(std::move(script)), session(machine.Open(0).value()) {}
  FakeProbe machine;
  std::unique_ptr<CardSession> session;
};

FakeScript OneT4() { return {.cards = {FakeT4()}}; }

TEST_CASE("card memory: counts what it takes, gives all back at its end") {
  Opened card(OneT4());
  const Bytes before = card.machine.held();
  {
    CardMemory memory(card.session.get(), {});
    CHECK(memory.free() == kFree);
    const std::optional<uint64_t> first = memory.Take(Bytes::MiB(20)), second = memory.Take(Bytes::MiB(2));
    REQUIRE((first && second));
    CHECK(memory.taken() == Bytes::MiB(22));
    CHECK(memory.free() == kFree - Bytes::MiB(22));
    CHECK(memory.segments() == 2);
    memory.GiveBack(*first, Bytes::MiB(20));
    CHECK(memory.taken() == Bytes::MiB(2));
    CHECK(card.machine.held() == before + Bytes::MiB(2));
    CHECK(memory.others() == Bytes());
    CHECK(!memory.error());
  }
  CHECK(card.machine.held() == before);
}

TEST_CASE("card memory: refusals say why") {
  struct Row {
    const char* what;
    CardLimits limits;
    std::optional<Bytes> largest_piece;
    Bytes wanted;
    std::optional<Cause> cause;
  };
  const Row rows[] = {
      {"all that is free", {}, {}, kFree, {}},
      {"more than is free", {}, {}, kFree + Bytes::MiB(2), Cause::kCard},
      {"the margin is touched", {.margin = Bytes::MiB(256)}, {}, kFree - Bytes::MiB(254), Cause::kMargin},
      {"the margin is kept", {.margin = Bytes::MiB(256)}, {}, kFree - Bytes::MiB(256), {}},
      {"above our limit", {.margin = {}, .most = Bytes::GiB(1)}, {}, Bytes::MiB(1026), Cause::kMost},
      {"up to our limit", {.margin = {}, .most = Bytes::GiB(1)}, {}, Bytes::GiB(1), {}},
      {"in no one piece", {}, Bytes::GiB(2), Bytes::GiB(3), Cause::kFragmented},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    FakeScript script = OneT4();
    script.cards[0].largest_piece = row.largest_piece;
    Opened card(std::move(script));
    CardMemory memory(card.session.get(), row.limits);
    const std::optional<uint64_t> address = memory.Take(row.wanted);
    CHECK(address.has_value() == !row.cause.has_value());
    if (!row.cause) continue;
    REQUIRE(memory.refusal());
    CHECK(*memory.refusal() == Refusal{*row.cause, row.wanted, kFree, Bytes()});
    CHECK(memory.taken() == Bytes());
  }
}

TEST_CASE("card memory: a neighbour that grabs memory between two calls is told from a full card") {
  FakeScript script = OneT4();
  script.neighbour = {{2, Bytes::GiB(4)}};
  Opened card(script);
  CardMemory memory(card.session.get(), {});
  REQUIRE(memory.Take(Bytes::MiB(20)));
  // Within this call 4 GiB go; there is enough left.
  REQUIRE(memory.Take(Bytes::GiB(1)));
  CHECK(memory.others() == Bytes::GiB(4));
  CHECK(memory.driver() == Bytes());
  const Bytes left = kFree - Bytes::MiB(20) - Bytes::GiB(5);
  CHECK(!memory.Take(left + Bytes::MiB(2)));
  CHECK(*memory.refusal() == Refusal{Cause::kNeighbour, left + Bytes::MiB(2), left, Bytes::GiB(4)});
  // What would not have fitted without the neighbour either is the card's.
  CHECK(!memory.Take(left + Bytes::GiB(4) + Bytes::MiB(2)));
  CHECK(memory.refusal()->cause == Cause::kCard);
}

TEST_CASE("card memory: small changes are the driver's own") {
  FakeScript script = OneT4();
  script.neighbour = {{1, Bytes::MiB(3)}};
  Opened card(script);
  CardMemory memory(card.session.get(), {});
  REQUIRE(memory.Take(Bytes::MiB(20)));
  CHECK(memory.driver() == Bytes::MiB(3));
  CHECK(memory.others() == Bytes());
}

TEST_CASE("card memory: after an error nothing is taken, and the first error is kept") {
  for (int call = 1; call <= 8; ++call) {
    CAPTURE(call);
    FakeScript script = OneT4();
    script.lost_at = call;
    FakeProbe machine(script);
    {
      Result<std::unique_ptr<CardSession>> session = machine.Open(0);
      REQUIRE(session.ok());
      CardMemory memory(session->get(), {});
      for (int i = 0; i < 3; ++i) memory.Take(Bytes::MiB(20));
      REQUIRE(memory.error());
      CHECK(memory.error()->text == "the card no longer answers (CUDA_ERROR_DEVICE_UNAVAILABLE)");
      CHECK(!memory.Take(Bytes::MiB(2)));
    }
    CHECK(machine.held() == Bytes());
  }
}

}  // namespace
