// Help: what --help prints, made of the rows of OptionRows().
#pragma once

#include <optional>
#include <string>

#include "planner/cli/options.h"

namespace vramplan {

// Of vramplan itself.
std::string HelpText();
// Of one verb: the options that people use first, and the names of the others by group; with `all` every option.
std::string HelpText(Verb verb, bool all);
std::string VersionText();  // "vramplan 0.1.0"

}  // namespace vramplan
