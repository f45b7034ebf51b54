#include "planner/cli/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <span>

#include "graph/architectures/named.h"
#include "planner/cli/completion.h"
#include "planner/cli/help.h"
#include "planner/cli/lead_on.h"
#include "planner/cli/option_row.h"
#include "planner/cli/verbs.h"
#include "planner/spec/device.h"
#include "planner/spec/nearest.h"
#include "planner/spec/other_words.h"

namespace vramplan {
namespace {

std::string AllVerbs() {
  std::vector<std::string> verbs;
  for (const VerbRow& row : VerbRows()) verbs.emplace_back(row.name);
  return JoinChoices(verbs);
}

Error Usage(std::string subject, std::string text, std::string hint) {
  return {ErrorCode::kUsage, std::move(subject), std::move(text), std::move(hint)};
}

std::string HelpCommand(Verb verb) { return "vramplan " + std::string(Name(verb)) + " --help lists its options"; }

// What is left over: an option that this verb does not have, or a second file.
Error Leftover(Verb verb, const std::vector<std::string>& rest, const TypedOptions& typed) {
  for (const std::string& text : rest) {
    if (text.size() < 2 || text[0] != '-') continue;
    const std::string flag = text.substr(0, text.find('='));
    const KnownOption other = OptionFor(flag);
    std::string hint = HelpCommand(verb);
    std::vector<std::string> known;
    for (const OptionRow& row : OptionRows()) {
      if (TakenBy(row, verb)) known.push_back(row.flag);
      if (row.flag == flag && !TakenBy(row, verb))
        return Usage(flag, std::string(Name(verb)) + " does not have this option", HelpCommand(verb));
    }
    if (const std::string near = SuggestNearest(flag, known); !near.empty()) hint = near;
    if (std::find(known.begin(), known.end(), other.flag) != known.end()) hint = other.hint;
    return Usage(flag, "no such option", std::move(hint));
  }
  const std::string& alone = rest.front();
  const bool number = alone.find_first_not_of("0123456789") == std::string::npos;
  const auto stands_alone = [&](const std::string& hint) {
    return Usage(alone, "it has no option before it", "type " + hint + alone);
  };
  const auto begun = std::ranges::find_if(
      typed, [](const TypedOption& one) { return one.flag == "--dim" && one.value.find('=') == std::string::npos; });
  if (number && begun != typed.end()) return stands_alone("--dim " + begun->value + "=");
  if (number && TakesOption(verb, "--batch")) return stands_alone("--batch ");
  if (TakesOption(verb, "--gpu") && FindCard(alone).ok()) return stands_alone("--gpu ");
  return Usage(rest.front(),
               std::string(Name(verb)) + (RowOf(verb).behind == Behind::kWord ? " takes one text" : " takes one file") +
                   ", and this is a second one",
               HelpCommand(verb));
}

Error UnknownVerb(const std::string& word) {
  std::vector<std::string> verbs;
  for (const VerbRow& row : VerbRows()) verbs.emplace_back(row.name);
  if (word.ends_with(".onnx") || word.ends_with(".pt2")) {
    return Usage(word, "a verb comes first: " + AllVerbs(), "type vramplan fit " + word + " --gpu t4");
  }
  if (NamesModel(word)) {
    return Usage(word, "it is a model, but a verb must come first: " + AllVerbs(),
                 "type vramplan fit " + word + " --gpu t4");
  }
  const std::string near = SuggestNearest(word, verbs);
  return Usage(word, "is not one of " + AllVerbs(), near.empty() ? "vramplan --help explains them" : near);
}

// A word behind a verb that is about this machine.
Error NoFile(Verb verb, const std::string& word) {
  const std::string typed = "type vramplan " + std::string(Name(verb));
  return Usage(word, std::string(Name(verb)) + " is about this machine's cards, not about a file",
               verb == Verb::kCalibrate ? typed + " --model " + word : typed);
}

// The shortest command line of the verb.
std::string Usual(Verb verb) { return "vramplan " + std::string(Name(verb)) + " " + RowOf(verb).usual; }

// "vramplan run python train.py", or nothing at all.
Error NoScript(const std::string& word) {
  return word.empty() ? Usage("run", "no command is given", "type vramplan run --gpu t4 -- python train.py")
                      : Usage(word, "the command comes after --",
                              std::string("type vramplan run --gpu t4 -- ") + (word.ends_with(".py") ? "python " : "") +
                                  word + " ...");
}

// The words behind a verb.
struct VerbLine {
  std::vector<std::string> files;  // what stands alone
  TypedOptions typed;
  std::vector<std::string> unknown;  // no options of this verb, and more files than it takes
  std::vector<std::string> script;   // behind "--" of run; none of it is ours
  bool help = false;
};

bool IsOption(const std::string& word) { return word.size() >= 2 && word[0] == '-'; }

// CLI11's options of a verb, by their flags.
std::map<std::string, const OptionRow*> Declare(Verb verb, CLI::App* app) {
  std::map<std::string, const OptionRow*> rows;
  for (const OptionRow& row : OptionRows()) {
    if (!TakenBy(row, verb) || !rows.emplace(row.flag, &row).second) continue;
    if (row.is_flag()) {
      app->add_flag(row.flag);
    } else {
      app->add_option(row.flag)->allow_extra_args(false)->expected(1)->multi_option_policy(
          CLI::MultiOptionPolicy::TakeAll);
    }
  }
  return rows;
}

Result<VerbLine> ReadLine(Verb verb, std::span<const std::string> words) {
  const Behind behind = RowOf(verb).behind;
  VerbLine line;
  std::vector<std::string> ours;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != "--") {
      ours.push_back(words[i]);
    } else if (behind == Behind::kCommand) {
      line.script.assign(words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      break;
    }
  }
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  app.add_flag("-h,--help", line.help);
  const std::map<std::string, const OptionRow*> rows = Declare(verb, &app);
  for (const std::string& word : ours) {
    const std::string flag = word.substr(0, word.find('='));
    const auto row = rows.find(flag);
    if (flag.size() < word.size() && row != rows.end() && row->second->is_flag())
      return Usage(flag, "it takes no value", "type " + flag);
  }
  try {
    app.parse(std::vector<std::string>(ours.rbegin(), ours.rend()));
  } catch (const CLI::ParseError& error) {  // "--dim: 1 required TEXT missing"
    const std::string said = error.what();
    const auto row = rows.find(said.substr(0, said.find(':')));
    if (row == rows.end()) return Usage("", said, "vramplan --help explains the command line");
    return Usage(row->first, "no value is given", "type " + row->first + " " + row->second->argument);
  }
  std::map<std::string, size_t> read;  // values of an option so far
  for (const CLI::Option* option : app.parse_order()) {
    const auto row = rows.find(option->get_name());
    if (row == rows.end()) continue;  // --help
    const std::string value = row->second->is_flag() ? "" : option->results().at(read[row->first]++);
    if (value.starts_with("--"))  // no value begins so
      return Usage(row->first, "no value is given: " + value + " follows", "type the value after it");
    line.typed.push_back({row->first, value});
  }
  const size_t most_files = behind == Behind::kTwoFiles ? 2 : 1;
  for (const std::string& word : app.remaining())
    (!IsOption(word) && line.files.size() < most_files ? line.files : line.unknown).push_back(word);
  return line;
}

Result<Command> ParseVerb(Verb verb, std::span<const std::string> words) {
  const Result<VerbLine> line = ReadLine(verb, words);
  if (!line.ok()) return line.error();
  const std::string name(Name(verb));
  const std::string first = line->files.empty() ? "" : line->files[0];
  if (line->help) return Command(AskedText{HelpText(verb, first == "all")});
  if (!line->unknown.empty()) return Leftover(verb, line->unknown, line->typed);
  const Behind behind = RowOf(verb).behind;
  if (behind == Behind::kNothing && !first.empty()) return NoFile(verb, first);
  if (behind == Behind::kCommand && (line->script.empty() || !first.empty())) return NoScript(first);
  if (TakesFile(verb) && first.empty()) return Usage(name, "no file is given", "type " + Usual(verb));
  if (behind == Behind::kTwoFiles && line->files.size() < 2)
    return Usage(name, verb == Verb::kCheck ? "no schedule is given" : "no second file is given",
                 "type " + Usual(verb));
  const std::string* const card = Typed{"", {}, line->typed}.Other("--gpu");
  for (const std::string& file : line->files)
    if (std::optional<Error> lead = LeadOn(verb, file, card == nullptr ? "" : *card)) return *std::move(lead);
  Result<Options> options = Understand(verb, first, line->typed);
  if (!options.ok()) return options.error();
  options->script.command = line->script;
  if (line->files.size() == 2) (verb == Verb::kDiff ? options->compare : options->schedule) = line->files[1];
  return Command(*std::move(options));
}

const VerbRow* FindVerb(std::string_view name) {
  const auto row = std::ranges::find(VerbRows(), name, [](const VerbRow& one) { return std::string_view(one.name); });
  return row == VerbRows().end() ? nullptr : &*row;
}

}  // namespace

Result<Command> ParseCommandLine(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty()) {
    return Usage("vramplan", "no verb is given: " + AllVerbs(),
                 "type vramplan fit FILE.onnx --gpu t4, or vramplan --help");
  }
  // "vramplan help fit" and "vramplan fit help" are what some people type; the latter unless there is such a file.
  if (words[0] == "help") {
    if (words.size() > 1 && FindVerb(words[1]) == nullptr) return UnknownVerb(words[1]);
    words.erase(words.begin());
    words.emplace_back("--help");
  } else if (words.size() == 2 && words[1] == "help" && !std::filesystem::exists("help")) {
    words[1] = "--help";
  }
  const std::string& first = words[0];
  if (first == "-h" || first == "--help") return Command(AskedText{HelpText()});
  if (first == "-V" || first == "--version" || (first == "version" && words.size() == 1))
    return Command(AskedText{VersionText()});
  if (first == "manual" && words.size() == 1) return Command(AskedText{ManualText()});
  if (first == "completion") {
    const Result<std::string> script = CompletionText(words.size() == 2 ? words[1] : "");
    if (!script.ok()) return script.error();
    return Command(AskedText{*script});
  }
  if (const VerbRow* verb = FindVerb(first)) return ParseVerb(verb->verb, std::span(words).subspan(1));
  if (const std::string near = SuggestNearest(first, {"--help", "--version"}); !near.empty())
    return Usage(first, "no such option", near);
  if (first.starts_with('-'))
    return Usage(first, "an option cannot stand before the verb",
                 "type the verb first: vramplan fit FILE.onnx --gpu t4");
  return UnknownVerb(first);
}

}  // namespace vramplan
