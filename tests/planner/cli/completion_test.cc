#include "planner/cli/completion.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

#include "planner/cli/option_row.h"
#include "planner/cli/verbs.h"
#include "tests/support/command_line.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScratchFile;

// What bash completes a line of these words with; "-" where there is no bash.
std::string Completed(const std::string& words) {
  const ScratchFile script("completion.bash", Do("completion bash").out);
  const std::string command = "bash -c 'source " + script.path() + "; COMP_WORDS=(" + words +
                              "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _vramplan; echo ${COMPREPLY[@]}'";
  FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  for (std::array<char, 256> part; std::fgets(part.data(), part.size(), pipe) != nullptr;) text += part.data();
  return pclose(pipe) == 0 ? text : "-";
}

TEST_CASE("completion: verbs, options of the verb, words of the option") {
  CHECK(Completed("vramplan est") == "estimate\n");
  CHECK(Completed("vramplan fit x.onnx --prec") == "--precision\n");
  CHECK(Completed("vramplan fit x.onnx --precision amp") == "amp-fp16 amp-bf16\n");
  CHECK(Completed("vramplan fit x.onnx --gpu t4") == "t4\n");
  CHECK(Completed("vramplan estimate x.onnx --optimizer sgd-n") == "sgd-nesterov\n");
  CHECK(Completed("vramplan gpus --prec") == "\n");
}

// What a shell prints; nothing where it is not installed.
std::optional<std::string> PrintedBy(const std::string& shell, const std::string& command) {
  if (std::system(("command -v " + shell + " >/dev/null").c_str()) != 0) {
    MESSAGE(shell << " is not installed: skipped");
    return std::nullopt;
  }
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string text;
  for (std::array<char, 256> part; std::fgets(part.data(), part.size(), pipe) != nullptr;) text += part.data();
  pclose(pipe);
  return text;
}

TEST_CASE("completion: fish itself completes with its script") {
  const ScratchFile script("completion.fish", Do("completion fish").out);
  struct Row {
    const char* words;
    const char* begins;
  };
  for (const Row& row : {Row{"vramplan est", "estimate"}, Row{"vramplan fit x.onnx --prec", "--precision\t"},
                         Row{"vramplan fit x.onnx --precision amp-f", "amp-fp16\t"},
                         Row{"vramplan fit x.onnx --gpu h100-sx", "h100-sxm\t"}}) {
    const auto said =
        PrintedBy("fish", "fish --no-config -c 'source " + script.path() + "; complete -C \"" + row.words + "\"'");
    if (!said) return;
    CAPTURE(row.words);
    CAPTURE(*said);
    CHECK(said->starts_with(row.begins));
  }
}

// In a terminal of its own, where the first tab already has to complete.
TEST_CASE("completion: zsh itself completes with its script") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "vramplan_test_zsh";
  fs::create_directories(folder);
  std::ofstream(folder / "_vramplan") << Do("completion zsh").out;
  std::ofstream(folder / "terminal.zsh") << "zmodload zsh/zpty\n"
                                            "zpty terminal zsh -f -i\n"
                                            "zpty -w terminal \"PS1='> '; fpath=($1 \\$fpath); autoload -Uz compinit; "
                                            "compinit -u -d $1/dump; echo REA''DY\"\n"
                                            "zpty -r -m terminal out '*READY*'\n"
                                            "zpty -n -w terminal \"$2\"$'\\t'\n"
                                            "zpty -r -m terminal out \"*$3*\" && print completed\n"
                                            "zpty -d terminal\n";
  for (const auto& [words, whole] : {std::pair("vramplan est", "estimate"),
                                     {"vramplan fit x.onnx --gpu h100-sx", "h100-sxm"},
                                     {"vramplan fit x.onnx --prec", "--precision"}}) {
    fs::remove(folder / "dump");
    const auto said = PrintedBy("zsh", "timeout 60 zsh -f " + (folder / "terminal.zsh").string() + " " +
                                           folder.string() + " \"" + words + "\" \"" + whole + "\"");
    if (!said) break;
    CAPTURE(words);
    CHECK(said->ends_with("completed\n"));
  }
  fs::remove_all(folder);
}

TEST_CASE("completion: every option of every verb is in the script of each shell") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Said said = Do(std::string("completion ") + shell);
    CHECK(said.exit_code == 0);
    for (const OptionRow& row : OptionRows()) {
      CAPTURE(shell);
      CAPTURE(row.flag);
      const std::string flag = std::string(shell) == "fish" ? "-l " + std::string(row.flag).substr(2) : row.flag;
      CHECK(said.out.find(flag) != std::string::npos);
    }
  }
}

TEST_CASE("completion: another shell is refused") {
  const Said said = Do("completion tcsh");
  CHECK(said.exit_code == 2);
  CHECK(said.err == "vramplan: tcsh: is not one of bash, zsh or fish (hint: type vramplan completion bash)\n");
  CHECK(Do("completion").exit_code == 2);
}

TEST_CASE("the manual page has every verb, and no line that troff would read as its own") {
  const std::string manual = Do("manual").out;
  CHECK(manual.starts_with(".TH VRAMPLAN 1"));
  for (const VerbRow& row : VerbRows())
    CHECK(manual.find("\n.SS " + std::string(row.name) + "\n") != std::string::npos);
  size_t own = 0;
  for (size_t at = manual.find("\n."); at != std::string::npos; at = manual.find("\n.", at + 1)) ++own;
  CHECK(own ==
        5 + 3 * VerbRows().size());  // three headings, and around each help .nf and .fi; of each verb a heading too
}

}  // namespace
}  // namespace vramplan
