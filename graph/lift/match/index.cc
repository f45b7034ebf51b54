// Tables and indices: embedding, gather, scatter, sorting; and tensors made on the device.
#include <map>
#include <memory>

#include "graph/lift/liveness.h"
#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

int64_t DimOf(PatternSource& source, NodeId root, int64_t otherwise = 0) {
  return FromFront(source[root].attributes.Int("axis", otherwise), source.RankOf(source.In(root, 0)));
}

// A table of [rows, width] that is looked up by integers. A parameter that is no module's `weight`, looked up by a
// stored table, is advanced indexing: torchvision's relative_position_bias_table[relative_position_index].
bool MatchGather(PatternSource& source, NodeId root) {
  const TensorId table = source.In(root, 0), indices = source.In(root, 1);
  const bool parameter = source.Stored(table) != nullptr && source.IsInitializer(table) &&
                         IsFloating(source.TypeOf(table)) && DimOf(source, root) == 0;
  if (parameter && source.RankOf(table) == 2 && source.Stored(indices) == nullptr) {
    return source.EmitAll("embedding", {source.Parameter(table, root, "weight"), source.Use(indices)}, root);
  }
  if (source.RankOf(indices) == 1 && source.IsInitializer(indices)) {
    return source.EmitAll("index", {source.Use(table), source.Buffer(indices, root, "index")}, root);
  }
  return source.EmitAll(source.RankOf(indices) == 1 ? "index_select" : "index",
                        {source.Use(table), source.Use(indices)}, root, Named({{"dim", DimOf(source, root)}}));
}

// x[i, j]: the exporter flattens the leading axes of x to one, gathers at i * length + j, and reshapes what the flatten
// left over (symbolic_opset9.py 2.10, index). The length of an axis is a number, or the batch, which is none.
bool MatchAdvancedIndex(PatternSource& source, NodeId root) {
  static const std::string kGather = "gather=Gather(Flatten|Reshape(x), Add(Mul(length, i), j))";
  static const Form whole(kGather), reshaped("Reshape((" + kGather + " | Reshape(" + kGather + ")))");
  return MatchesForm(source, root, source[root].op == "Gather" ? whole : reshaped, [&](const NodesMatch& found) {
    const NodeId gather = found.MakerOf("gather");
    if (!source.FromPyTorch() || DimOf(source, gather) != 0 || !source.SameScope(gather, root)) return false;
    if (!source.Number(found["length"]).has_value() && !source.IsHostMade(found["length"])) return false;
    return source.Emit("index", {source.Use(found["x"]), source.Use(found["i"]), source.Use(found["j"])},
                       found.Nodes());
  });
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
TensorId WrittenBy(const PatternSource& source, NodeId scatter) {
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
  if (before.valid() && WrittenBy(source, before) == WrittenBy(source, root)) {
    return source.EmitOf(root, "reshape");
  }
  return source.Emit("slice_scatter", {source.Input(root, 0), source.Use(WrittenBy(source, root))}, {root},
                     Named({{"inplace", int64_t{1}}}));
}

// The indices of x[:, i] = y, which ScatterND has as one grid of all places (torch/onnx/symbolic_opset11.py, index_put):
// each as it was before the exporter spread it over the others; where `whole` axes may be written, none for these.
std::vector<Operand> IndicesOf(PatternSource& source, NodeId grid, bool whole) {
  std::vector<Operand> indices;
  for (size_t i = 0; i < source[grid].inputs.size(); ++i) {
    TensorId index = source.In(grid, i);
    for (const char* op : {"Unsqueeze", "Expand"}) {
      if (const NodeId maker = source.MakerOf(index, op); maker.valid()) index = source.In(maker, 0);
    }
    indices.push_back(whole && IsGridAxis(source, index) ? Operand() : source.Use(index));
  }
  return indices;
}

bool MatchIndexWrite(PatternSource& source, NodeId root) {
  const NodeId grid = source.MakerOf(source.In(root, 1), "Concat");
  if (!grid.valid() || source[root].attributes.Text("reduction", "none") != "none") return false;
  std::vector<Operand> inputs = IndicesOf(source, grid, true);
  inputs.insert(inputs.begin(), source.Input(root, 0));
  inputs.push_back(source.Use(WrittenBy(source, root)));
  return source.Emit("index_put", std::move(inputs), {root}, Named({{"inplace", int64_t{1}}}));
}

bool HasAxis(const NodesMatch& found, Draft* draft) {
  draft->attributes.Set("dim", DimOf(found.source, found.root()));
  return true;
}
// What ONNX adds is scatter_add, or scatter_reduce of sums: both keep no more than the places.
bool MatchScatter(PatternSource& source, NodeId root) {
  static const std::map<std::string, const char*> kReduced = {{"max", "amax"}, {"min", "amin"}, {"mul", "prod"}};
  std::vector<Operand> inputs = {source.Input(root, 0), source.Input(root, 1), source.Input(root, 2)};
  const std::string reduction = source[root].attributes.Text("reduction", "none");
  if (reduction == "add" && source[root].op == "ScatterND") {  // onnxscript 0.7, aten_index_put
    return source.EmitAll("index_put", std::move(inputs), root, Named({{"accumulate", int64_t{1}}}));
  }
  if (const auto reduced = kReduced.find(reduction); reduced != kReduced.end()) {
    Attributes attributes = Named({{"dim", DimOf(source, root)}, {"reduce", std::string(reduced->second)}});
    return source.EmitAll("scatter_reduce", std::move(inputs), root, std::move(attributes));
  }
  return source.EmitAll(reduction == "add" ? "scatter_add" : "scatter", std::move(inputs), root);
}

// x + scatter(zeros_like(x), i, y): what TorchScript writes for additions by number. Only index_add spreads its numbers
// and what it adds over the part first (torch/onnx/symbolic_opset9.py 2.10, index_add); index_put(accumulate=True) is a
// ScatterND (symbolic_opset11.py, index_put), scatter_add neither.
bool MatchAddedByNumber(PatternSource& source, NodeId root) {
  static const Form form("Add(scatter=ScatterElements|ScatterND(zeros=&ConstantOfShape(), index, added), x)");
  return MatchesForm(source, root, form, [&](const NodesMatch& found) {
    const NodeId scatter = found.MakerOf("scatter");
    if (source[scatter].attributes.Text("reduction", "none") != "none") return false;
    if (source.ShapeOf(found["zeros"]) != source.ShapeOf(found["x"])) return false;
    const bool by_axis = source[scatter].op == "ScatterElements";
    TensorId index = found["index"], added = found["added"];
    const char* op = by_axis ? "scatter_add" : "index_put";
    const NodeId spread = source.MakerOf(index, "Expand"), spread_added = source.MakerOf(added, "Expand");
    if (by_axis && spread.valid() && spread_added.valid()) {
      op = "index_add";
      index = source.In(spread, 0);
      for (NodeId axis; (axis = source.MakerOf(index, "Unsqueeze")).valid();) index = source.In(axis, 0);
      added = source.In(spread_added, 0);
    }
    std::vector<Operand> inputs = {source.Use(found["x"]), source.Use(index), source.Use(added)};
    if (const NodeId grid = source.MakerOf(index, "Concat"); !by_axis && grid.valid()) {
      inputs = IndicesOf(source, grid, false);
      inputs.insert(inputs.begin(), source.Use(found["x"]));
      inputs.push_back(source.Use(WrittenBy(source, scatter)));
    }
    return source.Emit(op, std::move(inputs), {scatter, root},
                       by_axis ? Named({{"dim", DimOf(source, scatter)}})
                               : Named({{"accumulate", int64_t{1}}, {"certain", int64_t{1}}}));
  });
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
    const TensorId input = NumbersBehind(source.graph(), numbers);
    if (!input.valid()) continue;
    return source.EmitAll("embedding_bag", {source.Parameter(table, root, "weight"), source.Use(input)}, root,
                          Named({{"mode", mode->second}}));
  }
  return false;
}
bool MatchTopK(PatternSource& source, NodeId root) {
  return source.EmitAll("topk", {source.Input(root, 0)}, root, Named({{"dim", DimOf(source, root, -1)}}));
}
bool MatchConstantOfShape(PatternSource& source, NodeId root) {
  double value = 0;
  if (const auto* stored = source[root].attributes.Get<StoredTensor>("value"); stored != nullptr && stored->values) {
    if (!stored->values->integers.empty()) value = static_cast<double>(stored->values->integers[0]);
    if (!stored->values->reals.empty()) value = stored->values->reals[0];
  }
  return source.EmitAll(value == 0 ? "zeros" : value == 1 ? "ones" : "full", {}, root);
}
}  // namespace

const PatternRows& IndexPatterns() {
  static const PatternRows rows = {
      {"Reshape|Gather", MatchAdvancedIndex},
      Becomes("GatherElements(x, index)", "gather(x, index)", HasAxis),
      Becomes("GatherND(x, index)", "index(x, index)"),
      {"Add", MatchAddedByNumber},
      {"ScatterND", MatchSliceWrite},
      {"ScatterND", MatchIndexWrite},
      {"ScatterElements|Scatter|ScatterND", MatchScatter},
      {"Loop", MatchBags},
      {"TopK", MatchTopK},
      Becomes("OneHot(x)", "one_hot(x)"),
      Becomes("Range()", "arange()"),
      {"ConstantOfShape", MatchConstantOfShape},
      Becomes("EyeLike()", "full()"),
  };
  return rows;
}
// After select (patterns_view.cc), which is the cheaper reading of a Gather.
const PatternRows& LookUpNodes() {
  static const PatternRows rows = {{"Gather", MatchGather}};
  return rows;
}

}  // namespace vramplan
