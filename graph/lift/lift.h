// Lift: the file's nodes become the operator calls that the framework ran.
//
//   Conv, Relu, MatMul, Add  (Graph, Shapes)   ->   conv2d, batch_norm, relu, linear  (Layers)
//
// Chooses provenance where the file has it, patterns where it has not; then each pass of passes.h undoes one thing that
// an export did. Nothing changes Layers afterwards, but for what the user or an adapter freezes (planner/spec).
#pragma once

#include <string_view>
#include <vector>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/layers/layers.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// What an export threw away, and Lift puts back where it stood.
//
//   conv2d (batch norm folded into it)      ->  conv2d without a bias, batch_norm
//   linear -> add(residual, .)              ->  linear, dropout, add; likewise behind attention's probabilities and
//                                               behind the sum of the embeddings
struct PutBack {
  bool batch_norms = true;  // what PyTorch runs: only an exporter or an inference engine folds
  double dropout = 0;       // the probability; 0: none, since a file does not tell a dropout of model.eval() from none
  bool dropout_behind_activations = false;  // and in front of low-rank pairs, beside where transformers have them
  bool training = true;  // which of the forwards that the file's facts recorded counts: that of train() or of eval()
  std::optional<DType> autocast;  // the lower type of mixed precision, for code that looks at types; nothing: none
};

struct Why;  // graph/lift/why.h

// What a pass did: how many layers, roles and kept results are other ones behind it (of passes over the graph: 1).
struct PassCount {
  std::string_view name, files, why;
  int changes = 0;
};

struct LiftOptions {
  PutBack put_back;
  std::vector<PassCount>* counts = nullptr;  // of every pass, in order; costs time
  Why* why = nullptr;                        // how its node became a call
};

Result<Layers> Lift(const Graph& graph, const Shapes& shapes, const LiftOptions& options, Notes* notes);
inline Result<Layers> Lift(const Graph& graph, const Shapes& shapes, const PutBack& put_back, Notes* notes) {
  return Lift(graph, shapes, LiftOptions{put_back, nullptr, nullptr}, notes);
}
inline Result<Layers> Lift(const Graph& graph, const Shapes& shapes, Notes* notes) {
  return Lift(graph, shapes, LiftOptions(), notes);
}

}  // namespace vramplan
