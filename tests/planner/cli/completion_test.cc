#include "planner/cli/completion.h"

#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "planner/cli/options.h"
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
  for (int v = 0; v < kVerbs; ++v)
    CHECK(manual.find("\n.SS " + std::string(Name(static_cast<Verb>(v))) + "\n") != std::string::npos);
  size_t own = 0;
  for (size_t at = manual.find("\n."); at != std::string::npos; at = manual.find("\n.", at + 1)) ++own;
  CHECK(own == 5 + 3 * kVerbs);  // three headings, and around each help .nf and .fi; of each verb a heading too
}

}  // namespace
}  // namespace vramplan
