#include "graph/lift/creations.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace vramplan {
namespace {

constexpr const char* kCreations[] = {"zeros", "ones", "full", "empty"};
constexpr const char* kViews[] = {"slice",     "select",  "expand",    "reshape", "view",
                                  "transpose", "permute", "unsqueeze", "squeeze"};

template <size_t n>
bool IsOneOf(const std::string& op, const char* const (&ops)[n]) {
  return std::any_of(std::begin(ops), std::end(ops), [&](const char* one) { return op == one; });
}

// Who makes each value and who reads it alone.
struct Use {
  int maker = -1, reader = -1, readers = 0;
};

std::vector<Use> UsesOf(const Layers& layers) {
  std::vector<Use> uses(layers.values.size());
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (const ValueId id : layers.layers[l].inputs) {
      if (!id.valid()) continue;
      uses[static_cast<size_t>(id.value)].reader = static_cast<int>(l);
      ++uses[static_cast<size_t>(id.value)].readers;
    }
    for (const ValueId id : layers.layers[l].outputs) {
      if (id.valid()) uses[static_cast<size_t>(id.value)].maker = static_cast<int>(l);
    }
  }
  return uses;
}

class Typing {
 public:
  Typing(const Graph& graph, Layers& layers) : graph_(graph), layers_(layers), uses_(UsesOf(layers)) {}

  void Run() {
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      MarkInPlace(layers_.layers[l]);
      if (!IsUntypedCreation(layers_, layers_.layers[l])) continue;
      ValueId like = OperandOfLike(layers_.layers[l]);
      if (!IsOfFloats(like)) like = AddedTo(layers_.layers[l]);
      if (IsOfFloats(like) && MakerOf(like) < static_cast<int>(l)) layers_.layers[l].inputs = {like};
    }
  }

 private:
  bool IsOfFloats(ValueId id) const { return id.valid() && IsFloating(layers_[id].type); }
  int MakerOf(ValueId id) const { return uses_[static_cast<size_t>(id.value)].maker; }

  // src.new_zeros(size).scatter_add_(dim, index, src): torch_geometric's utils/_scatter.py, which its aggregations call
  // (nn/conv/message_passing.py: self.aggr_module).
  void MarkInPlace(const Layer& creation) {
    if (!IsCreation(creation) || creation.outputs.size() != 1 || !creation.outputs[0].valid()) return;
    if (!creation.module.valid() || !layers_[creation.module].path.ends_with("aggr_module")) return;
    const Use& use = uses_[static_cast<size_t>(creation.outputs[0].value)];
    if (use.readers != 1) return;
    Layer& reader = layers_.layers[static_cast<size_t>(use.reader)];
    if (IsAddition(reader) && reader.inputs[0] == creation.outputs[0]) reader.attributes.Set("inplace", int64_t{1});
  }

  static bool IsAddition(const Layer& layer) {
    return (layer.op == "scatter_add" || layer.op == "index_add") && layer.inputs.size() >= 3;
  }

  // h of ConstantOfShape(Shape(h)).
  ValueId OperandOfLike(const Layer& creation) {
    if (creation.nodes.size() != 1 || !creation.nodes[0].valid()) return {};
    const Node& node = graph_[creation.nodes[0]];
    if (node.op != "ConstantOfShape" || node.inputs.empty() || !node.inputs[0].valid()) return {};
    const NodeId maker = graph_[node.inputs[0]].producer;
    if (!maker.valid() || graph_[maker].op != "Shape" || graph_[maker].attributes.Has("start")) return {};
    if (by_name_.empty()) {
      for (size_t v = 0; v < layers_.values.size(); ++v) by_name_.emplace(layers_.values[v].name, v);
    }
    const auto found = by_name_.find(graph_[graph_[maker].inputs[0]].name);
    if (found == by_name_.end()) return {};
    const ValueId like{static_cast<int32_t>(found->second)};
    return MakerOf(like) < 0 && layers_[like].role == Role::kActivation ? ValueId() : like;
  }

  // What is added to it, or the tensor that this is a view of.
  ValueId AddedTo(const Layer& creation) const {
    const Use& use = uses_[static_cast<size_t>(creation.outputs[0].value)];
    if (use.readers != 1) return {};
    const Layer& reader = layers_.layers[static_cast<size_t>(use.reader)];
    if (!IsAddition(reader) || reader.inputs[0] != creation.outputs[0]) return {};
    ValueId source = reader.inputs[2];
    while (source.valid() && MakerOf(source) >= 0) {
      const Layer& maker = layers_.layers[static_cast<size_t>(MakerOf(source))];
      if (!IsOneOf(maker.op, kViews) || maker.inputs.empty()) break;
      source = maker.inputs[0];
    }
    return source;
  }

  const Graph& graph_;
  Layers& layers_;
  const std::vector<Use> uses_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace

bool IsCreation(const Layer& layer) { return IsOneOf(layer.op, kCreations); }

bool IsUntypedCreation(const Layers& layers, const Layer& layer) {
  return IsCreation(layer) && layer.inputs.empty() && layer.outputs.size() == 1 && layer.outputs[0].valid() &&
         IsFloating(layers[layer.outputs[0]].type);
}

void TypeCreations(const Graph& graph, Layers* layers) {
  const bool any = std::any_of(layers->layers.begin(), layers->layers.end(), IsCreation);
  if (any) Typing(graph, *layers).Run();
}

}  // namespace vramplan
