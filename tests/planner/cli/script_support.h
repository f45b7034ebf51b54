// A command for vramplan run, without torch: a shell script that writes what the hook would have written.
#pragma once

#include <filesystem>
#include <regex>
#include <string>

#include "tests/support/command_line.h"

namespace vramplan::testing {

inline constexpr const char* kRecording =
    "vramplan.recording/1\n"
    "python\t3.11.7\t/usr/bin/python3\n"
    "torch\t2.10.0+cu128\t12.8\t\n"
    "argv\ttrain.py\n"
    "rank\t0\t1\n"
    "mark\tbackward\t3\t/x/train.py\t11\tmain\n"
    "mark\tafter-backward\t4\t/x/train.py\t11\tmain\n"
    "mark\tupdate\t4\t/x/train.py\t12\tmain\n"
    "mark\tafter-update\t5\t/x/train.py\t12\tmain\n"
    "step\t1\t5\t700000000\t710000000\t800000000\t600000000\t610000000\t800000000\t1.5\n"
    "last\t5\t700000000\t710000000\t800000000\t600000000\t610000000\t800000000\t600000000\t610000000\t800000000\t0\n"
    "frame\t0\t6\tmain\t/x/train.py\n"
    "frame\t1\t20\tforward\t/v/lib/site-packages/timm/layers.py\n"
    "stack\t0\t0\n"
    "stack\t1\t1,0\n"
    "stack\t2\t\n"
    "s\t4096\t800000000\n"
    "a\t1000000000\t200000000\t0\t\n"
    "tag\tparameters\t4\t1000000000\n"
    "at\tforward\n"
    "a\t2000000000\t60000000\t1\tblocks.0\n"
    "a\t3000000000\t40000000\t1\tblocks.1\n"
    "at\tbackward\n"
    "a\t4000000000\t200000000\t2\t\n"
    "tag\tgradients\t4\t4000000000\n"
    "at\tupdate\n"
    "a\t5000000000\t200000000\t0\t\n"
    "at\tafter-update\n"
    "tag\tparameters\t4\t1000000000\n"
    "tag\toptimizer_state\t4\t5000000000\n"
    "at\tstep\n"
    "f\t2000000000\t60000000\n"
    "f\t3000000000\t40000000\n";

// The words behind `vramplan run`, of a script that writes these files and ends as `rest` does.
struct Script {
  std::string recording, card;
  std::string rest = "true";
};

inline Said Run(const std::string& options, const Script& script, const std::string& arguments = "",
                Probe* machine = nullptr) {
  const ScopedVariable path("VRAMPLAN_PRETEND_PATH",
                            (std::filesystem::path(VRAMPLAN_BINARY).parent_path() / "pretend").c_str());
  const ScratchFile recording("script.recording", script.recording), card("script.card", script.card);
  std::string text = "#!/bin/sh\n";
  if (!script.recording.empty()) text += "cp " + recording.path() + " $VRAMPLAN_RECORDING/$$.recording\n";
  if (!script.card.empty()) text += "cp " + card.path() + " $VRAMPLAN_RECORDING/$$.card\n";
  const ScratchFile file("train.sh", text + script.rest + "\n");
  return Do("run " + options + " -- /bin/sh " + file.path() + arguments, machine);
}

// The command has a path of this machine.
inline std::string WithoutPaths(std::string text) {
  const std::string folder = std::filesystem::temp_directory_path().string() + "/";
  for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) text.erase(at, folder.size());
  return std::regex_replace(text, std::regex("\"pid\": [0-9]+"), "\"pid\": 1");
}

inline const std::string kWhole = std::string(kRecording) + "end\tsteps\t2.0\n";
inline const std::string kFull =
    std::string(kRecording) +
    "out-of-memory\t5\t900000000\t2000000000\t300000000\t600000000\t610000000\t800000000\t/x/train.py\t9\tmain\n"
    "o\t0\t900000000\nfailed\ttorch.OutOfMemoryError\tCUDA out of memory. Tried to allocate 858.31 MiB.\n"
    "end\texit\t2.0\n";
inline constexpr const char* kCard = "vramplan.card/1\ncard\t0\t2000000000\t0\t800000000\n";

}  // namespace vramplan::testing
