#include "planner/report/watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "planner/answers/profile_store.h"
#include "planner/cli/estimate_step.h"
#include "planner/cli/verbs.h"
#include "planner/report/json/profile_json.h"
#include "planner/scripts/process_tree.h"
#include "planner/scripts/started_command.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

constexpr int kOutside = 3, kWatchStopped = 4;

// The process that is watched: it was there, or it is started after the first look.
class ProcessRun final : public WatchedRun {
 public:
  explicit ProcessRun(const SignalsHeld* signals) : signals_(signals) {}
  void Begin(int64_t pid) { tree_.emplace(pid); }
  void Begin(const std::string& command) {
    Result<StartedCommand> started = StartedCommand::Start(command, *signals_);
    if (!started.ok()) {
      error_ = started.error();
      return;
    }
    command_ = *started;
    Begin(command_->pid());
  }
  std::vector<int64_t> Pids() override {
    if (command_) command_->FollowStop();
    return tree_ ? tree_->Pids() : std::vector<int64_t>();
  }
  const std::optional<StartedCommand>& command() const { return command_; }
  const std::optional<Error>& error() const { return error_; }

 private:
  const SignalsHeld* signals_;
  std::optional<StartedCommand> command_;
  std::optional<ProcessTree> tree_;
  std::optional<Error> error_;
};

Result<std::vector<CardFacts>> CardsToWatch(const Options& options, Probe* machine) {
  if (options.gpu.empty() || options.gpu == "auto") return machine->Cards();
  if (!IsAuto(options.gpu)) {
    return Error{ErrorCode::kUsage, "--gpu",
                 "watch looks at this machine's cards, and " + InQuotes(options.gpu) + " is a name of the catalogue",
                 "type --gpu auto:0, or leave it out"};
  }
  Result<CardFacts> card = PickCard(options.gpu, machine);
  if (!card.ok()) return card.error();
  return std::vector<CardFacts>{*std::move(card)};
}

// What was predicted for this card.
Status Predict(Options options, int card, Probe* machine, WatchReport* report) {
  options.gpu = "auto:" + std::to_string(card);
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  Result<Estimate> estimate = EstimateStep(options, *chosen);
  if (!estimate.ok()) return estimate.error();
  report->prediction = PredictionOf(*estimate);
  report->notes = estimate->notes;
  report->estimate = *std::move(estimate);
  return Done();
}

// The stored profile of the card, or a new one, with the context that this run had.
Status SaveWatch(const CardFacts& card, Probe* machine, WatchReport* report, Outcome* outcome) {
  const auto refused = [&](const char* text) {
    report->notes.Add({"not-saved", Severity::kWarning, "--save", text, ""});
    return Done();
  };
  if (!report->prediction)
    return refused("it needs --model: without a prediction the context of the run cannot be told from the rest");
  const Watched& seen = report->result.busiest();
  const std::optional<Bytes> context = seen.there_before ? std::nullopt : ContextOfRun(seen, *report->prediction);
  if (!context) {
    return refused(
        "nothing was saved: what the run took beyond the predicted reserved bytes does not look like a CUDA context");
  }
  Profile profile;
  if (std::optional<StoredProfile> stored = FindStoredProfile(card, ProfileFolders(), &report->notes)) {
    profile = std::move(stored->profile);
  }
  profile.name = card.name;
  profile.uuid = card.uuid;
  profile.capability = {card.capability_major, card.capability_minor};
  profile.multiprocessors = card.multiprocessors;
  profile.usable = card.usable;
  const Result<DriverFacts> driver = machine->Driver();
  if (!driver.ok()) return driver.error();
  // Of another driver what was measured of contexts does not count.
  if (profile.context && profile.driver != driver->driver) profile.context.reset();
  profile.driver = driver->driver;
  profile.date = Today();
  ContextBand band{*context, *context, *context, "seen with vramplan watch"};
  if (profile.context) {
    band.low = std::min(band.low, profile.context->low);
    band.high = std::max(band.high, profile.context->high);
  }
  profile.context = band;
  const Result<std::string> path = StorePath(card);
  if (!path.ok()) return path.error();
  report->saved_context = context;
  report->saved = *path;
  outcome->stream = Print(ToJson(profile));
  outcome->store = *path;
  return Done();
}

double Seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace

Result<Outcome> RunWatch(const Options& options, const Style& style, Probe* machine) {
  const Result<std::vector<CardFacts>> cards = CardsToWatch(options, machine);
  if (!cards.ok()) return cards.error();
  std::vector<int> numbers;
  for (const CardFacts& card : *cards) numbers.push_back(card.index);

  WatchReport report;
  SignalsHeld signals;
  ProcessRun run(&signals);
  if (!options.command.empty()) {
    report.run = "\"" + options.command + "\"";
  } else {
    const std::string name = ProcessTree(options.pid).Name();
    if (name.empty()) {
      return Error{ErrorCode::kBadInput, std::to_string(options.pid), "no process has this number",
                   "nvidia-smi and vramplan probe show the processes on the card"};
    }
    report.run = name + " (pid " + std::to_string(options.pid) + ")";
    run.Begin(options.pid);
  }
  // Before it begins, so that a model that cannot be read costs no run.
  if (!options.model.empty()) {
    if (const Status predicted = Predict(options, numbers.front(), machine, &report); !predicted.ok())
      return predicted.error();
  }
  std::function<void()> start;
  if (!options.command.empty()) start = [&] { run.Begin(options.command); };
  // A command is over when it is over, whatever the terminal says; a process that was there goes on without us.
  report.result = Watch(machine, numbers, &run, {options.interval, options.watch_seconds}, start, Seconds,
                        [&] { return options.command.empty() && signals.came(); });
  if (run.error()) return *run.error();
  if (run.command()) {
    const StartedCommand::End end = run.command()->Wait();
    report.exit_code = end.exit_code;
    report.signal = end.signal;
  }

  const Watched& busiest = report.result.busiest();
  const CardFacts& card =
      *std::find_if(cards->begin(), cards->end(), [&](const CardFacts& one) { return one.index == busiest.card; });
  report.card = card.name;
  Outcome outcome;
  if (!options.model.empty()) {
    if (busiest.card != numbers.front()) {
      if (const Status predicted = Predict(options, busiest.card, machine, &report); !predicted.ok())
        return predicted.error();
    }
    report.explanation = Explain(busiest, *report.prediction);
    const bool inside = report.explanation.place == Explanation::Place::kInside;
    outcome.exit_code = inside ? 0 : kOutside;
  }
  if (busiest.source == WatchSource::kNothing) {
    outcome.exit_code = kWatchStopped;
  }
  if (options.save) {
    if (const Status saved = SaveWatch(card, machine, &report, &outcome); !saved.ok()) return saved.error();
  }
  if (report.result.end == WatchResult::End::kFailed) outcome.exit_code = kWatchStopped;
  if (options.format == Format::kJson) {
    outcome.text = Print(ToJson(report));
  } else {
    outcome.text = PrintWatch(report, style);
    outcome.notes = report.notes;
  }
  return outcome;
}

}  // namespace vramplan
