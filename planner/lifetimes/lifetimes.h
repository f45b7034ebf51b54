// Lifetimes: how long Python keeps each value of the forward. A graph has two pieces of evidence: who uses the value,
// and which module calls are running at the time.
//
//   y = block(x):  the call's arguments keep x until block returns, even if block last uses it early
//   a -> b -> c inside one Sequential: a is freed once b has been made, unless something saved it
#pragma once

#include <cstdint>
#include <vector>

#include "graph/layers/layers.h"

namespace vramplan {

// Which Python variables to assume where a file does not name them. kLikely: those that the uses and the library's
// habits suggest. kFewest: none. kMost: one for every result outside a chain, until its frame ends.
enum class Naming : uint8_t { kLikely, kFewest, kMost };

// For each layer, the values that Python frees when the layer is done. Inputs, parameters, buffers and the model's
// outputs are not among them, because the caller or the module holds those.
using Releases = std::vector<std::vector<ValueId>>;

// Under each naming; equal ends: nothing was guessed.
struct Lifetimes {
  Releases fewest, likely, most;
  bool AreGuessed() const { return fewest != most; }
};
Lifetimes LifetimesOf(const Layers& layers);

// One of them.
Releases ReleasesAfter(const Layers& layers, Naming naming = Naming::kLikely);

// The likely ones, with the rules between the first and "source-lines" of HoldRules taken in this order, counted from
// 0: a test holds that the order does not matter.
Releases ReleasesInOrder(const Layers& layers, const std::vector<size_t>& order);

// Who holds what, and why: each value of the forward with the layer after which it goes (-1: the caller keeps it), and
// the rule that keeps it so long.
struct Held {
  ValueId value;
  int until = -1;
  const char* rule = "";
};
std::vector<Held> HoldsOf(const Layers& layers);

struct HoldRule {
  const char* name;
  const char* why;
};
std::vector<HoldRule> HoldRules();

}  // namespace vramplan
