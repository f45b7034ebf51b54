#include "graph/shapes/kept_batch.h"

#include "graph/shapes/bounds.h"

namespace vramplan {

namespace {

// Why the batch cannot be free. Asked without bounds, which forgive contradictions.
std::optional<Error> Obstacle(const Graph& graph, const Binding& binding, const Result<Shapes>& shapes,
                              const Notes& heard) {
  if (!shapes.ok()) return shapes.error();
  if (!heard.Has("upper-bound")) return std::nullopt;
  Notes unheard;
  const Result<Shapes> exact = Infer(graph, WithoutBounds(binding), &unheard);
  return exact.ok() ? std::nullopt : std::optional(exact.error());
}

}  // namespace

Result<Shapes> InferOrKeepBatch(const Graph& graph, const BindOptions& options, Binding* binding, Notes* notes) {
  const Notes before = *notes;
  Result<Shapes> shapes = Infer(graph, *binding, notes);
  if (!binding->fixed_batch || !options.batch_dim.empty()) return shapes;
  const std::optional<Error> obstacle = Obstacle(graph, *binding, shapes, *notes);
  if (!obstacle) return shapes;
  BindOptions kept = options;
  kept.batch_dim = "none";
  Notes unheard;
  Result<Binding> second = Bind(graph, kept, &unheard);
  if (!second.ok()) return shapes;
  if (TakesBounds(*binding)) TakeBounds(&*second);
  Notes heard = before;
  Result<Shapes> again = Infer(graph, *second, &heard);
  if (!again.ok()) return shapes;
  heard.Add(
      {"kept-batch", Severity::kWarning, graph.file,
       "its batch cannot be taken as free and stays " + std::to_string(*binding->fixed_batch) + ": " + obstacle->text,
       "export it with a dynamic batch, or name another axis with --batch-dim INPUT:AXIS"});
  *notes = std::move(heard);
  *binding = *std::move(second);
  return again;
}

}  // namespace vramplan
