#include "graph/shapes/kept_batch.h"

#include "graph/shapes/bounds.h"

namespace vramplan {

Result<Shapes> InferOrKeepBatch(const Graph& graph, const BindOptions& options, Binding* binding, Notes* notes) {
  Notes heard = *notes;
  Result<Shapes> shapes = Infer(graph, *binding, &heard);
  if (shapes.ok() || !binding->fixed_batch || !options.batch_dim.empty()) {
    *notes = std::move(heard);
    return shapes;
  }
  BindOptions kept = options;
  kept.batch_dim = "none";
  Notes unheard;
  Result<Binding> second = Bind(graph, kept, &unheard);
  if (!second.ok()) return shapes;
  if (TakesBounds(*binding)) TakeBounds(&*second);
  heard = *notes;
  Result<Shapes> again = Infer(graph, *second, &heard);
  if (!again.ok()) return shapes;
  heard.Add({"kept-batch", Severity::kWarning, graph.file,
             "its batch cannot be taken as free and stays " + std::to_string(*binding->fixed_batch) + ": " +
                 shapes.error().text,
             "export it with a dynamic batch, or name another axis with --batch-dim INPUT:AXIS"});
  *notes = std::move(heard);
  *binding = *std::move(second);
  return again;
}

}  // namespace vramplan
