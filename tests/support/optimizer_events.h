// Rows of optimizer tests: spec, parameters, and the events of the constructor, of the first step and of a later one,
// "/" between them.
//
//   {"sgd-momentum", "p:f[4] p:f[8]", " / 1+16 2+32 / "}
#pragma once

#include <initializer_list>
#include <string>

#include "tests/support/one_operator.h"

namespace vramplan::testing {

struct OptimizerCase {
  const char* spec;
  const char* parameters;
  const char* events;
};

// Every parameter has a gradient like itself.
std::string OptimizerEvents(const std::string& spec, const std::string& parameters);
void CheckOptimizers(std::initializer_list<OptimizerCase> rows);

// The library's workspace is there from the forward.
void WarmCublas(Trial& trial);

}  // namespace vramplan::testing
