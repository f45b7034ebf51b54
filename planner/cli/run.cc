#include "planner/cli/run.h"

#include <zlib.h>

#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "planner/cli/parse.h"
#include "planner/cli/verbs.h"

namespace vramplan {
namespace {

constexpr int kBadInput = 1, kUsage = 2, kNoCard = 4, kInternal = 70;

// The locale says what the terminal shows; C and POSIX are plain ASCII.
bool ShowsUnicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    const std::string_view locale = value;
    return locale.find("UTF-8") != std::string_view::npos || locale.find("utf8") != std::string_view::npos;
  }
  return false;
}

int Fail(const Error& error) {
  std::cerr << "vramplan: " << ToString(error) << "\n";
  switch (error.code) {
    case ErrorCode::kUsage:
      return kUsage;
    case ErrorCode::kNoCard:
      return kNoCard;
    case ErrorCode::kBadInput:
      return kBadInput;
  }
  return kInternal;
}

// Gzipped when the name says so.
Status WriteFile(const std::string& path, const std::string& text) {
  const Error error{ErrorCode::kBadInput, path, "cannot be written", "does its folder exist?"};
  if (path.ends_with(".gz")) {
    gzFile file = gzopen(path.c_str(), "wb");
    if (file == nullptr) return error;
    const bool whole = gzwrite(file, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size());
    if (gzclose(file) != Z_OK || !whole) return error;
    return Done();
  }
  std::ofstream file(path, std::ios::binary);
  file << text << std::flush;
  if (!file) return error;
  return Done();
}

// Whole or not at all; the folders are the user's own, as the XDG base directory specification asks.
Status Store(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  const Error error{ErrorCode::kBadInput, path, "cannot be written", "name another place with --out FILE"};
  std::vector<fs::path> missing;
  std::error_code failed;
  for (fs::path folder = fs::path(path).parent_path(); !folder.empty() && !fs::exists(folder, failed);
       folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (!fs::create_directory(*folder, failed)) return error;
    fs::permissions(*folder, fs::perms::owner_all, failed);
  }
  const std::string whole = path + ".new";
  if (!WriteFile(whole, text)) return error;
  fs::rename(whole, path, failed);
  if (!failed) return Done();
  fs::remove(whole, failed);
  return error;
}

Result<Outcome> RunVerb(const Options& options, const Style& style, Probe* machine) {
  switch (options.verb) {
    case Verb::kEstimate:
      return RunEstimate(options, style, machine);
    case Verb::kFit:
      return RunFit(options, style, machine);
    case Verb::kPlan:
      return RunPlan(options, style, machine);
    case Verb::kInspect:
      return RunInspect(options, style);
    case Verb::kGpus:
      return RunGpus(options, style);
    case Verb::kTrace:
      return RunTrace(options, style, machine);
    case Verb::kReplay:
      return RunReplay(options, style);
    case Verb::kSolve:
      return RunSolve(options, style);
    case Verb::kCheck:
      return RunCheck(options);
    case Verb::kProbe:
      return RunProbe(options, style, machine);
    case Verb::kCalibrate:
      return RunCalibrate(options, style, machine);
    case Verb::kValidate:
      return RunValidate(options, style, machine);
    case Verb::kWatch:
      return RunWatch(options, style, machine);
    case Verb::kExplain:
      return RunExplain(options, style, machine);
  }
  return Error{};
}

// Verbs with --verbose print warnings, and say that there are notes.
void PrintWarnings(const Notes& notes) {
  int quiet = 0;
  for (const Note& note : notes.all()) {
    if (note.severity == Severity::kWarning) {
      std::cerr << ToString(note) << "\n";
    } else {
      ++quiet;
    }
  }
  if (quiet > 0)
    std::cerr << "note: --verbose prints " << (quiet == 1 ? "one more note" : std::to_string(quiet) + " more notes")
              << "\n";
}

// Of one kind the first few: a fixed batch stands in every reshape of a transformer, and the answer is above it all.
void PrintNotes(const Notes& notes) {
  constexpr int kOfOneKind = 3;
  std::map<std::string, int> count, seen;
  for (const Note& note : notes.all()) ++count[note.code];
  for (const Note& note : notes.all()) {
    const int of = count[note.code], at = ++seen[note.code];  // a line for the last one alone would save nothing
    if (at <= kOfOneKind || of == kOfOneKind + 1) std::cerr << ToString(note) << "\n";
    if (at == kOfOneKind && of > kOfOneKind + 1)
      std::cerr << "note: " << of - kOfOneKind << " more like the last one (hint: --format json has them all)\n";
  }
}

int RunChecked(int argc, const char* const* argv, Probe* machine) {
  const Result<Command> command = ParseCommandLine(argc, argv);
  if (!command.ok()) return Fail(command.error());
  if (const Answer* answer = std::get_if<Answer>(&*command)) {
    std::cout << answer->text;
    return 0;
  }
  const Options& options = std::get<Options>(*command);
  const Result<Outcome> outcome =
      RunVerb(options, Style{.width = 100, .unicode = ShowsUnicode(), .verbose = options.verbose || !TakesOption(options.verb, "--verbose")}, machine);
  if (!outcome.ok()) return Fail(outcome.error());
  // A plan that there is not has no snippet.
  const bool nothing = options.emit != Emit::kNone && !outcome->stream;
  const bool to_file = !options.out.empty() && options.out != "-" && !nothing;
  if (to_file) {
    const Status written = WriteFile(options.out, outcome->stream ? *outcome->stream : outcome->text);
    if (!written) return Fail(written.error());
  }
  if (!to_file && !outcome->store.empty()) {
    const Status stored = Store(outcome->store, *outcome->stream);
    if (!stored) return Fail(stored.error());
  }
  if (!to_file || outcome->stream) {
    std::cout << outcome->text << std::flush;
    if (!std::cout)
      return Fail(
          {ErrorCode::kBadInput, "standard output", "cannot be written", "is the disk full or the reader gone?"});
  }
  const bool is_brief = !options.verbose && TakesOption(options.verb, "--verbose");
  is_brief ? PrintWarnings(outcome->notes) : PrintNotes(outcome->notes);
  return outcome->exit_code;
}

}  // namespace

int Run(int argc, const char* const* argv, Probe* machine) {
  try {
    if (machine != nullptr) return RunChecked(argc, argv, machine);
    const std::unique_ptr<Probe> this_machine = ThisMachine();
    return RunChecked(argc, argv, this_machine.get());
  } catch (const std::exception& exception) {
    std::cerr << "vramplan: internal error: " << exception.what() << "\n";
    return kInternal;
  }
}

}  // namespace vramplan
