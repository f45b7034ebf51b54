#include "planner/calibration/loads.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/fake_probe.h"

namespace vramplan {
namespace {

SeenLoads MeasureOn(FakeProbe* machine) {
  const Result<std::vector<CardFacts>> cards = machine->Cards();
  REQUIRE(cards.ok());
  SeenLoads seen = MeasureLoads(machine, cards->front());
  CHECK(machine->held() == Bytes());
  return seen;
}

constexpr MeasuredLoads All() { return {Bytes::MiB(200), Bytes::MiB(2), Bytes::MiB(40), Bytes::MiB(60)}; }

TEST_CASE("context and libraries") {
  FakeProbe machine({.cards = {FakeT4()}});
  const SeenLoads seen = MeasureOn(&machine);
  CHECK(seen.loads == All());
  CHECK(seen.unknown.empty());
  CHECK_FALSE(seen.failed);
}

TEST_CASE("what is not installed") {
  FakeCard card = FakeT4();
  card.has_cublas = card.has_cudnn = false;
  FakeProbe machine({.cards = {card}});
  const SeenLoads seen = MeasureOn(&machine);
  CHECK(seen.loads == MeasuredLoads{Bytes::MiB(200), Bytes::MiB(2), std::nullopt, std::nullopt});
  CHECK(seen.unknown == std::vector<std::string>{"cuBLAS: not installed", "cuDNN: not installed"});
}

TEST_CASE("without NVML the context is not known, the libraries are") {
  FakeProbe machine({.cards = {FakeT4()}, .hides_used = true});
  const SeenLoads seen = MeasureOn(&machine);
  CHECK_FALSE(seen.loads.context);
  CHECK(seen.loads.cudnn == Bytes::MiB(60));
  REQUIRE(seen.unknown.size() == 1);
  CHECK(seen.unknown[0].starts_with("context: the driver does not say"));
}

TEST_CASE("a card that is full, a context that is refused, a card that is lost") {
  FakeCard full = FakeT4();
  full.facts.usable = Bytes::MiB(700);
  FakeProbe no_room({.cards = {full}});
  CHECK(ToString(MeasureOn(&no_room).failed.value()).find("no memory is left for a context") != std::string::npos);

  full.facts.usable = Bytes::MiB(830);  // a context and the kernel, but not cuBLAS
  FakeProbe half_way({.cards = {full}});
  const SeenLoads some = MeasureOn(&half_way);
  CHECK(some.loads == MeasuredLoads{Bytes::MiB(200), Bytes::MiB(2), std::nullopt, std::nullopt});
  REQUIRE(some.failed);
  CHECK(some.failed->subject == "cuBLAS");

  const Error refused{ErrorCode::kNoCard, "card 0", "permission denied", "ask for the video group"};
  FakeProbe denied({.cards = {FakeT4()}, .open = refused});
  CHECK(MeasureOn(&denied).failed == refused);

  for (int at = 1; at <= 9; ++at) {
    FakeProbe lost({.cards = {FakeT4()}, .lost_at = at});
    CHECK(MeasureOn(&lost).failed);
  }
}

// Others take this much whenever somebody looks from outside.
class Restless final : public Probe {
 public:
  Restless(Probe* machine, Bytes each, int times) : machine_(machine), each_(each), times_(times) {}
  Result<DriverFacts> Driver() override { return machine_->Driver(); }
  Result<std::vector<CardFacts>> Cards() override { return machine_->Cards(); }
  Result<std::unique_ptr<CardSession>> Open(int card) override { return machine_->Open(card); }
  Result<std::optional<Bytes>> Used(int card) override {
    if (times_-- > 0) grown_ += each_;
    const Result<std::optional<Bytes>> used = machine_->Used(card);
    return used.ok() && *used ? Result<std::optional<Bytes>>(std::optional(**used + grown_)) : used;
  }
  Result<std::optional<std::vector<Holder>>> Holders(int card) override { return machine_->Holders(card); }
  void Wait(double seconds) override { machine_->Wait(seconds); }

 private:
  Probe* machine_;
  Bytes each_, grown_;
  int times_;
};

TEST_CASE("others take memory meanwhile: looked at again, and said when it does not end") {
  FakeProbe machine({.cards = {FakeT4()}});
  const CardFacts card = machine.Cards().value().front();
  Restless at_first(&machine, Bytes::MiB(64), 2);
  SeenLoads seen = MeasureLoads(&at_first, card);
  CHECK(seen.loads == All());
  CHECK(seen.unknown.empty());
  Restless always(&machine, Bytes::MiB(64), 100);
  seen = MeasureLoads(&always, card);
  CHECK(seen.loads.context == Bytes::MiB(264));
  REQUIRE(seen.unknown.size() == 1);
  CHECK(seen.unknown[0] == "context and libraries: others took 128.00 MiB meanwhile, which may be in the numbers");
  CHECK(machine.held() == Bytes());
}

}  // namespace
}  // namespace vramplan
