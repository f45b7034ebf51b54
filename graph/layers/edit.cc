#include "graph/layers/edit.h"

#include <iterator>
#include <utility>

namespace vramplan {

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

}  // namespace vramplan
