#include "planner/answers/check_inputs.h"

#include <algorithm>
#include <map>
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

// Whether a node takes one entry of its first operand's first axis, x[0] or x[1].
bool TakesOneEntry(const Graph& graph, const Node& node) {
  if (node.op != "Gather" || node.attributes.Int("axis", 0) != 0 || !node.inputs[1].valid()) return false;
  const std::optional<StoredTensor>& index = graph[node.inputs[1]].stored;
  return index && index->values && index->values->integers.size() == 1;
}

// x[numbers], where x has the batch in front.
bool PicksRowsOfBatch(const Shapes& shapes, const Node& node) {
  if (node.op != "Gather" || node.attributes.Int("axis", 0) != 0) return false;
  const std::optional<Shape>& table = shapes[node.inputs[0]].shape;
  return table && table->rank() > 0 && (*table)[0] == Dim::Batch();
}

}  // namespace

Status CheckBatch(const Question& question, const Graph& graph, const Binding& binding) {
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
  if (question.batch) add("--batch", *question.batch);
  if (const auto named = question.bind.dims.find(binding.batch_symbol); named != question.bind.dims.end())
    add("--dim " + named->first, named->second);
  for (const auto& [id, shape] : binding.inputs) {
    const auto lengths = question.bind.inputs.find(graph[id].name);
    if (lengths == question.bind.inputs.end()) continue;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const size_t at = static_cast<size_t>(axis);
      if (shape[axis] == Dim::Batch() && at < lengths->second.size())
        add("--input " + graph[id].name, lengths->second[at]);
    }
  }
  if (contradiction) return *contradiction;
  return Done();
}

void NoteBatchAxes(const Graph& graph, const Shapes& shapes, const Binding& binding, Notes* notes) {
  struct Read {
    int entries = 0;          // single ones
    bool others = false;      // read in another way
    bool picks_rows = false;  // of a tensor whose first axis is the batch
  };
  std::map<TensorId, Read> reads;  // of each input that has the batch
  for (const auto& [id, shape] : binding.inputs) {
    if (std::ranges::find(shape, Dim::Batch()) != shape.end()) reads[id] = {};
  }
  if (reads.size() < 2) return;
  for (const Node& node : graph.nodes) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto found = reads.find(node.inputs[i]);
      if (found == reads.end() || node.op == "Shape") continue;
      Read& read = found->second;
      const bool entry = i == 0 && TakesOneEntry(graph, node);
      read.entries += entry ? 1 : 0;
      read.others |= !entry;
      read.picks_rows |= i == 1 && PicksRowsOfBatch(shapes, node);
    }
  }
  for (const auto& [id, shape] : binding.inputs) {
    const auto found = reads.find(id);
    if (found == reads.end()) continue;
    const Read& read = found->second;
    const bool by_entries = read.entries > 0 && !read.others;
    if (!by_entries && !read.picks_rows) continue;
    const std::string wrong =
        by_entries && shape[0] == Dim::Batch()
            ? "its first axis is the batch in this file, but the model reads single entries of it"
            : "it has as many entries as the batch in this file, but they are indices of rows of the batch";
    notes->Add({"batch-axis", Severity::kWarning, graph[id].name,
                wrong + ", as with the ends of a graph's edges: sizes that grow with the batch may be wrong",
                "export the file with a different name for each axis that varies independently"});
  }
}

Status CheckEmpty(const Question& question, const Graph& graph, const Result<Shapes>& inferred) {
  const auto zero = std::find_if(question.bind.dims.begin(), question.bind.dims.end(),
                                 [](const auto& dim) { return dim.second == 0; });
  if (zero == question.bind.dims.end()) return Done();
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
