// watch, as it is typed: real processes, a fake card.
#include <doctest/doctest.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "planner/scripts/process_tree.h"
#include "planner/scripts/started_command.h"
#include "tests/support/command_line.h"
#include "tests/support/fake_probe.h"

namespace vramplan::testing {
namespace {

// A command that runs until it has been looked at.
class ShellCommand {
 public:
  explicit ShellCommand(const std::string& last = "")
      : over_("watch_over_" + std::to_string(++count_)),
        script_("watch_run_" + std::to_string(count_) + ".sh",
                "while [ ! -s " + over_.path() + " ]; do sleep 0.02; done\n" + last + "\n") {}
  void End() const { std::ofstream(over_.path()) << "over"; }
  // One word: ${IFS} stands for the space of the shell.
  std::string typed() const { return "--command .${IFS}" + script_.path(); }

 private:
  static inline int count_ = 0;
  ScratchFile over_, script_;
};

// A machine on which the watched process holds `bytes`, beside Xorg's 100 MiB. Waiting takes a hundredth of the time.
class Machine final : public Probe {
 public:
  explicit Machine(Bytes bytes) : fake_({.cards = {FakeT4()}}), bytes_(bytes) {}
  Result<DriverFacts> Driver() override { return fake_.Driver(); }
  Result<std::vector<CardFacts>> Cards() override {
    Result<std::vector<CardFacts>> cards = fake_.Cards();
    if (several) {
      cards->push_back(cards->front());
      cards->back().index = 1;
      cards->back().name = "Tesla P4";
    }
    return cards;
  }
  Result<std::unique_ptr<CardSession>> Open(int card) override { return fake_.Open(card); }
  Result<std::optional<Bytes>> Used(int card) override {
    if (lost) return Error{ErrorCode::kNoCard, "card 0", "GPU is lost", "see dmesg"};
    if (silent) return std::optional<Bytes>();
    return std::optional(Bytes::MiB(500) + (Present(card) ? bytes_ : Bytes()));
  }
  Result<std::optional<std::vector<Holder>>> Holders(int card) override {
    if (silent || hides_holders) return std::optional<std::vector<Holder>>();
    std::vector<Holder> holders = {{.pid = 2, .name = "Xorg", .bytes = Bytes::MiB(100), .graphics = true}};
    if (Present(card)) holders.push_back({.pid = Watched(), .name = "python3", .bytes = bytes_, .compute = true});
    return std::optional(holders);
  }
  void Wait(double seconds) override {
    constexpr int kEnough = 2;
    if (++waits == kEnough && ends != nullptr) ends->End();
    usleep(static_cast<useconds_t>(1e4 * seconds));
  }

  int64_t pid = 0;                     // of the run; 0: the first child of this process
  int on = 0;                          // which card
  const ShellCommand* ends = nullptr;  // after the second look at the run
  bool several = false, silent = false, hides_holders = false, lost = false;
  int waits = 0;

 private:
  // The command comes after the first look.
  bool Present(int card) { return card == on && (pid != 0 || (ends != nullptr && Watched() != 0)); }
  int64_t Watched() const {
    if (pid != 0) return pid;
    const std::vector<int64_t> pids = ProcessTree(getpid()).Pids();
    return pids.size() > 1 ? pids[1] : 0;
  }
  FakeProbe fake_;
  Bytes bytes_;
};

// What estimate says of the U-Net at batch 2 on this card.
constexpr const char* kModel = "--model MODELS/unet.onnx --batch 2";

int64_t Predicted(Machine* machine) {
  const std::string json = Do(std::string("estimate MODELS/unet.onnx --batch 2 --gpu auto --format json"), machine).out;
  const size_t at = json.find("\"device\": ");
  REQUIRE(at != std::string::npos);
  return std::stoll(json.substr(at + 10));
}

TEST_CASE("watch: a process beside what was predicted for it") {
  const ScratchStore store("watch");
  Machine probe(Bytes::GiB(1));
  const Bytes likely = Bytes::Of(Predicted(&probe));
  struct Row {
    const char* what;
    Bytes takes;
    int exit_code;
    const char* says;
  };
  const Row rows[] = {
      {"as predicted", likely, 0, "(+0.0 %): inside the band"},
      {"too much", likely + Bytes::GiB(2), 3, "above the band, explained by: reserved"},
      {"nearly nothing", Bytes::MiB(200), 3, "below the band, explained by: context"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.what));
    Machine machine(row.takes);
    machine.pid = getpid();
    const Said said = Do("watch " + std::to_string(getpid()) + " --seconds 0.01 " + kModel, &machine);
    INFO(said.out);
    INFO(said.err);
    CHECK(said.exit_code == row.exit_code);
    CHECK(Says(said.out, row.says));
    CHECK(Says(said.out, "the process goes on"));
    CHECK(Says(said.out, "used on the card"));
  }
}

TEST_CASE("watch: without a model it only says what it saw") {
  Machine machine(Bytes::GiB(3));
  machine.pid = getpid();
  const Said said = Do("watch " + std::to_string(getpid()) + " --seconds 0.01", &machine);
  CHECK(said.exit_code == 0);
  CHECK(Says(said.FirstLine(), " took 3.00 GiB on Tesla T4"));
  CHECK(Says(said.out, "other: Xorg"));
}

TEST_CASE("watch --command: it is started after the first look, its exit code is told, its output kept apart") {
  Machine machine(Bytes::GiB(1));
  const ShellCommand command("exit 3");
  machine.ends = &command;
  const Said said = Do("watch --interval 1 " + command.typed(), &machine);
  INFO(said.out);
  INFO(said.err);
  CHECK(said.exit_code == 0);
  CHECK(Says(said.out, "the process ended with exit code 3"));
  CHECK(Says(said.out, " took 1.00 GiB on Tesla T4"));

  const ShellCommand killed("kill -TERM $$");
  machine.ends = &killed;
  machine.waits = 0;
  const Said json = Do("watch --format json " + killed.typed(), &machine);
  CHECK(Says(json.out, "\"schema\": \"vramplan.watch/1\""));
  CHECK(Says(json.out, "\"signal\": 15"));
  CHECK(Says(json.out, "\"exit_code\": null"));
}

TEST_CASE("watch: what the driver will not say") {
  Machine hides(Bytes::GiB(1));
  hides.hides_holders = true;
  const ShellCommand first, second;
  hides.ends = &first;
  const Said difference = Do("watch --interval 1 " + first.typed(), &hides);
  INFO(difference.out);
  CHECK(difference.exit_code == 0);
  CHECK(Says(difference.out, "took 1.00 GiB"));
  CHECK(Says(difference.out, "minus 500.00 MiB that was used before"));

  Machine silent(Bytes::GiB(1));
  silent.silent = true;
  silent.ends = &second;
  const Said nothing = Do("watch --interval 1 " + second.typed(), &silent);
  CHECK(nothing.exit_code == 4);
  CHECK(Says(nothing.FirstLine(), "was not seen on Tesla T4"));

  Machine lost(Bytes::GiB(1));
  lost.pid = getpid();
  lost.lost = true;
  const Said stopped = Do("watch " + std::to_string(getpid()), &lost);
  CHECK(stopped.exit_code == 4);
  CHECK(Says(stopped.out, "stopped: card 0: GPU is lost"));
}

TEST_CASE("watch: of several cards the one that the run is on; --gpu names another") {
  Machine machine(Bytes::GiB(2));
  machine.pid = getpid();
  machine.several = true;
  machine.on = 1;
  const std::string watch = "watch " + std::to_string(getpid()) + " --seconds 0.01";
  CHECK(Says(Do(watch, &machine).FirstLine(), "took 2.00 GiB on Tesla P4"));
  CHECK(Do(watch + " --gpu auto:0", &machine).exit_code == 4);
  CHECK(Do(watch + " --gpu auto:5", &machine).exit_code == 2);
  CHECK(Do(watch + " --gpu t4", &machine).exit_code == 2);
}

TEST_CASE("watch --save: the context of the run goes into the profile that --gpu auto uses") {
  const ScratchStore store("watch_save");
  Machine probe(Bytes::GiB(1));
  // 350 MiB are predicted for a T4.
  Machine machine(Bytes::Of(Predicted(&probe)) - Bytes::MiB(100));
  const ShellCommand command, unsaved;
  machine.ends = &command;
  const Said said = Do("watch --interval 1 --save " + command.typed() + " " + kModel, &machine);
  INFO(said.out);
  INFO(said.err);
  CHECK(said.exit_code == 0);
  CHECK(Says(said.out, "a context of 250.00 MiB is in the profile now: " + store.profiles()));
  Machine later(Bytes::GiB(1));
  CHECK(Predicted(&later) == Predicted(&probe));
  const Said after = Do("estimate MODELS/unet.onnx --batch 2 --gpu auto", &later);
  CHECK(Says(after.out, "context 250.00 MiB"));

  const ScratchStore empty("watch_not_saved");
  machine.ends = &unsaved;
  machine.waits = 0;
  const Said refused = Do("watch --interval 1 --save " + unsaved.typed(), &machine);
  CHECK(Says(refused.err, "--save: it needs --model: without a prediction"));
  CHECK(empty.empty());
}

TEST_CASE("watch: what is typed wrong") {
  Machine machine(Bytes::GiB(1));
  struct Row {
    const char* line;
    int exit_code;
    const char* says;
  };
  const Row rows[] = {
      {"watch", 2, "no process is given"},
      {"watch 12 --command true", 2, "both a process and a command are given"},
      {"watch train.py", 2, "is not the number of a process"},
      {"watch 0", 2, "is not the number of a process"},
      {"watch 2147483646", 1, "no process has this number"},
      {"watch 1 --interval 0", 2, "is not a number of seconds from 0.001 to 60"},
      {"watch 1 --seconds 0", 2, "is not a number of seconds above 0"},
      {"watch --command true --model nowhere.onnx", 1, "nowhere.onnx"},
      {"watch 1 --framework jax", 2, "vramplan knows every single allocation of a step only for PyTorch"},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.line));
    const Said said = Do(row.line, &machine);
    INFO(said.err);
    CHECK(said.exit_code == row.exit_code);
    CHECK(Says(said.err, row.says));
    CHECK(said.out.empty());
  }
}

// Waits until a file has something in it, at most some seconds.
std::string Awaited(const ScratchFile& file) {
  for (int i = 0; i < 5000 && file.Bytes().empty(); ++i) usleep(1000);
  return file.Bytes();
}

TEST_CASE("signals are held while a run is watched, and go to it and to what it started") {
  SignalsHeld signals;
  const ScratchFile ready("watch_ready"), worker("watch_worker");
  const Result<StartedCommand> command =
      StartedCommand::Start("trap 'wait; exit 7' TERM; (trap 'echo ended > " + worker.path() +
                                "; exit' TERM; echo set > " + ready.path() + "; while :; do sleep 0.05; done) & wait",
                            signals);
  REQUIRE(command.ok());
  CHECK(!signals.came());
  CHECK(Awaited(ready) == "set\n");
  CHECK(getpgid(static_cast<pid_t>(command->pid())) == command->pid());
  raise(SIGTERM);
  const StartedCommand::End end = command->Wait();
  CHECK(signals.came());
  CHECK(end.exit_code == 7);
  CHECK(!end.signal);
  CHECK(worker.Bytes() == "ended\n");
}

TEST_CASE("a signal before the command begins means that it does not begin") {
  SignalsHeld signals;
  raise(SIGTERM);
  const ScratchFile ran("watch_ran");
  const Result<StartedCommand> command = StartedCommand::Start("echo ran > " + ran.path(), signals);
  REQUIRE(!command.ok());
  CHECK(ToString(command.error()) == "--command: a signal came before it was started, so it was not started");
  CHECK(ran.Bytes().empty());
}

TEST_CASE("no signal is lost while the command is started") {
  for (int after = 0; after < 40; ++after) {
    SignalsHeld signals;
    const pid_t us = getpid();
    std::thread sender([&] {
      usleep(static_cast<useconds_t>(25 * after));
      kill(us, SIGTERM);
    });
    const Result<StartedCommand> command = StartedCommand::Start("exec sleep 20", signals);
    sender.join();
    if (!command.ok()) continue;
    CHECK(command->Wait().signal == SIGTERM);
  }
}

TEST_CASE("a signal that was ignored before stays so, as nohup wants it") {
  struct sigaction ignore = {}, before = {};
  ignore.sa_handler = SIG_IGN;
  sigaction(SIGHUP, &ignore, &before);
  {
    SignalsHeld signals;
    const Result<StartedCommand> command = StartedCommand::Start("kill -HUP $$; exit 5", signals);
    REQUIRE(command.ok());
    raise(SIGHUP);
    CHECK(command->Wait().exit_code == 5);
    CHECK(!signals.came());
  }
  sigaction(SIGHUP, &before, nullptr);
}

}  // namespace
}  // namespace vramplan::testing
