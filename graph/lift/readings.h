// OtherReadings: what else a file may mean, where two programs write the same nodes and cost different memory. The
// layers that Lift gives are the likely ones; each reading is all of them with one question answered the other way.
//
//   Sigmoid, Mul                           F.silu(x), which keeps x;   x * torch.sigmoid(x), which keeps x and sigmoid
//   Mul, Add, Tanh, Mul in one module      written out, keeps five tensors;   an autograd.Function, keeps its input
//   ScatterND with reduction "add"         index_add, keeps what it adds;   index_put, keeps the numbers alone
#pragma once

#include <string>
#include <vector>

#include "graph/lift/layers.h"

namespace vramplan {

struct Reading {
  std::string code;    // of the note that tells it
  std::string text;    // what is not known
  std::string settle;  // what would tell it
  Layers layers;
};

// Of a step with gradients; without them nothing is kept, so that the first kind alone matters.
std::vector<Reading> OtherReadings(const Layers& layers, bool with_gradients);

}  // namespace vramplan
