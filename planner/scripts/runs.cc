#include "planner/scripts/runs.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "planner/scripts/process_tree.h"
#include "planner/scripts/started_command.h"

namespace vramplan {
namespace {

namespace fs = std::filesystem;

constexpr int kCommandNotFound = 127;

Error BadCommand(const std::string& subject, std::string text, std::string hint) {
  return {ErrorCode::kBadInput, subject, std::move(text), std::move(hint)};
}

// A folder that is gone with the run.
class RecordingFolder {
 public:
  RecordingFolder() {
    std::error_code failed;
    std::string name = (fs::temp_directory_path(failed) / "vramplan_run_XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~RecordingFolder() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  RecordingFolder(const RecordingFolder&) = delete;
  RecordingFolder& operator=(const RecordingFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Where the library and the hook lie: beside the binary, as the build puts them, or below ../lib/vramplan.
Result<std::string> PretendFolder() {
  std::error_code failed;
  std::vector<fs::path> places;
  if (const char* given = std::getenv("VRAMPLAN_PRETEND_PATH")) places.emplace_back(given);
  const fs::path own = fs::read_symlink("/proc/self/exe", failed).parent_path();
  places.push_back(own / "pretend");
  places.push_back(own.parent_path() / "lib" / "vramplan" / "pretend");
  for (const fs::path& place : places) {
    if (fs::exists(place / "libcuda.so.1", failed)) return place.string();
  }
  return BadCommand(places.front().string(), "the library of the pretend card is missing",
                    "build all of vramplan, or name the library's folder with VRAMPLAN_PRETEND_PATH");
}

std::string Before(const std::string& first, const char* variable, const char* separator) {
  const char* const rest = std::getenv(variable);
  return rest == nullptr || *rest == '\0' ? first : first + separator + rest;
}

// One card, as pretend/card/description.h reads it. What the context, others and the reserve take is never given out.
std::string DescriptionOf(const ChosenDevice& card) {
  const Bytes taken = card.device.usable - card.device.CapacityWith(card.device.context.likely);
  const std::string usable = std::to_string(card.device.usable.count());
  return "card " + card.device.name + "\ncapability " + ToString(card.capability) + "\nmultiprocessors " +
         std::to_string(card.multiprocessors) + "\ntotal " + usable + "\nusable " + usable + "\ncontext " +
         std::to_string(taken.count()) + "\n";
}

std::string MachineOf(const ChosenDevice& card, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i) text += DescriptionOf(card);
  // A script may choose its card by a number that it has at home.
  return text + "spare 64\n";
}

// More would not leave addresses for segments that grow.
constexpr Bytes kEndless = Bytes::GiB(16 << 10);

// Without --gpu: a card that is never full, of the capability that the other verbs take then.
ChosenDevice EndlessCard(const Question& question) {
  Card card;
  card.name = "a card without end";
  card.usable = kEndless;
  const TrainingSpec defaults;
  card.capability = defaults.capability;
  card.multiprocessors = defaults.multiprocessors;
  return DeviceOf(card, question);
}

// "0,1,2": CUDA_VISIBLE_DEVICES, whatever this machine has.
std::string AllOf(int64_t count) {
  std::string text = "0";
  for (int64_t i = 1; i < count; ++i) text += "," + std::to_string(i);
  return text;
}

StartedCommand::Environment HookEnvironment(const Script& script, const std::string& pretend,
                                            const std::string& folder) {
  return {{"PYTHONPATH", Before(pretend + "/hook", "PYTHONPATH", ":")},
          {"VRAMPLAN_RECORDING", folder},
          {"VRAMPLAN_STEPS", script.until_exit ? std::string("0") : std::to_string(script.steps)},
          {"VRAMPLAN_DETAILS", "1"},
          {"VRAMPLAN_VALUES", script.wishes.values_on_host ? "host" : ""},
          {"VRAMPLAN_SECONDS", script.most_seconds ? std::to_string(*script.most_seconds) : std::string()}};
}

StartedCommand::Environment EnvironmentOf(const Script& script, const ChosenDevice& card, const std::string& pretend,
                                          const std::string& folder, int64_t cards) {
  const std::string libraries = pretend + "/libcuda.so.1:" + pretend + "/libnvidia-ml.so.1";
  StartedCommand::Environment environment = HookEnvironment(script, pretend, folder);
  environment.emplace_back("LD_PRELOAD", Before(libraries, "LD_PRELOAD", ":"));
  environment.emplace_back("VRAMPLAN_PRETEND_GPU", MachineOf(card, cards));
  // Triton links its launcher against a libcuda that it looks for by itself.
  environment.emplace_back("TRITON_LIBCUDA_PATH", pretend);
  if (std::getenv("PATH") != nullptr) environment.emplace_back("PATH", Before(pretend + "/bin", "PATH", ":"));
  environment.emplace_back("CUDA_VISIBLE_DEVICES", AllOf(cards));
  return environment;
}

std::string ReadWhole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Recordings {
  std::vector<Recording> processes;
  std::map<int64_t, CardLog> cards;  // by process
  int64_t began = 0;                 // processes that imported torch
  std::string framework;             // another one that was imported
};

Result<Recordings> ReadRecordings(const std::string& folder) {
  Recordings all;
  std::error_code failed;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const std::string extension = entry.path().extension().string(), name = entry.path().filename().string();
    const int64_t pid = std::strtoll(name.c_str(), nullptr, 10);
    if (extension == ".recording") {
      Result<Recording> recording = ReadRecording(name, ReadWhole(entry.path()));
      if (!recording.ok()) return recording.error();
      recording->pid = pid;
      all.processes.push_back(*std::move(recording));
    } else if (extension == ".began") {
      ++all.began;
    } else if (extension == ".framework") {
      all.framework = ReadWhole(entry.path());
    } else if (extension == ".card") {
      Result<CardLog> log = ReadCardLog(name, ReadWhole(entry.path()));
      if (!log.ok()) return log.error();
      log->pid = pid;
      all.cards[pid] = *std::move(log);
    }
  }
  std::ranges::sort(all.processes, {}, [](const Recording& process) { return std::pair(process.rank, process.pid); });
  return all;
}

// Other allocators have neither counters of requests nor a history (pretend/hook/counters.py).
Status CheckAllocators(const std::string& name, const Recordings& all) {
  for (const Recording& process : all.processes) {
    if (process.allocator.empty()) continue;
    return BadCommand(name, "takes memory by " + process.allocator + ", and run counts by PyTorch's own allocator",
                      "leave it out: PyTorch's own allocator takes what the tensors take, and a cache");
  }
  return Done();
}

// As execvp looks for it.
bool IsProgram(const std::string& command) {
  if (command.find('/') != std::string::npos) return access(command.c_str(), X_OK) == 0;
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "/bin:/usr/bin" : path);
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (access((folder + "/" + command).c_str(), X_OK) == 0) return true;
  }
  return false;
}

std::string EndedText(const StartedCommand::End& end) {
  if (end.signal) return "was ended by signal " + std::to_string(*end.signal);
  return "ended with exit code " + std::to_string(end.exit_code.value_or(0));
}

// Why nothing can be said: no torch, no CUDA in it, or a script that failed before it used the card.
Error NothingSeen(const std::string& command, const std::string& name, const Recordings& all,
                  const StartedCommand::End& end) {
  if (all.processes.empty() && end.exit_code == kCommandNotFound && !IsProgram(command))
    return BadCommand(command, "the command was not found", "type the command after --, as you would without vramplan");
  if (all.processes.empty() && all.began == 0 && !all.framework.empty()) {
    return BadCommand(name, "imports " + all.framework + " and no torch: run is for PyTorch",
                      "vramplan explain reads the messages of " + all.framework + " when memory ran out");
  }
  if (all.processes.empty() && !all.cards.empty()) {
    return BadCommand(name, "used the card, but the hook did not run in it",
                      "leave out python -I, -E and -S, which keep sitecustomize away");
  }
  if (all.processes.empty() && all.began > 0) {
    return BadCommand(name, EndedText(end) + " before it could say what it took",
                      end.signal ? "was the host's memory full? --steps 1 ends it earlier"
                                 : "was it killed by its parent? --steps 1 ends it earlier");
  }
  if (all.processes.empty())
    return BadCommand(name, EndedText(end) + " and imported no torch", "see its output above; is it the right python?");
  const Recording& process = all.processes.front();
  if (!process.hip.empty()) {
    return BadCommand(name, "torch " + process.torch + " is built for ROCm, and the pretend card is one of CUDA",
                      "install a CUDA wheel next to it: python -m venv cuda && cuda/bin/pip install torch");
  }
  if (process.cuda.empty()) {
    return BadCommand(name, "torch " + process.torch + " is built without CUDA",
                      "install a CUDA wheel, which needs no GPU: python -m venv cuda && cuda/bin/pip install torch");
  }
  if (!process.preloaded) {
    return BadCommand(name, "ran without the pretend card: something in the command takes LD_PRELOAD away",
                      "keep LD_PRELOAD, as sudo, env -i and some shells' profiles do not");
  }
  if (process.failure_text.find("No CUDA GPUs are available") != std::string::npos) {
    return BadCommand(name, "failed before it used the card: it hides the card from itself",
                      "does it set CUDA_VISIBLE_DEVICES? the pretend card is number 0");
  }
  if (!process.failure.empty())
    return BadCommand(name, "failed before it used the card: " + process.failure + ": " + process.failure_text, "");
  if (process.end == "seconds")
    return BadCommand(name, "had not used the card when its time was up", "give it more time with --seconds");
  return BadCommand(name, EndedText(end) + " and never used the card",
                    "does it choose its device by an option, such as --device cuda?");
}

// The script was ended before its time, as it should be, and whoever started it may take that for a crash: a notebook's
// server, or a script of the shell that goes on with what was not written.
bool EndedOnPurpose(const Recordings& all, const Recording& reported) {
  const bool all_told = all.began <= static_cast<int64_t>(all.processes.size());
  return reported.stopped_by_us() && all_told &&
         std::ranges::all_of(all.processes, &std::string::empty, &Recording::failure);
}

// What is left of the command: loader workers, servers, a launcher's other processes. Whoever loses its parent is ours.
void EndDescendants(const std::set<int64_t>& before) {
  constexpr int kRounds = 100, kMicroseconds = 20000;  // two seconds: a process in the kernel dies when it returns
  for (int round = 0; round < kRounds; ++round) {
    bool any = false;
    for (const int64_t pid : ProcessTree(getpid()).Pids()) {
      if (pid == getpid() || before.contains(pid)) continue;
      any = true;
      kill(static_cast<pid_t>(pid), SIGKILL);
      waitpid(static_cast<pid_t>(pid), nullptr, WNOHANG);
    }
    if (!any) return;
    usleep(kMicroseconds);
  }
}

// What PyTorch 2.1 to 2.15 say when a script names a card that is not there.
bool AsksForAnotherCard(const std::string& failure) {
  return failure.find("invalid device ordinal") != std::string::npos ||
         failure.find("Invalid device id") != std::string::npos;
}

// The command with its values: placeholders, a copy of a configuration in `folder`, else variables.
struct Filled {
  std::vector<std::string> words;
  StartedCommand::Environment variables;
};

Result<Filled> Fill(const Script& script, const ScriptValues& values, const std::string& folder) {
  const std::optional<ScriptWishes::Key>& in = script.wishes.largest_in;
  Filled filled;
  for (const std::string& word : script.command) filled.words.push_back(WithValues(word, values));
  for (const auto& [name, value] : values) {
    const bool in_file = in && script.wishes.largest->name == name;
    if (!in_file && name != kGpusName && !HasPlaceholder(script.command, name))
      filled.variables.emplace_back(name, value);
    if (!in_file) continue;
    std::error_code failed;
    if (!fs::is_regular_file(in->file, failed)) return BadCommand(in->file, "is not a file that can be read", "");
    const Result<std::string> text = WithKey(in->file, ReadWhole(in->file), in->key, value);
    if (!text.ok()) return text.error();
    const fs::path copy = fs::path(folder) / "values" / fs::path(in->file).filename();
    fs::create_directory(copy.parent_path(), failed);
    std::ofstream(copy, std::ios::binary) << *text;
    bool named = false;
    for (std::string& word : filled.words) {
      const size_t at = word.find(in->file);
      if (at == std::string::npos) continue;
      word.replace(at, in->file.size(), copy.string());
      named = true;
    }
    if (!named)
      return BadCommand("--largest-in", "the command does not name " + in->file,
                        "write the file's name as in the command");
  }
  return filled;
}

ScriptReport ReportOf(const std::vector<std::string>& words, const ChosenDevice& card, bool given,
                      const Recordings& all, bool by_category) {
  ScriptReport report;
  report.command = words;
  report.card_given = given;
  report.device = card.device;
  report.capability = ToString(card.capability);
  report.notes = card.notes;
  const Recording* most = nullptr;
  for (const Recording& process : all.processes) {
    if (!process.last) continue;
    const auto steps = static_cast<int64_t>(process.steps.size());
    // The history is that of one card.
    std::optional<Peak> replayed;
    if (by_category && process.cards.size() < 2) {
      const auto log = all.cards.find(process.pid);
      replayed = ReplayedPeak(process, log != all.cards.end() && log->second.cudnn);
    }
    std::vector<std::pair<int64_t, Levels>> cards = process.cards;
    if (cards.empty()) cards.emplace_back(0, process.peak());
    for (const auto& [number, peak] : cards)
      report.processes.push_back({process.pid, process.rank, process.ranks, number, peak, steps, replayed});
    if (most == nullptr || process.peak().reserved > most->peak().reserved) most = &process;
  }
  report.recording = *most;
  for (const auto& [pid, log] : all.cards) {
    for (const CardLog::Together& one : log.together) {
      if (!report.together || one.bytes > report.together->bytes) report.together = one;
    }
  }
  if (const auto log = all.cards.find(most->pid); log != all.cards.end()) report.card = log->second;
  return report;
}

int64_t GpusOf(const ScriptValues& values, const ScriptRanks& ranks) {
  const auto value = std::ranges::find(values, kGpusName, &ScriptValues::value_type::first);
  return value == values.end() ? ranks.gpus.front() : std::strtoll(value->second.c_str(), nullptr, 10);
}

// What was taken for true of the ranks, and what was not as it was told.
void NoteRanks(const ScriptRanks& ranks, int64_t gpus, const std::string& launcher, ScriptReport* report) {
  const int64_t seen = report->recording.ranks;
  // A script may start its ranks by itself, as Lightning and torch.multiprocessing do.
  if (seen != gpus && !(ranks.one_process && seen == 1)) {
    const std::string said = launcher.empty() ? "" : ", because " + launcher + " says so";
    report->notes.Add({"ranks-differ", Severity::kWarning, "--gpus " + std::to_string(gpus),
                       "the script ran as one of " + std::to_string(seen) + " ranks" + said,
                       launcher.empty() ? "" : "leave the launcher out, or give it {gpus} as its number of processes"});
  }
  if (ranks.all || ranks.one_process || gpus == 1) return;
  report->notes.Add({"ranks-alone", Severity::kNote, "rank " + std::to_string(report->recording.rank),
                     "ran alone: the other ranks are assumed to do the same, and NCCL's own buffers are not counted",
                     "--rank R runs another one"});
}

}  // namespace

void TellProgress(const std::string& text) {
  if (isatty(STDERR_FILENO) != 0) std::cerr << "vramplan: " << text << std::endl;
}

Result<ScriptRuns> ScriptRuns::On(const Question& question, const Script& script, Probe* machine) {
  const std::optional<ScriptRanks>& ranks = script.wishes.ranks;
  if (ranks && ranks->all && LauncherIn(script.command).empty()) {
    return Error{ErrorCode::kUsage, "--all-ranks", "nothing in the command starts a process for each rank",
                 "put torchrun --nproc-per-node {gpus} before the script"};
  }
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(question, machine);
  if (!chosen.ok()) return chosen.error();
  ChosenDevice card = *chosen ? **chosen : EndlessCard(question);
  if (!card.nvidia) {
    return Error{ErrorCode::kUsage, "--gpu", card.device.name + " is not a card of CUDA, which is what run pretends",
                 "vramplan gpus shows others"};
  }
  if (card.device.CapacityWith(card.device.context.likely) == Bytes()) {
    return BadCommand(card.device.name,
                      "its context alone takes " + ToString(card.device.context.likely) + " of " +
                          ToString(card.device.usable) + ": nothing is left",
                      "name a larger card, or --context SIZE");
  }
  const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible != nullptr && (*visible == '\0' || std::string_view(visible) == "-1")) {
    return BadCommand("CUDA_VISIBLE_DEVICES", "hides every card from the script", "type unset CUDA_VISIBLE_DEVICES");
  }
  const Result<std::string> pretend = PretendFolder();
  if (!pretend.ok()) return pretend.error();
  return ScriptRuns(script, std::move(card), chosen->has_value(), *pretend);
}

Result<ScriptReport> ScriptRuns::Run(const ScriptValues& values, const ScriptChange* change) const {
  return RunOn({.change = change}, values);
}

Result<ScriptReport> ScriptRuns::RunOnRealCard(const ScriptValues& values) const {
  return RunOn({.real = true}, values);
}

Result<ScriptReport> ScriptRuns::RunOnEndlessCard(const ScriptValues& values, int64_t steps) const {
  return RunOn({.endless = script_.until_exit ? 0 : steps}, values);
}

Result<ScriptReport> ScriptRuns::RunOn(const Way& way, const ScriptValues& values) const {
  const RecordingFolder folder;
  if (folder.path().empty()) return BadCommand("TMPDIR", "no folder can be made there", "name another one");

  const Result<Filled> filled = Fill(script_, values, folder.path());
  if (!filled.ok()) return filled.error();
  const std::string name = ScriptName(script_.command);
  const std::optional<ScriptRanks>& ranks = script_.wishes.ranks;
  const int64_t gpus = ranks ? GpusOf(values, *ranks) : 1;
  const std::string launcher = LauncherIn(filled->words);
  // Properties of the card that a script may read, its size apart, stay as they are.
  ChosenDevice card = card_;
  if (way.endless) card.device.usable = kEndless;
  StartedCommand::Environment environment =
      way.real ? HookEnvironment(script_, pretend_, folder.path())
               : EnvironmentOf(script_, card, pretend_, folder.path(), ranks ? gpus / ranks->nodes : 1);
  if (way.endless) environment.emplace_back("VRAMPLAN_STEPS", std::to_string(*way.endless));
  if (way.real) {
    environment.emplace_back("VRAMPLAN_REAL", "1");
    environment.emplace_back("VRAMPLAN_DETAILS", "");  // what tensors are for is told by the other run
  }
  if (ranks) {
    const StartedCommand::Environment variables = RankVariables(*ranks, gpus, launcher);
    environment.insert(environment.end(), variables.begin(), variables.end());
  }
  environment.insert(environment.end(), filled->variables.begin(), filled->variables.end());

  if (way.change != nullptr) {
    const StartedCommand::Environment variables = VariablesOf(*way.change);
    environment.insert(environment.end(), variables.begin(), variables.end());
  }

  SignalsHeld signals;
  // So that whoever loses its parent becomes ours, and is found at the end.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const std::vector<int64_t> others = ProcessTree(getpid()).Pids();
  const Result<StartedCommand> command = StartedCommand::Start(filled->words, environment, signals);
  if (!command.ok()) return command.error();
  const StartedCommand::End end = command->Wait();
  EndDescendants({others.begin(), others.end()});

  const Result<Recordings> all = ReadRecordings(folder.path());
  if (!all.ok()) return all.error();
  const bool used =
      std::ranges::any_of(all->processes, [](const Recording& process) { return process.last.has_value(); });
  if (signals.came()) return BadCommand(name, "was interrupted", "");
  if (const Status own = CheckAllocators(name, *all); !own) return own.error();
  if (!used) return NothingSeen(filled->words.front(), name, *all, end);
  ScriptReport report = ReportOf(filled->words, card, card_given_, *all, ranks && !ranks->one_process);
  report.exit_code = end.exit_code;
  report.signal = end.signal;
  report.gpus = gpus;
  if (ranks) NoteRanks(*ranks, gpus, launcher, &report);
  Conclude(&report);
  const bool failed = end.signal || end.exit_code.value_or(0) != 0;
  const bool on_purpose = !end.signal && EndedOnPurpose(*all, report.recording);
  if (failed && on_purpose) {
    report.notes.Add(
        {"ended-early", Severity::kNote, name,
         EndedText(end) + ": vramplan ended the script after its last step, and the launcher took that for a crash",
         ""});
  }
  if (failed && !on_purpose && !report.oom) {
    const std::string steps = std::to_string(report.recording.steps.size());
    std::string hint = "see its output above";
    if (AsksForAnotherCard(report.recording.failure_text))
      hint = "the pretend machine has " + std::to_string(gpus) + (gpus == 1 ? " card" : " cards") +
             ": --gpus 2 --one-process gives two to one process";
    if (const CodePlace& read = report.recording.last_read; !read.file.empty()) {
      hint += "; the last value that was read from the card before it ended, at " + read.file + ":" +
              std::to_string(read.line) + ", is zero here and another number on a card";
    }
    if (const std::vector<ByValue>& shapes = report.recording.by_value; !shapes.empty()) {
      hint += "; " + shapes.back().what + " at " + shapes.back().place.file + ":" +
              std::to_string(shapes.back().place.line) + " gave a shape that depends on values, which are zeros here";
    }
    return BadCommand(
        name,
        EndedText(end) + " after " + steps + (steps == "1" ? " step" : " steps") +
            (report.recording.failure.empty() ? ""
                                              : ": " + report.recording.failure + ": " + report.recording.failure_text),
        hint);
  }
  return report;
}

}  // namespace vramplan
