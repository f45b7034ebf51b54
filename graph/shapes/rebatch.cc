#include "graph/shapes/rebatch.h"

#include <algorithm>

#include "graph/base/bytes.h"
#include "graph/shapes/arithmetic.h"

namespace vramplan {

namespace {

// Runs of axes [from, from_end) of the input and [to, to_end) of the target with the same number of elements, as short
// as possible.
struct Group {
  int from = 0, from_end = 0;
  size_t to = 0, to_end = 0;
  Dim elements = 1;  // of the input
};

std::optional<std::vector<Group>> GroupsOf(const Shape& input, const std::vector<int64_t>& target, int64_t batch) {
  std::vector<Group> groups;
  int i = 0;
  size_t j = 0;
  while (i < input.rank() || j < target.size()) {
    Group group{i, i, j, j};
    int64_t from = 1, to = 1;
    const auto take_from = [&] {
      group.elements = group.elements * input[i];
      from = SaturatingMultiply(from, input[i++].At(batch));
    };
    const bool lone_batch =
        i < input.rank() && !input[i].IsConstant() && input[i].At(batch) == 1 && (j == target.size() || target[j] != 1);
    if (i < input.rank()) take_from();
    if (j < target.size() && !lone_batch) to = SaturatingMultiply(to, target[j++]);
    while (from != to) {
      if (from < to && i < input.rank()) {
        take_from();
      } else if (j < target.size()) {
        to = SaturatingMultiply(to, target[j++]);
      } else {
        return std::nullopt;
      }
    }
    if (from <= 0 || !group.elements.known()) return std::nullopt;
    // A 1 that the input has no axis for may be the batch that the group holds: [197*B, 768] to [197, 1, 768].
    const bool matched = i < input.rank() && input[i].At(batch) == 1;
    while (!lone_batch && !matched && !group.elements.IsConstant() && j < target.size() && target[j] == 1) ++j;
    group.from_end = i;
    group.to_end = j;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace

std::optional<std::vector<Dim>> Rebatched(const Shape& input, const std::vector<int64_t>& target, int64_t batch,
                                          std::optional<int64_t> before) {
  auto groups = GroupsOf(input, target, batch);
  if (!groups) return std::nullopt;
  // A batch of 1 that no axis of the target stands for joins a neighbour: the next group when the reshape splits it
  // (768 into 12 heads of 64: the heads), else the one before (197 tokens: the rows of a matrix), whose last axis it
  // then multiplies.
  std::vector<Dim> result(target.begin(), target.end());
  for (size_t g = 0; g < groups->size(); ++g) {
    Group group = (*groups)[g];
    if (group.elements.IsConstant()) continue;
    bool last_axis_first = false;
    if (group.to == group.to_end) {
      const auto splits = [&](const Group& next) {
        return next.to_end - next.to > static_cast<size_t>(next.from_end - next.from);
      };
      const bool has_next = g + 1 < groups->size(), has_last = g > 0;
      if (!has_next && !has_last) return std::nullopt;
      last_axis_first = has_last && !(has_next && splits((*groups)[g + 1]));
      const Group& neighbour = (*groups)[last_axis_first ? g - 1 : g + 1];
      if (!neighbour.elements.IsConstant() || neighbour.to == neighbour.to_end) return std::nullopt;
      group.to = neighbour.to;
      group.to_end = neighbour.to_end;
      group.elements = group.elements * neighbour.elements;
    }
    // First the axis that is the batch alone, then the first that holds it as a factor.
    const auto put = [&](size_t axis, bool alone) {
      if (target[axis] % batch != 0 || (alone && target[axis] != batch)) return false;
      const Dim replacement = Dim(target[axis] / batch) * Dim::Batch();
      Dim product = replacement;
      for (size_t other = group.to; other < group.to_end; ++other) {
        if (other != axis) product = product * Dim(target[other]);
      }
      if (product != group.elements) return false;
      result[axis] = replacement;
      return true;
    };
    // Of several axes of length 1 the one that has as much before it as the batch has in the input.
    bool placed = false;
    int64_t product = 1;
    for (size_t k = group.to; before && group.from == 0 && k < group.to_end && !placed; ++k) {
      placed = product == *before && target[k] == batch && put(k, true);
      product = SaturatingMultiply(product, target[k]);
    }
    for (const bool alone : {true, false}) {
      for (size_t k = group.to; k < group.to_end && !placed; ++k) {
        placed = put(last_axis_first ? group.to_end - 1 - (k - group.to) : k, alone);
      }
    }
    if (!placed) return std::nullopt;
  }
  return result;
}

std::optional<int64_t> RowsBeforeBatch(const NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() == 0) return std::nullopt;
  const Dim rows = (*n.ShapeOf(0))[0];
  const auto has_rows = [&](TensorId tensor) {
    const auto& shape = n.FactsAt(tensor).shape;
    return tensor.valid() && shape && shape->rank() > 0 && (*shape)[0] == rows;
  };
  // Nodes. No source: a round number that keeps the search short; an MLP between two layers of attention has a dozen.
  // Further away nothing is concluded, and the file keeps its batch with a warning.
  constexpr int kFurthest = 64;
  TensorId tensor = n.node().inputs.front();
  for (int step = 0; step < kFurthest; ++step) {
    const NodeId producer = n.graph()[tensor].producer;
    if (!producer.valid()) return std::nullopt;
    const Node& node = n.graph()[producer];
    if (node.op == "Reshape" && !node.inputs.empty()) {
      const auto& from = n.FactsAt(node.inputs.front()).shape;
      if (!from || !from->known()) return std::nullopt;
      Dim product(1);
      std::optional<int64_t> before;
      for (const Dim& dim : *from) {
        if (dim == Dim::Batch() && product.IsConstant()) before = product.c0();
        product = product * dim;
        if (product == rows) return before;
      }
      return std::nullopt;
    }
    const auto same = std::find_if(node.inputs.begin(), node.inputs.end(), has_rows);
    if (same == node.inputs.end()) return std::nullopt;
    tensor = *same;
  }
  return std::nullopt;
}

namespace {

// The lengths of an input as the file has them.
bool IsInputsShape(const Binding& binding, const std::vector<Dim>& dims) {
  return std::any_of(binding.inputs.begin(), binding.inputs.end(), [&](const auto& input) {
    return input.second.rank() == static_cast<int>(dims.size()) &&
           std::equal(dims.begin(), dims.end(), input.second.begin(), [&](const Dim& length, const Dim& bound) {
             return length == (bound == Dim::Batch() ? Dim(*binding.fixed_batch) : bound);
           });
  });
}

}  // namespace

std::vector<Dim> WithLeadingBatch(NodeInference& n, std::vector<Dim> dims) {
  if (!n.reopened() || dims.size() < 2) return dims;
  if (!IsFloating(n.In(0).type) && !IsInputsShape(n.binding(), dims)) return dims;
  const int64_t batch = *n.baked_batch();
  if (batch < 2 || std::count(dims.begin(), dims.end(), Dim(batch)) != 1 || !dims[0].Is(batch)) return dims;
  dims[0] = Dim::Batch();
  n.NoteRebatched("axis 0 of the shape it makes, " + std::to_string(batch) + ", is taken as the batch");
  return dims;
}

void FreeStoredBatch(const Graph& graph, const Binding& binding, Shapes* shapes, Notes* notes) {
  if (!binding.fixed_batch || *binding.fixed_batch < 2) return;
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const auto& stored = graph.tensors[t].stored;
    if (!stored || stored->dims.size() < 2 || IsFloating(stored->type)) continue;
    for (const auto& [input, shape] : binding.inputs) {
      const bool alike =
          shape.rank() == static_cast<int>(stored->dims.size()) &&
          std::equal(shape.begin(), shape.end(), stored->dims.begin(), [&](const Dim& a, int64_t length) {
            return a == Dim::Batch() ? length == *binding.fixed_batch : a.Is(length);
          });
      if (!alike || std::find(shape.begin(), shape.end(), Dim::Batch()) == shape.end()) continue;
      shapes->tensors[t].shape = shape;
      shapes->tensors[t].integers.reset();
      notes->Add({"rebatched", Severity::kNote, graph.tensors[t].name,
                  "it has the lengths of the input " + graph[input].name + ", whose batch it gets", ""});
      break;
    }
  }
}

}  // namespace vramplan
