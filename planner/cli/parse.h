// Parse: from argv to Options, or to a text that was asked for.
#pragma once

#include <string>
#include <variant>

#include "graph/base/result.h"
#include "planner/cli/options.h"

namespace vramplan {

// --help or --version: the text that goes to stdout.
struct AskedText {
  std::string text;
};
using Command = std::variant<Options, AskedText>;

// Errors are all of usage; unknown verbs and options get the nearest ones.
Result<Command> ParseCommandLine(int argc, const char* const* argv);

}  // namespace vramplan
