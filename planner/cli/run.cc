#include "planner/cli/run.h"

#include <zlib.h>

#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <string_view>

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

Result<Outcome> RunVerb(const Options& options, const Style& style) {
  switch (options.verb) {
    case Verb::kEstimate:
      return RunEstimate(options, style);
    case Verb::kFit:
      return RunFit(options, style);
    case Verb::kPlan:
      return RunPlan(options, style);
    case Verb::kInspect:
      return RunInspect(options, style);
    case Verb::kGpus:
      return RunGpus(options, style);
    case Verb::kTrace:
      return RunTrace(options, style);
    case Verb::kReplay:
      return RunReplay(options, style);
    case Verb::kSolve:
      return RunSolve(options, style);
    case Verb::kCheck:
      return RunCheck(options);
  }
  return Error{};
}

int RunChecked(int argc, const char* const* argv) {
  const Result<Command> command = ParseCommandLine(argc, argv);
  if (!command.ok()) return Fail(command.error());
  if (const Answer* answer = std::get_if<Answer>(&*command)) {
    std::cout << answer->text;
    return 0;
  }
  const Options& options = std::get<Options>(*command);
  const Result<Outcome> outcome = RunVerb(options, Style{.width = 100, .unicode = ShowsUnicode()});
  if (!outcome.ok()) return Fail(outcome.error());
  // A plan that there is not has no snippet.
  const bool nothing = options.emit != Emit::kNone && !outcome->stream;
  const bool to_file = !options.out.empty() && options.out != "-" && !nothing;
  if (to_file) {
    const Status written = WriteFile(options.out, outcome->stream ? *outcome->stream : outcome->text);
    if (!written) return Fail(written.error());
  }
  if (!to_file || outcome->stream) {
    std::cout << outcome->text << std::flush;
    if (!std::cout)
      return Fail(
          {ErrorCode::kBadInput, "standard output", "cannot be written", "is the disk full or the reader gone?"});
  }
  for (const Note& note : outcome->notes.all()) std::cerr << ToString(note) << "\n";
  return outcome->exit_code;
}

}  // namespace

int Run(int argc, const char* const* argv) {
  try {
    return RunChecked(argc, argv);
  } catch (const std::exception& exception) {
    std::cerr << "vramplan: internal error: " << exception.what() << "\n";
    return kInternal;
  }
}

}  // namespace vramplan
