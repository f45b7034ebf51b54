#include "planner/cli/help.h"

#include <algorithm>
#include <map>
#include <vector>

#include "graph/base/text.h"
#include "graph/base/text_table.h"
#include "planner/cli/option_row.h"
#include "planner/cli/verbs.h"

namespace vramplan {
namespace {

constexpr int kWidth = 100;
constexpr int kTextColumn = 30;

// What stands in the help of vramplan itself beside the verbs.
struct HelpLine {
  const char *left, *text;
};
constexpr HelpLine kOtherLines[] = {
    {"--help", "after a verb: its options and examples; --help all: every option"},
    {"--version", "the version"},
    {"completion SHELL", "print the script that completes command lines in bash, zsh or fish"},
    {"mcp", "a server of the Model Context Protocol on standard input and output, for agents"},
    {"manual", "the manual page: vramplan manual | man -l -"},
};

// A verb with no more has no need of groups.
constexpr size_t kFewOptions = 14;

std::string Row(const std::string& left, const std::string& text) {
  const std::string indent(kTextColumn, ' ');
  std::string line = "  " + left;
  line += line.size() + 2 > kTextColumn ? "\n" + indent : std::string(kTextColumn - line.size(), ' ');
  for (const char c : Wrapped(text, kWidth - kTextColumn, "")) line += c == '\n' ? "\n" + indent : std::string(1, c);
  return line + "\n";
}

}  // namespace

std::string HelpText() {
  std::string text =
      "vramplan tells, without a GPU, how much GPU memory a PyTorch training or inference step takes,\n"
      "whether it fits a card, and the largest batch that does. A model is given by its file (ONNX, .pt2)\n"
      "or its name; vramplan run takes a script.\n"
      "\n"
      "usage: vramplan VERB ...\n"
      "\n";
  for (const bool expert : {false, true}) {
    if (expert)
      text +=
          "\n"
          "for experts, about single requests:\n";
    for (const VerbRow& row : VerbRows())
      if (row.expert == expert) text += Row(row.left, row.line);
  }
  text += "\n";
  for (const HelpLine& line : kOtherLines) text += Row(line.left, line.text);
  text +=
      "\nexamples:\n  vramplan fit unet.onnx --gpu t4\n  vramplan fit resnet50.onnx --gpu all --batch 32\n"
      "  vramplan estimate bert.onnx --batch 8 --dim sequence=128 --optimizer adamw\n"
      "\nexit codes: 0 done or fits, 1 bad input, 2 wrong usage, 3 does not fit, 4 no card here,\n70 a bug of "
      "vramplan\n";
  return text;
}

std::string HelpText(Verb verb, bool all) {
  const VerbRow& help = RowOf(verb);
  std::string text = Wrapped(help.text, kWidth, "") + "\n\nusage: " + help.usage + "\n\noptions [default]:\n";
  std::vector<const OptionRow*> rows;
  for (const OptionRow& row : OptionRows()) {
    if (TakenBy(row, verb)) rows.push_back(&row);
  }
  std::ranges::stable_sort(rows, {}, &OptionRow::group);
  all = all || rows.size() <= kFewOptions;
  std::map<OptionGroup, std::string> others;
  for (const OptionRow* row : rows) {
    if (all || row->first) {
      text += Row(std::string(row->flag) + (row->is_flag() ? "" : " ") + row->argument, row->text);
    } else {
      std::string& names = others[row->group];
      names += (names.empty() ? "" : ", ") + std::string(row->flag);
    }
  }
  if (!others.empty())
    text +=
        "\n"
        "more options, explained by vramplan " +
        std::string(Name(verb)) + " --help all:\n";
  for (const auto& [group, names] : others) text += Row(std::string(kOptionGroups[static_cast<size_t>(group)]), names);
  return text + "\nexamples:\n" + help.examples;
}

std::string VersionText() { return "vramplan " VRAMPLAN_VERSION "\n"; }

}  // namespace vramplan
