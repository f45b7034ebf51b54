// A program run on cards that are not there (pretend/library, behind tests/pretend/strict), as its user would run it.
//
//   const PretendRun run = OnPretendGpu({.description = "card Tesla T4"}, AskCard({"open 0", "free"}));
//   run.out == "open\nfree 15896412160 of 16106127360\n";  run.complaints == "";  // nothing was left behind
#pragma once

#include <string>
#include <vector>

namespace vramplan::testing {

// False: the program was built without a toolkit, and such tests have nothing to say.
bool HasPretendGpu();

struct PretendMachine {
  std::string description;                                       // statements of pretend/card/README.md
  bool driver = true, nvml = true, cublas = true, cudnn = true;  // which libraries are installed
  bool windows = false;                                          // Linux inside Windows
  std::string environment;                                       // "CUDA_VISIBLE_DEVICES=1", for the shell
};

struct PretendRun {
  int exit_code = 0;
  std::string out, err;
  std::string complaints;  // misuse, and what was left behind: a line each
};

// Runs a shell command with that machine below it.
PretendRun OnPretendGpu(const PretendMachine& machine, const std::string& command);

// The vramplan binary with these words; MODELS/ stands for the folder of the example graphs.
std::string Vramplan(const std::string& words);
// ask_card with these questions.
std::string AskCard(const std::vector<std::string>& questions);
// The program that uses the pretend driver wrongly, in this way.
std::string Misuse(const std::string& how);

}  // namespace vramplan::testing
