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

// What is used grows by so much at each look from outside.
class Growing final : public Probe {
 public:
  Growing(Probe* machine, std::vector<Bytes> by) : machine_(machine), by_(std::move(by)) {}
  Result<DriverFacts> Driver() override { return machine_->Driver(); }
  Result<std::vector<CardFacts>> Cards() override { return machine_->Cards(); }
  Result<std::unique_ptr<CardSession>> Open(int card) override { return machine_->Open(card); }
  Result<std::optional<Bytes>> Used(int card) override {
    grown_ += by_[static_cast<size_t>(looks_++)];
    const Result<std::optional<Bytes>> used = machine_->Used(card);
    return std::optional(**used + grown_);
  }
  Result<std::optional<std::vector<Holder>>> Holders(int card) override { return machine_->Holders(card); }
  void Wait(double seconds) override { machine_->Wait(seconds); }

 private:
  Probe* machine_;
  std::vector<Bytes> by_;
  Bytes grown_;
  int looks_ = 0;
};

TEST_CASE("afterwards the card is as before, or the context stays, or others were at it") {
  struct Row {
    Bytes before_close, after_close, drift;
  };
  for (const Row& row : {Row{Bytes(), Bytes(), Bytes()}, Row{Bytes(), Bytes::MiB(200), Bytes()},
                         Row{Bytes(), Bytes::MiB(64), Bytes::MiB(64)}, Row{Bytes(), Bytes::MiB(-64), Bytes::MiB(-64)},
                         Row{Bytes(), Bytes::MiB(230), Bytes::MiB(30)}, Row{Bytes(), Bytes::MiB(1), Bytes()},
                         Row{Bytes::MiB(64), Bytes::MiB(64), Bytes::MiB(128)}}) {
    CAPTURE(row.after_close.count());
    FakeProbe machine({.cards = {FakeT4()}});
    Growing growing(&machine, {Bytes(), row.before_close, row.after_close});
    const SeenLoads seen = MeasureLoads(&growing, machine.Cards().value().front());
    CHECK(seen.loads.context == Bytes::MiB(200) + row.before_close);
    CHECK(seen.drift == row.drift);
    CHECK(machine.held() == Bytes());
  }
  CHECK(DriftText(Bytes::MiB(64)) ==
        "context and libraries: the exact amount, because others took 64.00 MiB meanwhile");
  CHECK(DriftText(Bytes::MiB(-64)) ==
        "context and libraries: the exact amount, because others gave back 64.00 MiB meanwhile");
}

TEST_CASE("more is measured on the same session, when all is loaded") {
  FakeProbe machine({.cards = {FakeT4()}});
  const CardFacts card = machine.Cards().value().front();
  const SeenLoads seen = MeasureLoads(&machine, card, [&](CardSession*) -> Status {
    CHECK(machine.held() == Bytes::MiB(302));
    return Done();
  });
  CHECK(seen.loads == All());
  CHECK(machine.held() == Bytes());
  const Error wrong{ErrorCode::kNoCard, "card", "is lost", ""};
  CHECK(MeasureLoads(&machine, card, [&](CardSession*) -> Status { return wrong; }).failed == wrong);
  CHECK(machine.held() == Bytes());
}

}  // namespace
}  // namespace vramplan
