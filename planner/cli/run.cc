#include "planner/cli/run.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "graph/base/printable.h"
#include "planner/answers/prepare.h"
#include "planner/answers/progress.h"
#include "planner/answers/spec_of_file.h"
#include "planner/cli/ask_apart.h"
#include "planner/cli/mcp.h"
#include "planner/cli/parse.h"
#include "planner/cli/verbs.h"
#include "planner/cli/write_file.h"

namespace vramplan {
namespace {

constexpr int kBadInput = 1, kUsage = 2, kNoCard = 4, kInternal = 70;

// As wide as COLUMNS says, else as the terminal is.
int WidthOfTerminal() {
  constexpr int kUsual = Style().width, kNarrowest = 60, kWidest = 400;
  const char* const columns = std::getenv("COLUMNS");
  int width = columns == nullptr ? 0 : std::atoi(columns);
  winsize size{};
  if (width <= 0 && ::isatty(STDOUT_FILENO) != 0 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width <= 0 ? kUsual : std::clamp(width, kNarrowest, kWidest);
}

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
  std::cerr << "vramplan: " << OneLine(ToString(error)) << "\n";
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

// The profile that is kept of a card. The folders are the user's own, as the XDG base directory specification asks.
Status Store(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  const auto failed = [&](std::string reason) {
    return Error{ErrorCode::kBadInput, path, std::move(reason), "name another place with --out FILE"};
  };
  std::vector<fs::path> missing;
  std::error_code code;
  for (fs::path folder = fs::path(path).parent_path(); !folder.empty() && !fs::exists(folder, code);
       folder = folder.parent_path()) {
    missing.push_back(folder);
  }
  for (auto folder = missing.rbegin(); folder != missing.rend(); ++folder) {
    if (!fs::create_directory(*folder, code)) return failed("cannot be written: " + code.message());
    fs::permissions(*folder, fs::perms::owner_all, code);
  }
  const Status written = WriteFile({.path = path, .force = true}, text);
  return written.ok() ? written : failed(written.error().text);
}

// Of one kind the first few: a fixed batch stands in every reshape of a transformer, and the answer is above it all.
void PrintFewOfEachKind(const std::vector<Note>& notes) {
  constexpr int kOfOneKind = 3;
  std::map<std::string, int> count, seen;
  for (const Note& note : notes) ++count[note.code];
  for (const Note& note : notes) {
    const int of = count[note.code], at = ++seen[note.code];  // a line for the last one alone would save nothing
    if (at <= kOfOneKind || of == kOfOneKind + 1) std::cerr << OneLine(ToString(note)) << "\n";
    if (at == kOfOneKind && of > kOfOneKind + 1)
      std::cerr << "note: " << of - kOfOneKind << " more like the last one (hint: --format json has them all)\n";
  }
}

// Verbs with --verbose print warnings, and say that there are notes.
void PrintWarnings(const Notes& notes) {
  std::vector<Note> warnings;
  for (const Note& note : notes.all())
    if (note.severity == Severity::kWarning) warnings.push_back(note);
  PrintFewOfEachKind(warnings);
  const size_t quiet = notes.all().size() - warnings.size();
  if (quiet > 0)
    std::cerr << "note: --verbose prints " << (quiet == 1 ? "one more note" : std::to_string(quiet) + " more notes")
              << "\n";
}

// What the command reads: none of it is overwritten by its answer.
std::vector<std::string> InputsOf(const Options& options) {
  return {options.file, options.model, options.compare, options.profile, options.schedule, options.second_model};
}

// Whether --out gets the answer itself as text, which is signed at its end.
bool IsReport(const Options& options) {
  const bool is_trace = options.verb == Verb::kTrace && options.compare.empty();
  return (options.format == Format::kText || options.format == Format::kMarkdown) && !is_trace;
}

// Whether --out gets a problem or a schedule, in which lines that begin with # are comments.
bool TakesComments(const Options& options) {
  return options.verb == Verb::kSolve || (options.verb == Verb::kTrace && options.problem);
}

std::string TextOfFile(const Options& options, const Outcome& outcome) {
  const std::string& text = outcome.stream ? *outcome.stream : outcome.text;
  if (TakesComments(options)) return text.empty() ? text : SignedInComment(text);
  return !outcome.stream && IsReport(options) ? Signed(text) : text;
}

// --emit, and no plan was found.
bool NothingToEmit(const Options& options, const Outcome& outcome) {
  return options.emit != Emit::kNone && !outcome.stream;
}

Status PrintAnswer(const std::string& text) {
  errno = 0;
  std::cout << text << std::flush;
  if (std::cout) return Done();
  const std::string reason = errno != 0 ? std::string(": ") + std::strerror(errno) : "";
  return Error{ErrorCode::kBadInput, "standard output", "cannot be written" + reason, "add --out FILE"};
}

// How the options were read is always said; verbs about a step have those notes among theirs, and in their JSON.
void PrintAllNotes(const Options& options, bool is_brief, const Notes& notes) {
  const bool in_json = options.format == Format::kJson && options.verb != Verb::kReplay && options.verb != Verb::kSolve;
  if (!in_json) PrintFewOfEachKind(options.notes.all());
  Notes others;
  for (const Note& note : notes.all()) {
    const auto& said = options.notes.all();
    if (std::find(said.begin(), said.end(), note) == said.end()) others.Add(note);
  }
  is_brief ? PrintWarnings(others) : PrintFewOfEachKind(others.all());
}

// It takes no options, and is no verb: what it answers are other verbs' answers.
int RunMcp(int argc, const char* const* argv) {
  const std::string_view first = argc > 2 ? argv[2] : "";
  if (argc == 2) return ServeMcp(std::cin, std::cout, AskApart);
  if (first != "--help" && first != "-h" && first != "help")
    return Fail({ErrorCode::kUsage, std::string(first), "mcp takes no arguments: a client writes to its standard input",
                 "vramplan mcp --help says how to start it"});
  std::cout << McpHelp();
  return 0;
}

int RunChecked(int argc, const char* const* argv, Probe* machine) {
  if (argc > 1 && std::string_view(argv[1]) == "mcp") return RunMcp(argc, argv);
  const Result<Command> command = ParseCommandLine(argc, argv);
  if (!command.ok()) return Fail(command.error());
  if (const AskedText* asked = std::get_if<AskedText>(&*command)) {
    std::cout << asked->text;
    return 0;
  }
  Options options = std::get<Options>(*command);
  if (const Status second = TakeSecondModel(&options); !second.ok()) return Fail(second.error());
  // Each of the two files of diff, and each combination of sweep, names its own.
  if (options.verb != Verb::kDiff && options.verb != Verb::kSweep) {
    if (const Status taken = TakeSpecOfFile(&options); !taken.ok()) return Fail(taken.error());
  }
  std::optional<FileToWrite> out;
  if (!options.out.empty() && options.out != "-") {
    out = FileToWrite{options.out, InputsOf(options), options.force};
    if (const Status may = CheckFileToWrite(*out); !may) return Fail(may.error());
  }
  if (options.format == Format::kSnapshot && !out && ::isatty(STDOUT_FILENO) != 0)
    return Fail({ErrorCode::kUsage, "--format", "a snapshot is not text for a terminal", "add --out step.pickle"});
  const bool is_brief = !options.verbose && TakesOption(options.verb, "--verbose");
  // Those two tell by themselves what they are at.
  const bool tells = options.verb == Verb::kRun || options.verb == Verb::kWatch;
  std::optional<Progress> progress(std::in_place, !tells && ::isatty(STDERR_FILENO) != 0 ? &std::cerr : nullptr);
  Result<Outcome> outcome =
      RowOf(options.verb)
          .run(options, Style{.width = WidthOfTerminal(), .unicode = ShowsUnicode(), .verbose = !is_brief}, machine);
  progress.reset();
  if (!outcome.ok()) return Fail(outcome.error());
  const bool emitted = outcome->stream.has_value();
  if (out && !NothingToEmit(options, *outcome)) {
    const Status written = WriteFile(*out, TextOfFile(options, *outcome));
    if (!written) return Fail(written.error());
    if (!emitted) outcome->text.clear();
  }
  if (!out && !outcome->store.empty()) {
    const Status stored = Store(outcome->store, *outcome->stream);
    if (!stored) return Fail(stored.error());
  }
  // What would have been the snippet may be on its way into a file.
  if (options.EmitsToOutput() && outcome->exit_code != 0 && IsReport(options)) {
    std::cerr << std::exchange(outcome->text, "");
  }
  if (const Status printed = PrintAnswer(outcome->text); !printed) return Fail(printed.error());
  PrintAllNotes(options, is_brief, outcome->notes);
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
