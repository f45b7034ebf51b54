// TryOnCard: a step on the fake card; what is seen, and how it ends.
#include "planner/calibration/card_replay.h"

#include <doctest/doctest.h>

#include "tests/support/fake_probe.h"
#include "tests/support/timelines.h"

using namespace vramplan;

namespace {

using End = CardTry::End;

// 4 MiB of parameters; 30 MiB a sample that die in the forward, then 12 MiB a sample until the backward.
const char* const kStep =
    "setup + 0 parameters 4194304\n"
    "forward + 1 activations 31457280*B\n"
    "forward - 1\n"
    "forward + 2 activations 12582912*B\n"
    "forward |\n"
    "backward - 2\n"
    "backward |\n";

struct Tried {
  CardTry tried;
  Bytes held;  // when the session was over
  std::vector<std::string> calls;
};

Tried Try(FakeScript script, int64_t batch, const CardLimits& limits = {}) {
  FakeProbe machine(std::move(script));
  const Timeline timeline = TimelineText(kStep);
  const Peak predicted = Replay(timeline, batch, {}, Bytes::Max());
  Tried result;
  {
    Result<std::unique_ptr<CardSession>> session = machine.Open(0);
    REQUIRE(session.ok());
    result.tried = TryOnCard(&machine, 0, session->get(), timeline, {}, batch, {}, limits, predicted);
  }
  result.held = machine.held();
  result.calls = machine.calls();
  return result;
}

FakeScript CardReplayOneT4() { return {.cards = {FakeT4()}}; }

TEST_CASE("a step on a card: levels, moments, and every byte of every block") {
  const Tried result = Try(CardReplayOneT4(), 1);
  const CardTry& tried = result.tried;
  CHECK(tried.end == End::kRan);
  CHECK(tried.peak.peak == Replay(TimelineText(kStep), 1, {}, Bytes::Max()).peak);
  CHECK(tried.peak.peak.reserved == Bytes::MiB(50));
  CHECK(tried.FellInside() == Bytes::MiB(50));
  CHECK(tried.RoseOutside() == Bytes::MiB(50));
  CHECK(tried.left == Bytes());
  CHECK(result.held == Bytes());

  using Kind = CardMoment::Kind;
  std::vector<Kind> kinds;
  for (const CardMoment& moment : tried.moments) kinds.push_back(moment.kind);
  CHECK(kinds ==
        std::vector<Kind>{Kind::kStart, Kind::kSegment, Kind::kSetup, Kind::kSegment, Kind::kPeak, Kind::kEnd});

  CHECK(tried.blocks == 3);
  CHECK(tried.segments == 2);
  const auto written = [&](Phase phase) { return tried.written[static_cast<size_t>(phase)].work; };
  CHECK(written(Phase::kSetup) == 4 << 20);
  CHECK(written(Phase::kForward) == (30 + 12) << 20);
  CHECK(written(Phase::kBackward) == 0);
  // 5 us a kernel and 240 GB/s.
  CHECK(tried.written[static_cast<size_t>(Phase::kSetup)].seconds == doctest::Approx(5e-6 + (4 << 20) / 240e9));
}

TEST_CASE("a step on a card: how it ends") {
  struct Row {
    const char* what;
    FakeScript script;
    int64_t batch;
    CardLimits limits;
    End end;
    std::optional<Refusal::Cause> cause;
    Bytes others;
  };
  FakeScript grabbed = CardReplayOneT4(), grabbed_little = CardReplayOneT4(), grabbed_less = CardReplayOneT4(),
             pieces = CardReplayOneT4(), lost = CardReplayOneT4();
  // 14'560 MiB are free for us. Batch 480 takes 20 + 14'400.
  grabbed.neighbour = {{2, Bytes::GiB(1)}};
  grabbed_less.neighbour = {{2, Bytes::MiB(100)}};
  grabbed_little.neighbour = {{2, Bytes::MiB(8)}};
  pieces.cards[0].largest_piece = Bytes::GiB(8);
  lost.lost_at = 9;
  const Row rows[] = {
      {"it fits", CardReplayOneT4(), 480, {}, End::kRan, {}, {}},
      {"out of memory in the middle", CardReplayOneT4(), 485, {}, End::kFull, Refusal::Cause::kCard, {}},
      {"a margin", CardReplayOneT4(), 480, {.margin = Bytes::MiB(256)}, End::kFull, Refusal::Cause::kMargin, {}},
      {"a limit", CardReplayOneT4(), 480, {.margin = {}, .most = Bytes::GiB(8)}, End::kFull, Refusal::Cause::kMost, {}},
      {"in pieces", pieces, 480, {}, End::kFull, Refusal::Cause::kFragmented, {}},
      {"a neighbour, and it fails", grabbed, 480, {}, End::kDisturbed, Refusal::Cause::kNeighbour, Bytes::GiB(1)},
      {"a neighbour, and it runs", grabbed_less, 480, {}, End::kRan, {}, Bytes::MiB(100)},
      {"a desktop that redraws", grabbed_little, 480, {}, End::kRan, {}, Bytes()},
      {"the card is lost", lost, 1, {}, End::kFailed, {}, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Tried result = Try(row.script, row.batch, row.limits);
    CHECK(result.tried.end == row.end);
    CHECK(result.tried.others == row.others);
    CHECK(result.tried.refusal.has_value() == row.cause.has_value());
    if (result.tried.refusal && row.cause) CHECK(result.tried.refusal->cause == *row.cause);
    CHECK(result.tried.at.has_value() == (row.end == End::kFull || row.end == End::kDisturbed));
    CHECK(result.tried.error.has_value() == (row.end == End::kFailed));
    CHECK(result.held == Bytes());
  }
  // What others took is not in the step's own number.
  CHECK(Try(grabbed_less, 480).tried.FellInside() == Bytes::MiB(20 + 14400));
}

TEST_CASE("a step on a card that is lost at any call ends with that error, and nothing stays taken") {
  const size_t calls = Try(CardReplayOneT4(), 1).calls.size();
  int lost = 0;
  for (int at = 1; at < static_cast<int>(calls); ++at) {
    FakeScript script = CardReplayOneT4();
    script.lost_at = at;
    const Tried result = Try(script, 1);
    CHECK(result.held == Bytes());
    if (!result.tried.error) continue;  // lost when the session ends
    ++lost;
    CHECK(result.tried.end == End::kFailed);
    CHECK(result.tried.error->code == ErrorCode::kNoCard);
  }
  CHECK(lost > 10);
}

TEST_CASE("a step on a card of which nothing can be seen from outside") {
  FakeScript script = CardReplayOneT4();
  script.hides_used = true;
  const Tried result = Try(script, 1);
  CHECK(result.tried.end == End::kRan);
  CHECK(!result.tried.RoseOutside());
  CHECK(result.tried.FellInside() == Bytes::MiB(50));
}

}  // namespace
