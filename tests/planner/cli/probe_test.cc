#include "planner/report/probe.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"
#include "tests/support/fake_probe.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScratchStore;

bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_CASE("probe: every fact of a card") {
  const ScratchStore store("probe");
  FakeProbe machine({.cards = {FakeT4()}});
  const Said said = Do("probe", &machine);
  CHECK(said.exit_code == 0);
  CHECK(said.err.empty());
  CHECK(machine.held() == Bytes());
  CHECK(said.out == testing::Golden("probe/t4", said.out));
}

TEST_CASE("probe --no-context only looks") {
  const ScratchStore store("look");
  FakeProbe machine({.cards = {FakeT4()}});
  const Said said = Do("probe --no-context", &machine);
  CHECK(said.exit_code == 0);
  CHECK_FALSE(Has(said.out, "what a program adds"));
  for (const std::string& call : machine.calls()) CHECK_FALSE(call.starts_with("open"));
}

TEST_CASE("probe: what could not be asked, and why") {
  const ScratchStore store("unknown");
  FakeCard card = FakeT4();
  card.facts.ecc.reset();
  card.facts.display.reset();
  card.facts.reserved.reset();
  card.facts.uuid.clear();
  card.facts.pci.clear();
  card.facts.mig = true;
  card.facts.holders = {{.pid = 7, .compute = true},
                        {.pid = 8, .name = "Xorg", .bytes = Bytes::MiB(100), .graphics = true}};
  card.facts.unknown = {"ECC: insufficient permissions"};
  card.has_cudnn = false;
  FakeProbe machine({.cards = {card}, .hides_used = true});
  const Said said = Do("probe", &machine);
  CHECK(said.exit_code == 0);
  CHECK(said.FirstLine() == "1 card: Tesla T4, the driver does not say how much of 15.00 GiB is free");
  for (const char* part :
       {"card 0: Tesla T4 (a slice of a card)", "uuid         not said", "ECC          not said",
        "display      not said", "catalogue    not in it", "pid 7 (nameless)", "not said  compute", "pid 8 Xorg",
        "graphics", "free, or claimed by nobody", "of the slice", "not known: ECC: insufficient permissions",
        "not known: context: the driver does not say how much was used before it was made",
        "not known: cuDNN: not installed"}) {
    CAPTURE(part);
    CHECK(Has(said.out, part));
  }
}

TEST_CASE("probe: a card that is lost while it is looked at is said, and the others are shown") {
  const ScratchStore store("lost");
  FakeCard second = FakeT4();
  second.facts.uuid = "GPU-2";
  FakeProbe machine({.cards = {FakeT4(), second}, .lost_at = 3});
  const Said said = Do("probe", &machine);
  CHECK(said.exit_code == 0);
  CHECK(said.FirstLine() == "2 cards: Tesla T4, 14.41 GiB of 15.00 GiB free; Tesla T4, 14.41 GiB of 15.00 GiB free");
  CHECK(Has(said.out, "not known: card: the card no longer answers"));
  CHECK(Has(said.out, "card 1: Tesla T4"));
  CHECK(machine.held() == Bytes());
}

TEST_CASE("the rows of who holds the memory sum to the total") {
  const auto sum = [](const CardFacts& card) {
    Bytes total;
    for (const HolderRow& row : HolderRows(card)) total += row.bytes.value_or(Bytes());
    return total;
  };
  CardFacts card = FakeT4().facts;
  CHECK(sum(card) == card.total);
  card.free = Bytes::GiB(14);
  CHECK(sum(card) == card.total);
  card.holders.push_back({.pid = 1, .bytes = Bytes::GiB(3)});  // counted by two drivers
  CHECK(sum(card) == card.total);
  CHECK(HolderRows(card)[3].name == "claimed twice");
  CHECK(*HolderRows(card)[3].bytes < Bytes());
}

TEST_CASE("probe in JSON") {
  const ScratchStore store("json");
  FakeProbe machine({.cards = {FakeT4()}});
  const Said said = Do("probe --format json", &machine);
  CHECK(said.exit_code == 0);
  REQUIRE(ParseJson("probe", said.out).ok());
  for (const char* part :
       {"\"schema\": \"vramplan.probe/1\"", "\"version\": \"580.95.05\"", "\"toolkit\": \"13.0\"", "\"wsl\": false",
        "\"uuid\": \"GPU-11111111-2222-3333-4444-555555555555\"", "\"total_bytes\": 17179869184",
        "\"usable_bytes\": 16106127360", "\"free_bytes\": 15476981760", "\"granularity_bytes\": 2097152",
        "\"pid\": 4121", "\"context_bytes\": 209715200", "\"cudnn_bytes\": 62914560", "\"catalogue_id\": \"t4\"",
        "\"profile\": null"}) {
    CAPTURE(part);
    CHECK(Has(said.out, part));
  }
  FakeCard bare = FakeT4();
  bare.facts.ecc.reset();
  FakeProbe blind({.cards = {bare}, .hides_used = true});
  const Said less = Do("probe --format json --no-context", &blind);
  CHECK(Has(less.out, "\"ecc\": null"));
  CHECK(Has(less.out, "\"free_bytes\": null"));
  CHECK(Has(less.out, "\"loads\": null"));
}

TEST_CASE("probe: no driver, an old one, no permission: exit 4 and the driver's own words") {
  const Error errors[] = {{ErrorCode::kNoCard, "driver", "is too old for this program", "install 525 or newer"},
                          {ErrorCode::kNoCard, "card 0", "insufficient permissions", "join the group video"}};
  for (const Error& error : errors) {
    FakeProbe machine({.cards = {FakeT4()}, .driver = error});
    const Said said = Do("probe", &machine);
    CHECK(said.exit_code == 4);
    CHECK(said.out.empty());
    CHECK(said.err == "vramplan: " + ToString(error) + "\n");
  }
}

}  // namespace
}  // namespace vramplan
