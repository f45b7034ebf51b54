// Lifetimes: how long Python holds each value of the forward, by the only evidence a graph has: who uses it, and which
// module calls are open.
//
//   y = block(x):  x is held by the call's arguments until block returns, however early block last uses it
//   chain a -> b -> c inside one Sequential: a dies when b is there, unless something saved it
#pragma once

#include <cstdint>
#include <vector>

#include "graph/lift/layers.h"

namespace vramplan {

// Where a file does not say the names of Python's variables: those that its use tells and habit gives, none, or one for
// every result that is not handed on in a chain, to the end of its frame.
enum class Naming : uint8_t { kLikely, kFewest, kMost };

// For each layer, the values that Python lets go of when it is done. Inputs, parameters, buffers and the model's
// outputs are not among them: the caller or the module holds those.
std::vector<std::vector<ValueId>> ReleasesAfter(const Layers& layers, Naming naming = Naming::kLikely);

}  // namespace vramplan
