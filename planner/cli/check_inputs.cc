#include "planner/cli/check_inputs.h"

#include <algorithm>
#include <optional>
#include <string>

namespace vramplan {
namespace {

bool IsEmpty(const Shapes& shapes, TensorId id) {
  if (!id.valid()) return false;
  const std::optional<Shape>& shape = shapes[id].shape;
  return shape && std::any_of(shape->begin(), shape->end(), [](const Dim& dim) { return dim.Is(0); });
}

// Stored tensors of two axes or more are weights; shapes, axes and scalars have fewer.
bool HasWeight(const Graph& graph, const Shapes& shapes, const Node& node) {
  return std::any_of(node.inputs.begin(), node.inputs.end(), [&](TensorId id) {
    return id.valid() && graph[id].stored && shapes[id].shape && shapes[id].shape->rank() >= 2;
  });
}

}  // namespace

Status CheckBatch(const Options& options, const Graph& graph, const Binding& binding) {
  struct Said {
    std::string by;
    int64_t batch = 0;
  };
  std::optional<Said> said;
  std::optional<Error> contradiction;
  const auto add = [&](const std::string& by, int64_t batch) {
    if (!said) said = Said{by, batch};
    if (contradiction || said->batch == batch) return;
    contradiction =
        Error{ErrorCode::kUsage, by,
              "its batch is " + std::to_string(batch) + ", and " + said->by + " says " + std::to_string(said->batch),
              "give both the same batch, or leave one of them out"};
  };
  if (options.batch) add("--batch", *options.batch);
  if (const auto named = options.bind.dims.find(binding.batch_symbol); named != options.bind.dims.end())
    add("--dim " + named->first, named->second);
  for (const auto& [id, shape] : binding.inputs) {
    const auto lengths = options.bind.inputs.find(graph[id].name);
    if (lengths == options.bind.inputs.end()) continue;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const size_t at = static_cast<size_t>(axis);
      if (shape[axis] == Dim::Batch() && at < lengths->second.size())
        add("--input " + graph[id].name, lengths->second[at]);
    }
  }
  if (contradiction) return *contradiction;
  return Done();
}

Status CheckEmpty(const Options& options, const Graph& graph, const Result<Shapes>& inferred) {
  const auto zero =
      std::find_if(options.bind.dims.begin(), options.bind.dims.end(), [](const auto& dim) { return dim.second == 0; });
  if (zero == options.bind.dims.end()) return Done();
  const auto refused = [&](const std::string& what) {
    return Error{ErrorCode::kUsage, "--dim " + zero->first + "=0",
                 "the model cannot compute with a length of 0: " + what, "type --dim " + zero->first + "=1 or more"};
  };
  if (!inferred.ok()) return refused(inferred.error().text);
  const Shapes& shapes = *inferred;
  for (const Node& node : graph.nodes) {
    if (!HasWeight(graph, shapes, node)) continue;
    if (std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) { return IsEmpty(shapes, id); }))
      return refused("the output of node " + node.name + " (" + node.op + ") would be empty");
  }
  for (const TensorId id : graph.outputs) {
    if (IsEmpty(shapes, id)) return refused("output " + graph[id].name + " would be empty");
  }
  return Done();
}

}  // namespace vramplan
