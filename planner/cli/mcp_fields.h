// InFields: what an answer says in options of the command line, in the arguments that an agent gives a tool.
//
//   InFields("fit", "--gpu: ... (hint: type --gpu h100-pcie)")   gpu: ... (hint: give gpu h100-pcie)
//   InFields("fit", "type --clip-grad-norm 1")                   give options.clip_grad_norm 1
//   InFields("explain", "--save keeps it")                       the command line's --save keeps it
//   InFields("fit", "vramplan run --gpu t4 -- python x.py")      as it is: it is typed
#pragma once

#include <string>
#include <string_view>

#include "planner/report/writing/json.h"

namespace vramplan {

std::string InFields(std::string_view tool, std::string_view text);
// Of an answer in JSON: the hints in it.
Json HintsInFields(std::string_view tool, const Json& answer);

}  // namespace vramplan
