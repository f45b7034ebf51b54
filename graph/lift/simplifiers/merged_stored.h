// Merged stored tensors. Simplifiers (onnxsim, onnxslim, ONNX Runtime, tf2onnx) keep one of all stored tensors with
// equal contents; in a model that was exported before it was trained, those are the ones and zeros that norms and
// biases start with:
//
//   BatchNormalization(x, w, b, b, w)     scale w, shift b, mean b, variance w
//   BatchNormalization(y, w, b, b, w)     2 stored tensors for 4 parameters and 4 buffers
//
// A parameter is no buffer, and a bias belongs to one weight: what serves two of them was merged.
#pragma once

#include <optional>

#include "graph/base/note.h"
#include "graph/ir/graph.h"
#include "graph/shapes/infer.h"

namespace vramplan {

struct Separated {
  Graph graph;
  Shapes shapes;
};

// The graph in which every module has stored tensors of its own again; nothing when none were merged. Nodes keep their
// ids; new tensors come last.
std::optional<Separated> SeparateMergedStored(const Graph& graph, const Shapes& shapes, Notes* notes);

}  // namespace vramplan
