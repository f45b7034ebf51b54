#include "graph/layers/edit.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace vramplan {

ValueId Edit::InsertBefore(size_t place, Layer layer, Value made) {
  made.name = layer.name;
  const ValueId result = layers_.Add(std::move(made));
  layer.outputs = {result};
  InsertBefore(place, std::move(layer));
  return result;
}

void Edit::Apply() {
  const auto rename = [&](std::vector<ValueId>* read, const std::vector<ValueId>& made) {
    for (ValueId& id : *read) {
      const auto found = renamed_.find(id);
      if (found != renamed_.end() && std::find(made.begin(), made.end(), found->second) == made.end())
        id = found->second;
    }
  };
  if (!inserted_.empty() || !removed_.empty()) {
    std::vector<Layer> list;
    list.reserve(layers_.layers.size() + inserted_.size());
    auto next = inserted_.begin();
    for (size_t place = 0; place <= layers_.layers.size(); ++place) {
      for (; next != inserted_.end() && next->first == place; ++next) list.push_back(std::move(next->second));
      if (place < layers_.layers.size() && !removed_.contains(place)) list.push_back(std::move(layers_.layers[place]));
    }
    layers_.layers = std::move(list);
  }
  if (!renamed_.empty()) {
    for (Layer& layer : layers_.layers) rename(&layer.inputs, layer.outputs);
    rename(&layers_.outputs, {});
  }
  inserted_.clear();
  removed_.clear();
  renamed_.clear();
}

Layer CallInPlaceOf(const Layer& last, std::string op, std::vector<ValueId> inputs, Attributes attributes) {
  return {.op = std::move(op),
          .name = last.name,
          .inputs = std::move(inputs),
          .outputs = last.outputs,
          .attributes = std::move(attributes),
          .module = last.module,
          .nodes = last.nodes,
          .evidence = last.evidence};
}

Layer CallBeside(const Layer& beside, const std::string& op, std::vector<ValueId> inputs, Attributes attributes) {
  return {.op = op,
          .name = beside.name + "." + op,
          .inputs = std::move(inputs),
          .attributes = std::move(attributes),
          .module = beside.module,
          .evidence = beside.evidence};
}

void PutCalls(Layers* layers, std::map<size_t, Layer> calls, const std::set<size_t>& gone) {
  if (calls.empty()) return;
  std::map<ValueId, int> reads;
  const auto count = [&](const Layer& layer, int by) {
    for (const ValueId id : layer.inputs) {
      if (id.valid()) reads[id] += by;
    }
  };
  for (const Layer& layer : layers->layers) count(layer, 1);
  for (const ValueId id : layers->outputs) ++reads[id];
  std::vector<bool> was_read(layers->layers.size());
  const auto is_read = [&](const Layer& layer) {
    for (const ValueId id : layer.outputs) {
      if (id.valid() && reads[id] > 0) return true;
    }
    return false;
  };
  for (size_t l = 0; l < layers->layers.size(); ++l) was_read[l] = is_read(layers->layers[l]);
  for (auto& [place, call] : calls) {
    count(layers->layers[place], -1);
    count(call, 1);
    layers->layers[place] = std::move(call);
  }
  std::vector<Layer> kept;
  for (size_t l = layers->layers.size(); l-- > 0;) {
    Layer& layer = layers->layers[l];
    if (gone.count(l) != 0 || (was_read[l] && !is_read(layer))) {
      count(layer, -1);
      continue;
    }
    kept.push_back(std::move(layer));
  }
  // Tables that the exporter wrote for what is gone; they are no module's.
  std::erase_if(layers->buffers, [&](ValueId id) {
    const auto found = reads.find(id);
    const std::string& name = (*layers)[id].name;
    return found != reads.end() && found->second == 0 && (name.starts_with("/") || name.starts_with("onnx::"));
  });
  layers->layers.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

void DropUnread(Layers* layers, const std::function<bool(const Layer&)>& may_go) {
  std::set<ValueId> read(layers->outputs.begin(), layers->outputs.end());
  Edit edit(layers);
  for (size_t l = layers->layers.size(); l-- > 0;) {
    const Layer& layer = layers->layers[l];
    const auto is_read = [&](ValueId id) { return id.valid() && read.contains(id); };
    if (std::ranges::none_of(layer.outputs, is_read) && may_go(layer))
      edit.Remove(l);
    else
      read.insert(layer.inputs.begin(), layer.inputs.end());
  }
  edit.Apply();
}

}  // namespace vramplan
