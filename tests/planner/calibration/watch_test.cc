// Watch: samples of scripted machines in; peaks, sources and explanations out.
#include "planner/calibration/watch.h"

#include <doctest/doctest.h>

#include <functional>

using namespace vramplan;

namespace {

// Frame by frame, one a look; the last one stays.
struct Frame {
  std::optional<Bytes> used;
  std::optional<std::vector<Holder>> holders;
  std::vector<int64_t> pids;  // of the run; empty: it is over
};

class Machine final : public Probe, public WatchedRun {
 public:
  explicit Machine(std::vector<Frame> given) : frames(std::move(given)) {}
  Result<DriverFacts> Driver() override { return DriverFacts(); }
  Result<std::vector<CardFacts>> Cards() override { return std::vector<CardFacts>(1); }
  Result<std::unique_ptr<CardSession>> Open(int) override { return Error{ErrorCode::kNoCard, "card", "not asked", ""}; }
  Result<std::optional<Bytes>> Used(int) override {
    if (lost_at && at >= *lost_at) return Error{ErrorCode::kNoCard, "card 0", "GPU is lost", ""};
    return frame().used;
  }
  Result<std::optional<std::vector<Holder>>> Holders(int) override { return frame().holders; }
  void Wait(double seconds) override {
    waited += seconds;
    ++at;
  }
  std::vector<int64_t> Pids() override { return at >= frames.size() ? std::vector<int64_t>() : frame().pids; }

  std::vector<Frame> frames;
  size_t at = 0;
  std::optional<size_t> lost_at;
  double waited = 0;

 private:
  const Frame& frame() const { return frames[std::min(at, frames.size() - 1)]; }
};

Holder Holds(int64_t pid, const char* name, std::optional<Bytes> bytes) {
  return {.pid = pid, .name = name, .bytes = bytes, .compute = true};
}

constexpr int64_t kOurs = 50, kLoader = 51, kOther = 9;

WatchResult Do(Machine* machine, const WatchWishes& wishes = {}, const std::function<bool()>& interrupted = nullptr) {
  return Watch(
      machine, {0}, machine, wishes, nullptr, [machine] { return machine->waited; },
      interrupted ? interrupted : [] { return false; });
}

// Another program holds 1 GiB, the driver 100 MiB; ours comes with a context, grows, and ends.
std::vector<Frame> Run() {
  const auto other = Holds(kOther, "Xorg", Bytes::GiB(1));
  const Bytes base = Bytes::MiB(1124);
  return {{base, {{other}}, {kOurs}},
          {base + Bytes::MiB(300), {{other, Holds(kOurs, "python3", Bytes::MiB(300))}}, {kOurs}},
          {base + Bytes::GiB(5), {{other, Holds(kOurs, "python3", Bytes::GiB(5))}}, {kOurs, kLoader}},
          {base + Bytes::GiB(4), {{other, Holds(kOurs, "python3", Bytes::GiB(4))}}, {kOurs}}};
}

TEST_CASE("watch: the peak of a process, by what the driver says of it") {
  Machine machine(Run());
  const WatchResult result = Do(&machine);
  CHECK(result.end == WatchResult::End::kOver);
  const Watched& seen = result.busiest();
  CHECK(seen.samples == 4);
  CHECK(seen.source == WatchSource::kProcesses);
  CHECK(seen.peak == Bytes::GiB(5));
  CHECK(seen.peak_at == doctest::Approx(0.2));
  CHECK(seen.before == Bytes::MiB(1124));
  CHECK(seen.used_at_peak == Bytes::MiB(1124) + Bytes::GiB(5));
  CHECK(!seen.there_before);
  REQUIRE(seen.processes.size() == 2);
  CHECK(seen.processes[0] ==
        WatchedProcess{kOurs, "python3", true, 0.1, Bytes::MiB(300), Bytes::GiB(5), Bytes::GiB(5)});
  CHECK(seen.processes[1] == WatchedProcess{kOther, "Xorg", false, 0, Bytes::GiB(1), Bytes::GiB(1), Bytes::GiB(1)});
}

TEST_CASE("watch: descendants count, also when another process has gone") {
  std::vector<Frame> frames = Run();
  frames[2].holders->push_back(Holds(kLoader, "python3", Bytes::MiB(500)));
  Machine machine(frames);
  const Watched seen = Do(&machine).busiest();
  CHECK(seen.peak == Bytes::GiB(5) + Bytes::MiB(500));
  CHECK(seen.Ours().size() == 2);
}

TEST_CASE("watch: without bytes by process it is the card's use, less what was used before") {
  for (const bool container : {true, false}) {
    CAPTURE(container);
    std::vector<Frame> frames = Run();
    for (Frame& frame : frames) {
      if (container) {
        frame.holders = std::vector<Holder>{Holds(70000, "", Bytes::GiB(2))};  // a number of another namespace
      } else {
        frame.holders.reset();  // insufficient permissions
      }
    }
    Machine machine(frames);
    const Watched seen = Do(&machine).busiest();
    CHECK(seen.source == WatchSource::kDifference);
    CHECK(seen.peak == Bytes::GiB(5));
    CHECK(seen.peak_at == doctest::Approx(0.2));
  }
}

TEST_CASE("watch: when the driver names the process but not its bytes") {
  std::vector<Frame> frames = Run();
  for (Frame& frame : frames) {
    for (Holder& holder : *frame.holders) holder.bytes.reset();
  }
  Machine machine(frames);
  const Watched seen = Do(&machine).busiest();
  CHECK(seen.source == WatchSource::kDifference);
  CHECK(!seen.processes[0].highest);
}

TEST_CASE("watch: a run that uses no card is not seen") {
  std::vector<Frame> frames = Run();
  for (Frame& frame : frames) frame = {Bytes::GiB(1), std::vector<Holder>(), {kOurs}};
  Machine machine(frames);
  CHECK(Do(&machine).busiest().source == WatchSource::kNothing);
  for (Frame& frame : machine.frames) frame.used.reset();
  machine.at = 0;
  CHECK(Do(&machine).busiest().source == WatchSource::kNothing);
}

TEST_CASE("watch: how it ends") {
  Machine gone(Run());
  gone.at = 4;
  CHECK(Do(&gone).end == WatchResult::End::kOver);
  CHECK(Do(&gone).busiest().samples == 0);

  Machine timed(Run());
  const WatchResult at_time = Do(&timed, {.interval = 0.1, .seconds = 0.15});
  CHECK(at_time.end == WatchResult::End::kTime);
  CHECK(at_time.busiest().samples == 3);

  Machine stopped(Run());
  int asked = 0;
  CHECK(Do(&stopped, {}, [&] { return ++asked == 2; }).end == WatchResult::End::kInterrupted);

  Machine lost(Run());
  lost.lost_at = 2;
  const WatchResult failed = Do(&lost);
  CHECK(failed.end == WatchResult::End::kFailed);
  CHECK(failed.error->text == "GPU is lost");
  CHECK(failed.busiest().peak == Bytes::MiB(300));
}

TEST_CASE("watch: a command begins after the first look, which says what was there before") {
  Machine machine(Run());
  machine.frames[0].holders->push_back(Holds(kLoader, "old", Bytes::MiB(64)));
  bool began = false;
  const WatchResult result = Watch(
      &machine, {0}, &machine, {}, [&] { began = true; }, [&] { return machine.waited; }, [] { return false; });
  CHECK(began);
  CHECK(result.busiest().samples == 5);
  CHECK(result.busiest().before == Bytes::MiB(1124));
}

// 4 GiB allocated, 4.5 reserved, a context of 350 MiB (200 to 450), weights of 1 GiB.
WatchPrediction WatchPredicted() {
  WatchPrediction prediction;
  prediction.levels = {Bytes::MiB(3900), Bytes::GiB(4), Bytes::MiB(4608)};
  prediction.context_low = Bytes::MiB(200);
  prediction.context_likely = Bytes::MiB(350);
  prediction.context_high = Bytes::MiB(450);
  prediction.device_low = Bytes::MiB(4808);
  prediction.device_likely = Bytes::MiB(4958);
  prediction.device_high = Bytes::MiB(5058);
  prediction.weights = Bytes::GiB(1);
  return prediction;
}

Watched Took(Bytes peak, Bytes first = Bytes::MiB(300)) {
  Watched seen;
  seen.source = WatchSource::kProcesses;
  seen.peak = peak;
  seen.processes = {{kOurs, "python3", true, 0, first, peak, peak}};
  return seen;
}

TEST_CASE("explain: which level the difference belongs to") {
  using enum Explanation::Place;
  Watched two = Took(Bytes::MiB(5900));
  two.processes[0].at_peak = Bytes::MiB(4950);
  two.processes.push_back({kLoader, "python3", true, 0, Bytes::MiB(950), Bytes::MiB(950), Bytes::MiB(950)});
  Watched whole_card = Took(Bytes::GiB(7));
  whole_card.source = WatchSource::kDifference;
  Watched unseen;
  struct Row {
    const char* what;
    Watched seen;
    Explanation::Place place;
    const char* level;
    const char* says;
  };
  const Row rows[] = {
      {"as predicted", Took(Bytes::MiB(4950)), kInside, "", "nothing to explain"},
      {"at the ends of the band", Took(Bytes::MiB(4808)), kInside, "", ""},
      {"at the other end", Took(Bytes::MiB(5058)), kInside, "", ""},
      {"two contexts", two, kAbove, "processes", "python3 (pid 51) with 950.00 MiB"},
      {"a large context", Took(Bytes::MiB(5400), Bytes::MiB(800)), kAbove, "context", "800.00 MiB"},
      {"a model that is there at the first look", Took(Bytes::MiB(4958 + 2000), Bytes::GiB(3)), kAbove, "reserved",
       "of the 1.95 GiB"},
      {"a second model", Took(Bytes::MiB(4958 + 1030)), kAbove, "allocated", "one more copy of the weights (1.00 GiB)"},
      {"something else", Took(Bytes::MiB(4958 + 2000)), kAbove, "reserved", "100.00 MiB of the 1.95 GiB at most"},
      {"others, perhaps", whole_card, kAbove, "others", "2.16 GiB more than predicted"},
      {"a context and nothing else", Took(Bytes::MiB(440)), kBelow, "context", "no more than a context"},
      {"less fragmentation", Took(Bytes::MiB(4500)), kBelow, "reserved", "4.00 GiB"},
      {"fewer tensors", Took(Bytes::MiB(3000)), kBelow, "allocated", "a smaller batch"},
      {"never seen", unseen, kUnseen, "", "was not seen"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Explanation said = Explain(row.seen, WatchPredicted());
    CHECK(Name(said.place) == Name(row.place));
    CHECK(said.level == row.level);
    CAPTURE(said.text);
    CHECK(said.text.find(row.says) != std::string::npos);
  }
}

TEST_CASE("the context of a run: only when it can be one") {
  CHECK(ContextOfRun(Took(Bytes::MiB(4608 + 280)), WatchPredicted()) == Bytes::MiB(280));
  CHECK(ContextOfRun(Took(Bytes::MiB(4608 + 100)), WatchPredicted()) == Bytes::MiB(100));
  CHECK(!ContextOfRun(Took(Bytes::MiB(4608 + 99)), WatchPredicted()));
  CHECK(ContextOfRun(Took(Bytes::MiB(4608 + 900)), WatchPredicted()) == Bytes::MiB(900));
  CHECK(!ContextOfRun(Took(Bytes::MiB(4608 + 901)), WatchPredicted()));
  CHECK(!ContextOfRun(Took(Bytes::MiB(4000)), WatchPredicted()));
  Watched other = Took(Bytes::MiB(4608 + 280));
  other.source = WatchSource::kDifference;
  CHECK(!ContextOfRun(other, WatchPredicted()));
  Watched two = Took(Bytes::MiB(4608 + 280));
  two.processes.push_back({kLoader, "python3", true, 0, Bytes::MiB(1), Bytes::MiB(1), Bytes::MiB(1)});
  CHECK(!ContextOfRun(two, WatchPredicted()));
}

}  // namespace
