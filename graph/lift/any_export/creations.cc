#include "graph/lift/any_export/creations.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/text.h"
#include "graph/lift/habit_of.h"

namespace vramplan {
namespace {

class Typing {
 public:
  Typing(const Graph& graph, const Layers& layers) : graph_(graph), layers_(layers), uses_(layers) {}

  // What a creation takes its type from; invalid: the file does not tell.
  ValueId LikeOf(size_t place) {
    const Layer& creation = layers_.layers[place];
    ValueId like = OperandOfLike(creation);
    if (!IsOfFloats(like)) like = AddedTo(creation);
    return IsOfFloats(like) && uses_.PlaceOfMaker(like) < static_cast<int>(place) ? like : ValueId();
  }

  // The layer that writes into the creation: zeros(n, k).scatter_(1, index, 1), which makes rows of zeros with a one;
  // zeros(size).scatter_add_(dim, index, x) where the module is known to write so. Null: none does.
  const Layer* WriterInto(const Layer& creation) const {
    const Layer* reader = uses_.OnlyReaderOf(creation.outputs[0]);
    const bool scatters = reader != nullptr && reader->op == "scatter" && reader->inputs[0] == creation.outputs[0];
    if (scatters && IsNumber(Uses::In(reader, 2))) return reader;
    if (!creation.module.valid()) return nullptr;
    const bool adds = HabitOfModule(layers_[creation.module], NameHabit::Of::kFreshSums) != nullptr;
    return adds ? AdditionTo(creation) : nullptr;
  }

  size_t PlaceOfLayer(const Layer* layer) const { return uses_.PlaceOf(layer); }

 private:
  // A literal, or one that was spread.
  bool IsNumber(ValueId id) const {
    if (!id.valid() || layers_[id].role == Role::kConstant) return true;
    const Layer* maker = uses_.MakerOf(uses_.BehindViews(id));
    return maker != nullptr && IsCreation(*maker);
  }

  bool IsOfFloats(ValueId id) const { return id.valid() && IsFloating(layers_[id].type); }

  // The addition by index that alone reads it, and adds to it.
  const Layer* AdditionTo(const Layer& creation) const {
    const Layer* reader = uses_.OnlyReaderOf(creation.outputs[0]);
    const bool adds = reader != nullptr && IsAdditionByIndex(*reader) && reader->inputs[0] == creation.outputs[0];
    return adds ? reader : nullptr;
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
    const ValueId like = ValueId::At(found->second);
    return uses_.PlaceOfMaker(like) < 0 && layers_[like].role == Role::kActivation ? ValueId() : like;
  }

  // What is added to it, or the tensor that this is a view of.
  ValueId AddedTo(const Layer& creation) const {
    return uses_.Behind(
        {"slice", "select", "expand", "reshape", "view", "transpose", "permute", "unsqueeze", "squeeze"},
        Uses::In(AdditionTo(creation), 2));
  }

  const Graph& graph_;
  const Layers& layers_;
  const Uses uses_;
  std::map<std::string, size_t> by_name_;
};

}  // namespace

bool IsUntypedCreation(const Layers& layers, const Layer& layer) {
  return IsCreation(layer) && layer.inputs.empty() && layer.outputs.size() == 1 && layer.outputs[0].valid() &&
         IsFloating(layers[layer.outputs[0]].type);
}

bool IsAdditionByIndex(const Layer& layer) {
  return (layer.op == "scatter_add" || layer.op == "index_add") && layer.inputs.size() >= 3;
}

void TypeCreations(const Graph& graph, Layers* layers) {
  if (std::ranges::none_of(layers->layers, IsCreation)) return;
  std::vector<std::pair<size_t, ValueId>> likes;
  std::vector<size_t> writers;
  {
    Typing typing(graph, *layers);
    for (size_t l = 0; l < layers->layers.size(); ++l) {
      const Layer& layer = layers->layers[l];
      if (!IsCreation(layer) || layer.outputs.size() != 1 || !layer.outputs[0].valid()) continue;
      if (const Layer* writer = typing.WriterInto(layer)) writers.push_back(typing.PlaceOfLayer(writer));
      if (!IsUntypedCreation(*layers, layer)) continue;
      if (const ValueId like = typing.LikeOf(l); like.valid()) likes.emplace_back(l, like);
    }
  }
  for (const auto& [place, like] : likes) layers->layers[place].inputs = {like};
  for (const size_t place : writers) layers->layers[place].attributes.Set("inplace", int64_t{1});
}

}  // namespace vramplan
