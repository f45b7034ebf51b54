// ModuleCalls: between which layers the calls of modules lie, as hooks of the modules see them.
//
//   layers   0 embedding | 1 rsqrt  2 mul | 3 linear | 4 add
//   calls    embed [0,0]   block [1,4]: norm [1,2], norm.proj [3,3]
//
// A module's own parameters are those that its layers read. Where they are of several modules, as peft's adapters beside
// the layer that they are around, each of these layers is a call of its own.
#pragma once

#include <string>
#include <vector>

#include "graph/layers/layers.h"

namespace vramplan {

struct ModuleCall {
  std::string module;                    // calls of one module have one name
  size_t first = 0, last = 0;            // of its layers
  std::vector<ValueId> own;              // parameters
  std::vector<ValueId> inputs, outputs;  // values of the calls around it: taken, and made for them
};

// In order of execution, outer calls before inner ones; the first is that of the model.
std::vector<ModuleCall> ModuleCallsOf(const Layers& layers);

}  // namespace vramplan
