// The fake counts like a card does: what the tests of verbs rely on.
#include "tests/support/fake_probe.h"

#include <doctest/doctest.h>

using namespace vramplan;

TEST_CASE("fake probe: a session takes its context and gives all back") {
  FakeProbe machine({.cards = {FakeT4()}});
  const Bytes before = *(*machine.Cards())[0].free;
  {
    Result<std::unique_ptr<CardSession>> session = machine.Open(0);
    REQUIRE(session.ok());
    CHECK((*session)->Free()->free == before - Bytes::MiB(200));
    const std::optional<uint64_t> block = *(*session)->Allocate(Bytes::MiB(3));
    REQUIRE(block);
    CHECK((*session)->Free()->free == before - Bytes::MiB(204));
    CHECK((*session)->Touch(*block, Bytes::MiB(4)).ok());
    CHECK(!(*session)->Touch(*block, Bytes::MiB(5)).ok());
    CHECK(machine.held() == Bytes::MiB(204));
  }
  CHECK(machine.held() == Bytes());
  CHECK(*(*machine.Cards())[0].free == before);
}

TEST_CASE("fake probe: a full card, pieces, neighbours, a lost card") {
  FakeCard pieces = FakeT4();
  pieces.largest_piece = Bytes::GiB(1);
  FakeProbe machine({.cards = {pieces}, .neighbour = {{3, Bytes::GiB(14)}}, .lost_at = 5});
  Result<std::unique_ptr<CardSession>> session = machine.Open(0);
  REQUIRE(session.ok());
  CHECK(!*(*session)->Allocate(Bytes::GiB(2)));  // larger than any piece
  CHECK(*(*session)->Allocate(Bytes::MiB(100)));
  CHECK(!*(*session)->Allocate(Bytes::MiB(200)));  // the neighbour came before this one
  CHECK(*(*session)->Load(CardLibrary::kKernel));
  CHECK((*session)->Free().error().code == ErrorCode::kNoCard);  // the fifth call
}
