#include "planner/cli/completion.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "planner/cli/help.h"
#include "planner/cli/options.h"
#include "planner/spec/catalogue.h"

namespace vramplan {
namespace {

std::vector<Verb> EveryVerb() {
  std::vector<Verb> verbs;
  for (int v = 0; v < kVerbs; ++v) verbs.push_back(static_cast<Verb>(v));
  return verbs;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::vector<std::string> FlagsOf(Verb verb) {
  std::vector<std::string> flags;
  for (const OptionRow& row : OptionRows()) {
    if (TakenBy(row, verb)) flags.emplace_back(row.flag);
  }
  flags.emplace_back("--help");
  return flags;
}

// Options whose values are words. All other values are numbers, names or files.
struct Words {
  std::string flag;
  std::vector<std::string> values;
};

std::vector<Words> WordsOfOptions() {
  Words cards{"--gpu", {"auto", "all"}};
  for (const auto rows : {DataCentreCards(), GeForceCards(), WorkstationCards(), AmdCards()}) {
    for (const CardRow& card : rows) cards.values.emplace_back(card.id);
  }
  Words precisions{"--precision", {}}, optimizers{"--optimizer", {}}, losses{"--loss", {}};
  for (auto p = Precision::kFp64; p <= Precision::kBf16; p = static_cast<Precision>(static_cast<int>(p) + 1))
    precisions.values.emplace_back(Name(p));
  for (auto o = Optimizer::kNone; o <= Optimizer::kLion8bit; o = static_cast<Optimizer>(static_cast<int>(o) + 1))
    optimizers.values.emplace_back(Name(o));
  for (auto l = Loss::kAuto; l <= Loss::kTripletMargin; l = static_cast<Loss>(static_cast<int>(l) + 1))
    losses.values.emplace_back(Name(l));
  return {cards,
          precisions,
          optimizers,
          losses,
          {"--mode", {"train", "infer", "eval", "serve"}},
          {"--optimizer-impl", {"foreach", "fused", "for-loop"}},
          {"--format", {"text", "json"}}};
}

std::string AllVerbWords() {
  std::vector<std::string> verbs;
  for (const Verb verb : EveryVerb()) verbs.emplace_back(Name(verb));
  return Joined(verbs);
}

// bash, and zsh through its bashcompinit.
std::string BashScript() {
  std::string text =
      "_vramplan() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words=\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W \"" +
      AllVerbWords() +
      " --help --version\" -- \"$word\"))\n"
      "    return\n"
      "  fi\n"
      "  case $before in\n";
  for (const Words& option : WordsOfOptions())
    text += "    " + option.flag + ") words=\"" + Joined(option.values) + "\" ;;\n";
  text +=
      "  esac\n"
      "  if [[ -z $words && $word == -* ]]; then\n"
      "    case ${COMP_WORDS[1]} in\n";
  for (const Verb verb : EveryVerb())
    text += "      " + std::string(Name(verb)) + ") words=\"" + Joined(FlagsOf(verb)) + "\" ;;\n";
  return text +
         "    esac\n"
         "  fi\n"
         "  if [[ -n $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "  else COMPREPLY=($(compgen -f -- \"$word\")); fi\n"
         "}\n";
}

// What stands between quotes of fish: one line, the first sentence.
std::string Brief(std::string_view text) {
  text = text.substr(0, text.find_first_of("[;:"));
  std::string brief;
  for (const char c : text) brief += c == '\'' ? std::string("\\'") : std::string(1, c);
  while (brief.ends_with(' ')) brief.pop_back();
  return brief;
}

std::string FishScript() {
  std::string text = "complete -c vramplan -n __fish_use_subcommand -f -a '" + AllVerbWords() + "'\n";
  const std::vector<Words> words = WordsOfOptions();
  for (const Verb verb : EveryVerb()) {
    for (const OptionRow& row : OptionRows()) {
      if (!TakenBy(row, verb)) continue;
      text += "complete -c vramplan -n '__fish_seen_subcommand_from " + std::string(Name(verb)) + "' -l " +
              std::string(row.flag).substr(2);
      const auto found =
          std::find_if(words.begin(), words.end(), [&](const Words& one) { return one.flag == row.flag; });
      if (!row.is_flag()) text += found == words.end() ? " -r" : " -x -a '" + Joined(found->values) + "'";
      text += " -d '" + Brief(row.text) + "'\n";
    }
  }
  return text;
}

// troff reads a backslash, and a point or an apostrophe that begins a line, as its own.
std::string Escaped(std::string_view text) {
  std::string escaped;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
    begins = c == '\n';
  }
  return escaped;
}

std::string Plain(std::string_view text) { return ".nf\n" + Escaped(text) + ".fi\n"; }

}  // namespace

Result<std::string> CompletionText(std::string_view shell) {
  if (shell == "bash") return BashScript() + "complete -o filenames -F _vramplan vramplan\n";
  if (shell == "zsh")
    return "#compdef vramplan\nautoload -U +X bashcompinit && bashcompinit\n" + BashScript() +
           "complete -o filenames -F _vramplan vramplan\n" +
           // The first time, zsh calls the file itself instead of what it defines.
           "[[ ${funcstack[1]} == _vramplan ]] && _bash_complete -o filenames -F _vramplan\n"
           "true\n";
  if (shell == "fish") return FishScript();
  return Error{ErrorCode::kUsage, std::string(shell), "is not one of bash, zsh or fish",
               "type vramplan completion bash"};
}

std::string ManualText() {
  std::string version = VersionText();
  version.pop_back();
  std::string text = ".TH VRAMPLAN 1 \"\" \"" + version + "\" \"User Commands\"\n" +
                     ".SH NAME\nvramplan \\- how much GPU memory a PyTorch step takes, without a GPU\n" +
                     ".SH DESCRIPTION\n" + Plain(HelpText()) + ".SH VERBS\n";
  for (const Verb verb : EveryVerb()) text += ".SS " + std::string(Name(verb)) + "\n" + Plain(HelpText(verb, true));
  return text;
}

}  // namespace vramplan
