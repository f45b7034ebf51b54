// Tables and indices: embedding, gather, scatter, sorting; and tensors made on the device.
#include <map>
#include <memory>

#include "graph/lift/liveness.h"
#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

bool EmitIndex(PatternSource& source, NodeId root, const char* op, std::vector<Operand> inputs,
               Attributes attributes = {}) {
  std::vector<Operand> outputs;
  for (size_t i = 0; i < source[root].outputs.size(); ++i) outputs.push_back(source.Out(root, i));
  source.Add({.op = op,
              .inputs = std::move(inputs),
              .outputs = std::move(outputs),
              .attributes = std::move(attributes),
              .nodes = {root}});
  return true;
}

int64_t DimOf(PatternSource& source, NodeId root, int64_t otherwise = 0) {
  const int64_t axis = source[root].attributes.Int("axis", otherwise);
  return axis < 0 ? axis + source.RankOf(source.In(root, 0)) : axis;
}

// A table of [rows, width] that is looked up by integers. A parameter that is no module's `weight`, looked up by a
// stored table, is advanced indexing: torchvision's relative_position_bias_table[relative_position_index].
bool MatchGather(PatternSource& source, NodeId root) {
  const TensorId table = source.In(root, 0), indices = source.In(root, 1);
  const bool parameter = source.Stored(table) != nullptr && source.IsInitializer(table) &&
                         IsFloating(source.TypeOf(table)) && DimOf(source, root) == 0;
  if (parameter && source.RankOf(table) == 2 && source.Stored(indices) == nullptr) {
    return EmitIndex(source, root, "embedding", {source.Parameter(table, root, "weight"), source.Use(indices)});
  }
  if (source.RankOf(indices) == 1 && source.IsInitializer(indices)) {
    return EmitIndex(source, root, "index", {source.Use(table), source.Buffer(indices, root, "index")});
  }
  return EmitIndex(source, root, source.RankOf(indices) == 1 ? "index_select" : "index",
                   {source.Use(table), source.Use(indices)}, Named({{"dim", DimOf(source, root)}}));
}

// x[i, j]: the exporter flattens the leading axes of x to one, gathers at i * length + j, and reshapes what the flatten
// left over (symbolic_opset9.py 2.10, index). The root is that Reshape, or the Gather where there is none.
struct Lookup {
  TensorId table, outer, inner;
  std::vector<NodeId> nodes;
};
std::optional<Lookup> LookupOf(PatternSource& source, NodeId gather) {
  NodeId flatten = source.OnlyMakerOf(source.In(gather, 0), "Flatten");
  if (!flatten.valid()) flatten = source.OnlyMakerOf(source.In(gather, 0), "Reshape");
  if (!flatten.valid() || !source.FromPyTorch() || DimOf(source, gather) != 0) return std::nullopt;
  const NodeId add = source.OnlyMakerOf(source.In(gather, 1), "Add");
  for (size_t side = 0; add.valid() && side < 2; ++side) {
    const NodeId mul = source.OnlyMakerOf(source.In(add, side), "Mul");
    if (!mul.valid()) continue;
    for (size_t factor = 0; factor < 2; ++factor) {
      // The length of an axis: a number, or the batch, which is none.
      const TensorId length = source.In(mul, factor);
      if (!source.Number(length).has_value() && !source.IsHostMade(length)) continue;
      return Lookup{
          source.In(flatten, 0), source.In(mul, 1 - factor), source.In(add, 1 - side), {flatten, mul, add, gather}};
    }
  }
  return std::nullopt;
}
bool EmitLookup(PatternSource& source, NodeId root, std::optional<Lookup> lookup) {
  if (!lookup.has_value()) return false;
  if (root != lookup->nodes.back()) lookup->nodes.push_back(root);
  source.Add({.op = "index",
              .inputs = {source.Use(lookup->table), source.Use(lookup->outer), source.Use(lookup->inner)},
              .outputs = {source.Out(root)},
              .attributes = {},
              .nodes = std::move(lookup->nodes)});
  return true;
}
bool MatchAdvancedIndex(PatternSource& source, NodeId root) { return EmitLookup(source, root, LookupOf(source, root)); }
bool MatchReshapedIndex(PatternSource& source, NodeId root) {
  NodeId gather = source.OnlyMakerOf(source.In(root, 0), "Gather");
  if (const NodeId inner = source.OnlyMakerOf(source.In(root, 0), "Reshape"); inner.valid()) {
    gather = source.OnlyMakerOf(source.In(inner, 0), "Gather");
  }
  return gather.valid() && source.SameScope(gather, root) && EmitLookup(source, root, LookupOf(source, gather));
}

// Whether the tensor counts places along an axis: torch.arange, perhaps a part of it, or one number (x[:, 3] = y),
// spread over the others.
bool IsGridAxis(const PatternSource& source, TensorId tensor) {
  for (int steps = 0; steps < 8; ++steps) {
    if (steps > 0 && source.Number(tensor).has_value()) return true;
    if (source.MakerOf(tensor, "Range").valid()) return true;
    NodeId maker;
    for (const char* op : {"Unsqueeze", "Expand", "Reshape", "Slice"}) {
      if (!maker.valid()) maker = source.MakerOf(tensor, op);
    }
    if (!maker.valid()) return false;
    tensor = source.In(maker, 0);
  }
  return false;
}

// What is written: torch.onnx spreads it over the part first.
TensorId Written(const PatternSource& source, NodeId scatter) {
  TensorId tensor = source.In(scatter, 2);
  for (const char* op : {"Reshape", "Expand"}) {
    if (const NodeId maker = source.MakerOf(tensor, op); maker.valid()) tensor = source.In(maker, 0);
  }
  return tensor;
}

// x[:, 1:, 1:] = y, a ScatterND to a grid of all places of the part (torch/onnx/symbolic_opset11.py, index_put). An
// x[...] += y does it twice: add_ writes, and so does the assignment.
bool MatchSliceWrite(PatternSource& source, NodeId root) {
  const NodeId grid = source.MakerOf(source.In(root, 1), "Concat");
  if (!grid.valid()) return false;
  for (size_t i = 0; i < source[grid].inputs.size(); ++i) {
    if (!IsGridAxis(source, source.In(grid, i))) return false;
  }
  const NodeId before = source.MakerOf(source.In(root, 0), "ScatterND");
  if (before.valid() && Written(source, before) == Written(source, root)) {
    source.Add({.op = "reshape",
                .inputs = {source.Use(source.In(root, 0))},
                .outputs = {source.Out(root)},
                .attributes = {},
                .nodes = {root}});
    return true;
  }
  source.Add({.op = "slice_scatter",
              .inputs = {source.Use(source.In(root, 0)), source.Use(Written(source, root))},
              .outputs = {source.Out(root)},
              .attributes = Named({{"inplace", int64_t{1}}}),
              .nodes = {root}});
  return true;
}

bool MatchGatherElements(PatternSource& source, NodeId root) {
  return EmitIndex(source, root, "gather", {source.Use(source.In(root, 0)), source.Use(source.In(root, 1))},
                   Named({{"dim", DimOf(source, root)}}));
}
bool MatchGatherNd(PatternSource& source, NodeId root) {
  return EmitIndex(source, root, "index", {source.Use(source.In(root, 0)), source.Use(source.In(root, 1))});
}
// What ONNX adds is scatter_add, or scatter_reduce of sums: both keep no more than the places.
bool MatchScatter(PatternSource& source, NodeId root) {
  static const std::map<std::string, const char*> kReduced = {{"max", "amax"}, {"min", "amin"}, {"mul", "prod"}};
  std::vector<Operand> inputs = {source.Use(source.In(root, 0)), source.Use(source.In(root, 1)),
                                 source.Use(source.In(root, 2))};
  const std::string reduction = source[root].attributes.Text("reduction", "none");
  if (reduction == "add" && source[root].op == "ScatterND") {  // onnxscript 0.7, aten_index_put
    return EmitIndex(source, root, "index_put", std::move(inputs), Named({{"accumulate", int64_t{1}}}));
  }
  if (const auto reduced = kReduced.find(reduction); reduced != kReduced.end()) {
    Attributes attributes = Named({{"dim", DimOf(source, root)}, {"reduce", std::string(reduced->second)}});
    return EmitIndex(source, root, "scatter_reduce", std::move(inputs), std::move(attributes));
  }
  return EmitIndex(source, root, reduction == "add" ? "scatter_add" : "scatter", std::move(inputs));
}

// x + scatter(zeros_like(x), i, y): what TorchScript writes for additions by number. Only index_add spreads its numbers
// and what it adds over the part first (torch/onnx/symbolic_opset9.py 2.10, index_add); index_put(accumulate=True) is a
// ScatterND (symbolic_opset11.py, index_put), scatter_add neither.
bool MatchAddedByNumber(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const TensorId x = source.In(root, 1 - side);
    NodeId scatter = source.OnlyMakerOf(source.In(root, side), "ScatterElements");
    const bool by_axis = scatter.valid();
    if (!by_axis) scatter = source.OnlyMakerOf(source.In(root, side), "ScatterND");
    if (!scatter.valid() || source[scatter].attributes.Text("reduction", "none") != "none") continue;
    const NodeId zeros = source.MakerOf(source.In(scatter, 0), "ConstantOfShape");
    if (!zeros.valid() || source.ShapeOf(source[zeros].outputs[0]) != source.ShapeOf(x)) continue;
    TensorId index = source.In(scatter, 1), added = source.In(scatter, 2);
    const char* op = by_axis ? "scatter_add" : "index_put";
    const NodeId spread = source.MakerOf(index, "Expand"), spread_added = source.MakerOf(added, "Expand");
    if (by_axis && spread.valid() && spread_added.valid()) {
      op = "index_add";
      index = source.In(spread, 0);
      for (NodeId axis; (axis = source.MakerOf(index, "Unsqueeze")).valid();) index = source.In(axis, 0);
      added = source.In(spread_added, 0);
    }
    Attributes attributes = by_axis ? Named({{"dim", DimOf(source, scatter)}})
                                    : Named({{"accumulate", int64_t{1}}, {"certain", int64_t{1}}});
    source.Add({.op = op,
                .inputs = {source.Use(x), source.Use(index), source.Use(added)},
                .outputs = {source.Out(root)},
                .attributes = std::move(attributes),
                .nodes = {scatter, root}});
    return true;
  }
  return false;
}

const Graph* BodyOf(const Node& loop) {
  const auto* body = loop.attributes.Get<std::shared_ptr<Graph>>("body");
  return body == nullptr ? nullptr : body->get();
}

// nn.EmbeddingBag: a loop over the bags, each of which reduces the rows that it looks up (torch/onnx/
// symbolic_opset11.py, embedding_bag). Its numbers are an input of the model; where they are a matrix, a row is a bag.
bool MatchBags(PatternSource& source, NodeId root) {
  static const std::map<std::string, int64_t> kModes = {{"ReduceSum", 0}, {"ReduceMean", 1}, {"ReduceMax", 2}};
  const Graph* body = BodyOf(source[root]);
  if (body == nullptr) return false;
  const auto operand = [](const Node* node, size_t i) {
    return node != nullptr && i < node->inputs.size() ? node->inputs[i] : TensorId{};
  };
  const auto maker = [&](TensorId tensor, const char* op) -> const Node* {
    if (!tensor.valid() || !(*body)[tensor].producer.valid()) return nullptr;
    const Node& node = (*body)[(*body)[tensor].producer];
    return node.op == op ? &node : nullptr;
  };
  const auto outside = [&](TensorId tensor) { return tensor.valid() ? (*body)[tensor].outer : TensorId{}; };
  for (const Node& node : body->nodes) {
    const auto mode = kModes.find(node.op);
    if (mode == kModes.end()) continue;
    const Node* lookup = maker(operand(&node, 0), "Gather");
    const Node* bag = maker(operand(lookup, 1), "Slice");
    const TensorId table = outside(operand(lookup, 0)), numbers = outside(operand(bag, 0));
    if (!table.valid() || !numbers.valid() || source.RankOf(table) != 2 || source.Stored(table) == nullptr) continue;
    const TensorId input = InputBehind(source.graph(), numbers);
    if (!input.valid()) continue;
    return EmitIndex(source, root, "embedding_bag", {source.Parameter(table, root, "weight"), source.Use(input)},
                     Named({{"mode", mode->second}}));
  }
  return false;
}
bool MatchTopK(PatternSource& source, NodeId root) {
  return EmitIndex(source, root, "topk", {source.Use(source.In(root, 0))}, Named({{"dim", DimOf(source, root, -1)}}));
}
bool MatchOneHot(PatternSource& source, NodeId root) {
  return EmitIndex(source, root, "one_hot", {source.Use(source.In(root, 0))});
}

bool MatchRange(PatternSource& source, NodeId root) { return EmitIndex(source, root, "arange", {}); }
bool MatchConstantOfShape(PatternSource& source, NodeId root) {
  double value = 0;
  if (const auto* stored = source[root].attributes.Get<StoredTensor>("value"); stored != nullptr && stored->values) {
    if (!stored->values->integers.empty()) value = static_cast<double>(stored->values->integers[0]);
    if (!stored->values->reals.empty()) value = stored->values->reals[0];
  }
  return EmitIndex(source, root, value == 0 ? "zeros" : value == 1 ? "ones" : "full", {});
}
bool MatchEyeLike(PatternSource& source, NodeId root) { return EmitIndex(source, root, "full", {}); }

}  // namespace

const PatternRows& IndexPatterns() {
  static const PatternRows rows = {
      {"Reshape", MatchReshapedIndex},
      {"Gather", MatchAdvancedIndex},
      {"GatherElements", MatchGatherElements},
      {"GatherND", MatchGatherNd},
      {"Add", MatchAddedByNumber},
      {"ScatterElements", MatchScatter},
      {"Scatter", MatchScatter},
      {"ScatterND", MatchSliceWrite},
      {"ScatterND", MatchScatter},
      {"Loop", MatchBags},
      {"TopK", MatchTopK},
      {"OneHot", MatchOneHot},
      {"Range", MatchRange},
      {"ConstantOfShape", MatchConstantOfShape},
      {"EyeLike", MatchEyeLike},
  };
  return rows;
}
// After select (patterns_view.cc), which is the cheaper reading of a Gather.
const PatternRows& LookUpNodes() {
  static const PatternRows rows = {{"Gather", MatchGather}};
  return rows;
}

}  // namespace vramplan
