// Passes: each undoes one thing that an export did, and says why in a sentence. Two tables, in the order in which they
// run: over the graph before nodes become layers, and over the layers.
//
//   gather-glu   TorchScript   split, sigmoid, mul -> glu   nn.GLU is one operator that keeps its input only
//
// `vramplan inspect --passes` prints which acted and how often. tests/ablate leaves them out.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "graph/base/note.h"
#include "graph/layers/layers.h"
#include "graph/lift/lift.h"

namespace vramplan {

// What passes over the graph see and change. Nodes keep their ids; new tensors come last.
struct GraphState {
  Graph graph;
  Shapes shapes;
};

struct GraphPass {
  std::string_view name, files, why;
  // Nothing: it did not act.
  std::optional<GraphState> (*run)(const Graph& graph, const Shapes& shapes, Notes* notes);
};

// What passes over the layers see and change.
struct LayersState {
  Layers& layers;
  const Graph& graph;  // that the layers were made of
  const Graph& file;   // as it was loaded
  const PutBack& put_back;
  Notes* notes;
};

struct LayersPass {
  std::string_view name, files, why;
  void (*run)(LayersState&);
  bool of_programs = false;  // also of .pt2 files, whose calls are those that ran
};

std::span<const GraphPass> GraphPasses();
std::span<const LayersPass> LayersPasses();

}  // namespace vramplan
