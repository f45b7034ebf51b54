// Help: what --help prints, made of the rows of OptionRows().
#pragma once

#include <optional>
#include <string>

#include "planner/cli/options.h"

namespace vramplan {

// Of one verb, or of vramplan itself.
std::string HelpText(std::optional<Verb> verb);
std::string VersionText();  // "vramplan 0.1.0"

}  // namespace vramplan
