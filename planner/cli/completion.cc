#include "planner/cli/completion.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "planner/cli/help.h"
#include "planner/cli/option_row.h"
#include "planner/cli/verbs.h"

namespace vramplan {
namespace {

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

// Options whose values are words, once each. All other values are numbers, names or files.
std::vector<const OptionRow*> WordOptions() {
  std::vector<const OptionRow*> options;
  for (const OptionRow& row : OptionRows()) {
    const auto same = [&](const OptionRow* one) { return std::string_view(one->flag) == row.flag; };
    if (row.words != nullptr && std::ranges::none_of(options, same)) options.push_back(&row);
  }
  return options;
}

std::string AllVerbWords() {
  std::vector<std::string> verbs;
  for (const VerbRow& row : VerbRows()) verbs.emplace_back(row.name);
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
  for (const OptionRow* option : WordOptions())
    text += "    " + std::string(option->flag) + ") words=\"" + Joined(option->words()) + "\" ;;\n";
  text +=
      "  esac\n"
      "  if [[ -z $words && $word == -* ]]; then\n"
      "    case ${COMP_WORDS[1]} in\n";
  for (const VerbRow& row : VerbRows())
    text += "      " + std::string(row.name) + ") words=\"" + Joined(FlagsOf(row.verb)) + "\" ;;\n";
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
  for (const VerbRow& verb : VerbRows()) {
    for (const OptionRow& row : OptionRows()) {
      if (!TakenBy(row, verb.verb)) continue;
      text += "complete -c vramplan -n '__fish_seen_subcommand_from " + std::string(verb.name) + "' -l " +
              std::string(row.flag).substr(2);
      if (!row.is_flag()) text += row.words == nullptr ? " -r" : " -x -a '" + Joined(row.words()) + "'";
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
  for (const VerbRow& row : VerbRows()) text += ".SS " + std::string(row.name) + "\n" + Plain(HelpText(row.verb, true));
  return text;
}

}  // namespace vramplan
