// Bypasses: low-rank pairs that somebody wrote himself, whatever they are called: y = l(x) + B(A(x)) with A [4, 128] and
// B [128, 4] beside one linear layer (LoRA, arXiv 2106.09685, section 4.1: h = W0 x + B A x).
#pragma once

#include <string>
#include <vector>

#include "planner/spec/trained.h"

namespace vramplan {

struct Bypasses {
  int pairs = 0;
  std::string first;                     // a parameter of a pair
  std::vector<TrainedPattern> patterns;  // what trains their parameters, and the last layer where that is a small head
};

// None where fewer than two linear layers have such a pair: one could be anything.
Bypasses FindBypasses(const Layers& layers);

}  // namespace vramplan
