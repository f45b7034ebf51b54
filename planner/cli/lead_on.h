// LeadOn: what people give in place of a file with a model, and what to type for it.
//
//   vramplan fit train.py           a script: vramplan run --gpu t4 -- python train.py
//   vramplan fit ORG/NAME           a model of the Hugging Face Hub: two lines of Python
//   vramplan fit DIR                the file in it, or those two lines
#pragma once

#include <optional>
#include <string>

#include "graph/base/result.h"
#include "planner/cli/options.h"

namespace vramplan {

// `gpu`: as typed; empty: none. Nothing where `path` may be a file with a model, or is a mistyped name of one.
std::optional<Error> LeadOn(Verb verb, const std::string& path, const std::string& gpu);

}  // namespace vramplan
