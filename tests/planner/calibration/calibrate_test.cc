#include "planner/calibration/calibrate.h"

#include <doctest/doctest.h>

#include "planner/report/json/profile_json.h"
#include "planner/report/writing/json.h"
#include "tests/support/fake_probe.h"

namespace vramplan {
namespace {

Result<Calibration> CalibrateOn(FakeProbe* machine, const std::vector<ConvolutionQuestion>& convolutions = {}) {
  const Result<std::vector<CardFacts>> cards = machine->Cards();
  if (!cards.ok()) return cards.error();
  Result<Calibration> made =
      Calibrate(machine, cards->front(), ContextOf({7, 5}, kNewestFramework), convolutions, "2026-11-22");
  CHECK(machine->held() == Bytes());
  return made;
}

ConvolutionQuestion OneConvolution() {
  ConvolutionQuestion question;
  question.call.input = question.shape.input = {2, 3, 8, 8};
  question.call.filter = question.shape.filter = {4, 3, 3, 3};
  question.call.output = question.shape.output = {2, 4, 8, 8};
  return question;
}

TEST_CASE("a T4") {
  FakeProbe machine({.cards = {FakeT4()}});
  const Result<Calibration> made = CalibrateOn(&machine, {OneConvolution()});
  REQUIRE(made.ok());
  const Profile& profile = made->profile;
  CHECK(profile.name == "Tesla T4");
  CHECK(profile.uuid == "GPU-11111111-2222-3333-4444-555555555555");
  CHECK(profile.capability == Capability{7, 5});
  CHECK(profile.multiprocessors == 40);
  CHECK(profile.usable == Bytes::GiB(15));
  CHECK(profile.date == "2026-11-22");
  CHECK(profile.driver == "580.95.05");
  REQUIRE(profile.context);
  // Above the likely end as wide as the catalogue's band of a T4: 450 - 350.
  CHECK(*profile.context == ContextBand{Bytes::MiB(202), Bytes::MiB(302), Bytes::MiB(402), "measured on 2026-11-22"});
  REQUIRE(profile.rates);
  CHECK(profile.rates->bandwidth == doctest::Approx(240e9));
  CHECK(profile.rates->fp32 == doctest::Approx(7e12));
  CHECK(profile.rates->half == doctest::Approx(40e12));
  REQUIRE(profile.fits.size() == 3);
  CHECK(profile.fits[0].launch == doctest::Approx(5e-6));
  CHECK(profile.fits[0].samples == 20);
  CHECK(profile.convolutions == std::vector<MeasuredConvolution>{{OneConvolution().shape, Bytes::MiB(3)}});
  CHECK(made->unknown == std::vector<std::string>{"tf32: this card, or the probe on it, lacks this arithmetic",
                                                  "bf16: this card, or the probe on it, lacks this arithmetic"});
}

TEST_CASE("what was written reads as the same profile") {
  FakeProbe machine({.cards = {FakeT4()}});
  Result<Calibration> made = CalibrateOn(&machine, {OneConvolution()});
  REQUIRE(made.ok());
  Profile profile = made->profile;
  profile.context->source = "measured on 2026-11-22, t4.json";
  Result<Profile> read = ProfileFromText("t4.json", Print(ToJson(profile)));
  REQUIRE(read.ok());
  CHECK(*read == profile);

  Profile least{.name = "A", .capability = {8, 0}, .multiprocessors = 1, .usable = Bytes::Of(2)};
  read = ProfileFromText("a.json", Print(ToJson(least)));
  REQUIRE(read.ok());
  CHECK(*read == least);
  least.loads = MeasuredLoads{std::nullopt, Bytes::Of(1), std::nullopt, Bytes::Of(3)};
  least.fits = {{"copy", 1.0 / 3, 0, 1e-17, 7}};
  read = ProfileFromText("a.json", Print(ToJson(least)));
  REQUIRE(read.ok());
  CHECK(*read == least);
}

TEST_CASE("rates need copies and fp32") {
  FakeCard card = FakeT4();
  card.rates.erase(Arithmetic::kFp32);
  FakeProbe machine({.cards = {card}});
  const Result<Calibration> made = CalibrateOn(&machine);
  REQUIRE(made.ok());
  CHECK_FALSE(made->profile.rates);
  CHECK(made->unknown.back() == "rates: without copies and fp32 the catalogue's rates stay in use");
  card.rates = {{Arithmetic::kFp32, 7e12}, {Arithmetic::kBf16, 30e12}};
  FakeProbe brain({.cards = {card}});
  CHECK(CalibrateOn(&brain)->profile.rates->half == doctest::Approx(30e12));
  card.rates = {{Arithmetic::kFp32, 7e12}};
  FakeProbe plain({.cards = {card}});
  CHECK(CalibrateOn(&plain)->profile.rates->half == doctest::Approx(7e12));
}

TEST_CASE("what a card cannot say is said") {
  FakeCard card = FakeT4();
  card.has_cudnn = false;
  FakeProbe machine({.cards = {card}, .hides_used = true});
  const Result<Calibration> made = CalibrateOn(&machine, {OneConvolution()});
  REQUIRE(made.ok());
  CHECK_FALSE(made->profile.context);
  CHECK(made->profile.convolutions.empty());
  CHECK(made->unknown.back() == "convolutions: cuDNN is not installed");
}

TEST_CASE("others take nearly all of it between two calls") {
  // After the context: nothing is left to copy in, and computing goes on.
  FakeProbe machine({.cards = {FakeT4()}, .neighbour = {{1, Bytes::GiB(15) - Bytes::MiB(900)}}});
  const Result<Calibration> made = CalibrateOn(&machine);
  REQUIRE(made.ok());
  CHECK(made->profile.memory->largest == Bytes());
  CHECK_FALSE(made->profile.rates);
  CHECK(made->unknown[0] == "copy: no room for two blocks besides the margin");
  CHECK(made->staircase.drift == Bytes::GiB(15) - Bytes::MiB(900));
  CHECK(made->unknown.back() == "memory: the exact amount, because others took 14.12 GiB while it was measured");
}

TEST_CASE("errors leave nothing behind, wherever they come") {
  const Error old{ErrorCode::kNoCard, "driver", "is too old for this program", "install a newer one"};
  FakeProbe too_old({.cards = {FakeT4()}, .driver = old});
  CHECK(CalibrateOn(&too_old).error() == old);
  FakeProbe denied({.cards = {FakeT4()}, .open = old});
  CHECK(CalibrateOn(&denied).error() == old);
  FakeProbe whole({.cards = {FakeT4()}});
  REQUIRE(CalibrateOn(&whole, {OneConvolution()}).ok());
  const int calls = static_cast<int>(whole.calls().size());
  int lost = 0;
  for (int at = 1; at < calls; at = at * 5 / 4 + 1) {
    FakeProbe machine({.cards = {FakeT4()}, .lost_at = at});
    const Result<Calibration> made = CalibrateOn(&machine, {OneConvolution()});
    CAPTURE(at);
    if (made.ok()) break;  // beyond the last call of a session
    CHECK(made.error().code == ErrorCode::kNoCard);
    ++lost;
  }
  CHECK(lost > 15);
}

}  // namespace
}  // namespace vramplan
