// Asked: what a command line answered, for servers that pass it on to programs and pages.
//
//   ask({"fit", "unet.onnx", "--gpu", "t4"}, "")    exit code 0, out "unet.onnx trains on ...", err "note: ..."
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace vramplan {

struct Asked {
  int exit_code = 0;
  std::string out, err;
  // Exit codes 0 and 3: also "it does not fit" is an answer.
  bool answered() const { return exit_code == 0 || exit_code == 3; }
};

// `words`: behind the program's name. `input`: what standard input holds.
using Asker = std::function<Asked(const std::vector<std::string>& words, const std::string& input)>;

// The line of the command line's error, without the program's name.
std::string ErrorLine(const Asked& asked);

}  // namespace vramplan
