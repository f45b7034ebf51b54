#include "graph/lift/torchscript/glu.h"

#include <map>
#include <set>
#include <vector>

namespace vramplan {

void GatherGlu(Layers* layers) {
  std::map<ValueId, std::vector<size_t>> readers;
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    for (const ValueId id : layers->layers[l].inputs) {
      if (id.valid()) readers[id].push_back(l);
    }
  }
  for (const ValueId id : layers->outputs) readers[id].push_back(layers->layers.size());  // the caller reads it
  const auto only_reader = [&](ValueId id) -> const Layer* {
    const auto found = readers.find(id);
    const bool one = found != readers.end() && found->second.size() == 1 && found->second[0] < layers->layers.size();
    return one ? &layers->layers[found->second[0]] : nullptr;
  };
  std::set<size_t> gone;
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& split = layers->layers[l];
    if (split.op != "split" || split.outputs.size() != 2 || split.evidence == Evidence::kProvenance) continue;
    const ValueId half = split.outputs[0];
    const Layer* gate = only_reader(split.outputs[1]);
    const Layer* product = only_reader(half);
    // A dynamo export names glu: there these are the program's own.
    if (product != nullptr && product->evidence == Evidence::kProvenance) continue;
    if (gate == nullptr || product == nullptr || gate->op != "sigmoid" || product->op != "mul") continue;
    if (product->inputs.size() != 2 || product->inputs[0] != half || product->inputs[1] != gate->outputs[0]) continue;
    if (only_reader(gate->outputs[0]) != product || split.module != product->module) continue;
    Layer& glu = layers->layers[static_cast<size_t>(product - layers->layers.data())];
    glu.op = "glu";
    glu.inputs = {split.inputs[0]};
    glu.attributes = Attributes();
    glu.attributes.Set("dim", split.attributes.Int("dim", -1));
    glu.evidence = Evidence::kPattern;
    gone.insert({l, static_cast<size_t>(gate - layers->layers.data())});
  }
  if (gone.empty()) return;
  std::vector<Layer> out;
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    if (gone.count(l) == 0) out.push_back(std::move(layers->layers[l]));
  }
  layers->layers = std::move(out);
}

}  // namespace vramplan
