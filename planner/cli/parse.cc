#include "planner/cli/parse.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "planner/cli/completion.h"
#include "planner/cli/help.h"
#include "planner/cli/lead_on.h"
#include "planner/spec/nearest.h"
#include "planner/spec/other_words.h"

namespace vramplan {
namespace {

constexpr std::array kAllVerbs = {Verb::kFit,       Verb::kPlan,     Verb::kEstimate, Verb::kInspect, Verb::kGpus,
                                  Verb::kTrace,     Verb::kReplay,   Verb::kSolve,    Verb::kCheck,   Verb::kProbe,
                                  Verb::kCalibrate, Verb::kValidate, Verb::kWatch,    Verb::kExplain, Verb::kRun,
                                  Verb::kCompare,   Verb::kSweep,    Verb::kDiff,     Verb::kModels};

std::string AllVerbs() {
  std::vector<std::string> verbs;
  for (const Verb verb : kAllVerbs) verbs.emplace_back(Name(verb));
  return JoinChoices(verbs);
}

Error Usage(std::string subject, std::string text, std::string hint) {
  return {ErrorCode::kUsage, std::move(subject), std::move(text), std::move(hint)};
}

std::string HelpCommand(Verb verb) { return "vramplan " + std::string(Name(verb)) + " --help lists its options"; }

// What CLI11 left over: an option that this verb does not have, or a second file.
Error Leftover(Verb verb, const std::vector<std::string>& rest) {
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
  const bool number = rest.front().find_first_not_of("0123456789") == std::string::npos;
  const bool takes_batch = std::any_of(OptionRows().begin(), OptionRows().end(), [&](const OptionRow& row) {
    return row.flag == std::string_view("--batch") && TakenBy(row, verb);
  });
  if (number && takes_batch)
    return Usage(rest.front(), "it stands alone, without an option", "type --batch " + rest.front());
  return Usage(rest.front(),
               std::string(Name(verb)) +
                   (verb == Verb::kGpus || verb == Verb::kModels ? " takes one text" : " takes one file") +
                   ", and this is a second one",
               HelpCommand(verb));
}

// "--ema --format json": CLI11 takes the next option as the value. No value begins so.
std::optional<Error> WithoutValue(const TypedOptions& typed) {
  for (const auto& [flag, values] : typed) {
    for (const std::string& value : values) {
      if (value.starts_with("--"))
        return Usage(flag, "no value is given: " + value + " follows", "type the value after it");
    }
  }
  return std::nullopt;
}

// "--dim: 1 required TEXT missing" of CLI11: an option at the end of the line.
Error NoValue(const std::string& said) {
  const std::string flag = said.substr(0, said.find(':'));
  for (const OptionRow& row : OptionRows()) {
    if (row.flag == flag) return Usage(flag, "no value is given", "type " + flag + " " + row.argument);
  }
  return Usage("", said, "vramplan --help explains the command line");
}

Error UnknownVerb(const std::string& word) {
  std::vector<std::string> verbs;
  for (const Verb verb : kAllVerbs) verbs.emplace_back(Name(verb));
  if (word.ends_with(".onnx") || word.ends_with(".pt2")) {
    return Usage(word, "a verb comes first: " + AllVerbs(), "type vramplan fit " + word + " --gpu t4");
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
std::string Usual(Verb verb) {
  const std::string typed = "vramplan " + std::string(Name(verb));
  if (verb == Verb::kReplay) return typed + " FILE.csv";
  if (verb == Verb::kSolve) return typed + " FILE";
  if (verb == Verb::kWatch) return typed + " PID --model FILE.onnx";
  if (verb == Verb::kSweep) return typed + " FILE.onnx --over batch=1:256:x2";
  if (verb == Verb::kCompare) return typed + " run.pickle --model FILE.onnx";
  if (verb == Verb::kDiff) return typed + " OLD.onnx NEW.onnx --budget 2%";
  if (verb == Verb::kExplain) return typed + " LOG --model FILE.onnx";
  if (verb == Verb::kFit || verb == Verb::kPlan) return typed + " FILE.onnx --gpu t4";
  return typed + (verb == Verb::kCheck ? " FILE SCHEDULE --budget N" : " FILE.onnx");
}

// What stands behind --, which is taken away: none of it is ours.
std::vector<std::string> TakeScript(std::vector<const char*>* arguments) {
  const auto dashes = std::find_if(arguments->begin(), arguments->end(),
                                   [](const char* word) { return std::string_view(word) == "--"; });
  std::vector<std::string> script;
  if (dashes != arguments->end()) script.assign(dashes + 1, arguments->end());
  arguments->erase(dashes, arguments->end());
  return script;
}

// "vramplan run python train.py", or nothing at all.
Error NoScript(const std::string& word) {
  return word.empty() ? Usage("run", "no command is given", "type vramplan run --gpu t4 -- python train.py")
                      : Usage(word, "the command comes after --", "type vramplan run --gpu t4 -- " + word + " ...");
}

bool TakesTwoFiles(Verb verb) { return verb == Verb::kCheck || verb == Verb::kDiff; }

struct VerbApp {
  CLI::App* app = nullptr;
  std::string positional, second;
  bool help = false;
  TypedOptions typed;
};

// `typed`: whether the verb stands anywhere on the command line; only then somebody asks for its options.
void Declare(CLI::App* root, Verb verb, bool typed, VerbApp* into) {
  into->app = root->add_subcommand(std::string(Name(verb)));
  into->app->set_help_flag();
  into->app->allow_extras();
  if (!typed) return;
  into->app->add_flag("-h,--help", into->help);
  into->app->add_option("file", into->positional);
  if (TakesTwoFiles(verb)) into->app->add_option("second", into->second);
  for (const OptionRow& row : OptionRows()) {
    if (!TakenBy(row, verb)) continue;
    std::vector<std::string>& values = into->typed[row.flag];
    if (row.is_flag()) {
      into->app->add_flag(row.flag)->each([&values](const std::string& given) { values = {given}; });
      continue;
    }
    CLI::Option* option = into->app->add_option(row.flag, values)->allow_extra_args(false);
    // The last one wins, so that a script's line can be overridden at its end.
    if (!row.repeats) option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

}  // namespace

Result<Command> ParseCommandLine(int argc, const char* const* argv) {
  if (argc < 2) {
    return Usage("vramplan", "no verb is given: " + AllVerbs(),
                 "type vramplan fit FILE.onnx --gpu t4, or vramplan --help");
  }
  CLI::App root;
  root.set_help_flag();
  bool help = false, version = false;
  root.add_flag("-h,--help", help);
  root.add_flag("-V,--version", version);
  root.allow_extras();
  std::map<Verb, VerbApp> verbs;
  for (const Verb verb : kAllVerbs)
    Declare(&root, verb, std::find(argv + 1, argv + argc, Name(verb)) != argv + argc, &verbs[verb]);
  // "vramplan help fit" is what some people type.
  std::vector<const char*> arguments(argv, argv + argc);
  std::vector<std::string> script;
  if (std::string_view(arguments[1]) == Name(Verb::kRun)) script = TakeScript(&arguments);
  const std::string_view first = arguments[1];
  if (first == "help") {
    const auto is_second = [&](Verb verb) { return argc > 2 && Name(verb) == arguments[2]; };
    if (argc > 2 && std::none_of(kAllVerbs.begin(), kAllVerbs.end(), is_second)) return UnknownVerb(arguments[2]);
    arguments.erase(arguments.begin() + 1);
    arguments.push_back("--help");
  }
  // "vramplan version", "vramplan fit help", unless there is a file of this name.
  if (first == "version" && argc == 2) return Command(Answer{VersionText()});
  if (first == "manual" && argc == 2) return Command(Answer{ManualText()});
  if (first == "completion") {
    const Result<std::string> script_text = CompletionText(argc == 3 ? arguments[2] : "");
    if (!script_text.ok()) return script_text.error();
    return Command(Answer{*script_text});
  }
  if (argc == 3 && std::string_view(arguments[2]) == "help" && !std::filesystem::exists("help"))
    arguments[2] = "--help";
  try {
    root.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ArgumentMismatch& error) {
    return NoValue(error.what());
  } catch (const CLI::ParseError& error) {
    return Usage("", error.what(), "vramplan --help explains the command line");
  }
  if (version) return Command(Answer{VersionText()});
  for (auto& [verb, parsed] : verbs) {
    if (!parsed.app->parsed()) continue;
    if (help || parsed.help) return Command(Answer{HelpText(verb, parsed.positional == "all")});
    if (const std::optional<Error> missing = WithoutValue(parsed.typed)) return *missing;
    if (const std::vector<std::string> rest = parsed.app->remaining(); !rest.empty()) return Leftover(verb, rest);
    if (!parsed.positional.empty() && (verb == Verb::kProbe || verb == Verb::kCalibrate))
      return NoFile(verb, parsed.positional);
    if (parsed.positional.empty() && TakesFile(verb))
      return Usage(std::string(Name(verb)), "no file is given", "type " + Usual(verb));
    if (parsed.second.empty() && TakesTwoFiles(verb))
      return Usage(std::string(Name(verb)), verb == Verb::kCheck ? "no schedule is given" : "no second file is given",
                   "type " + Usual(verb));
    for (auto entry = parsed.typed.begin(); entry != parsed.typed.end();) {
      entry = entry->second.empty() ? parsed.typed.erase(entry) : std::next(entry);
    }
    if (verb == Verb::kRun && (script.empty() || !parsed.positional.empty())) return NoScript(parsed.positional);
    const auto gpu = parsed.typed.find("--gpu");
    const std::string card = gpu == parsed.typed.end() ? "" : gpu->second.back();
    for (const std::string& file : {parsed.positional, TakesTwoFiles(verb) ? parsed.second : std::string()}) {
      if (std::optional<Error> lead = LeadOn(verb, file, card)) return *std::move(lead);
    }
    std::vector<std::string> flags;
    for (const CLI::Option* option : parsed.app->parse_order()) flags.push_back(option->get_name());
    Result<Options> options = Understand(verb, parsed.positional, parsed.typed, flags);
    if (!options.ok()) return options.error();
    options->script = std::move(script);
    (verb == Verb::kDiff ? options->compare : options->schedule) = parsed.second;
    return Command(*std::move(options));
  }
  if (help) return Command(Answer{HelpText()});
  const std::vector<std::string> rest = root.remaining();
  if (rest.empty()) return Usage("vramplan", "no verb is given", "vramplan --help explains the command line");
  if (const std::string near = SuggestNearest(rest.front(), {"--help", "--version"}); !near.empty())
    return Usage(rest.front(), "no such option", near);
  if (rest.front()[0] == '-')
    return Usage(rest.front(), "an option cannot stand before the verb",
                 "type the verb first: vramplan fit FILE.onnx --gpu t4");
  return UnknownVerb(rest.front());
}

}  // namespace vramplan
