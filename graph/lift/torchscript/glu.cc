#include "graph/lift/torchscript/glu.h"

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"

namespace vramplan {

void GatherGlu(Layers* layers) {
  const Uses uses(*layers);
  Edit edit(layers);
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& split = layers->layers[l];
    if (split.op != "split" || split.outputs.size() != 2 || split.evidence == Evidence::kProvenance) continue;
    const ValueId half = split.outputs[0];
    const Layer* gate = uses.OnlyReaderOf(split.outputs[1]);
    const Layer* product = uses.OnlyReaderOf(half);
    // A dynamo export names glu: there these are the program's own.
    if (product != nullptr && product->evidence == Evidence::kProvenance) continue;
    if (gate == nullptr || product == nullptr || gate->op != "sigmoid" || product->op != "mul") continue;
    if (product->inputs.size() != 2 || product->inputs[0] != half || product->inputs[1] != gate->outputs[0]) continue;
    if (uses.OnlyReaderOf(gate->outputs[0]) != product || split.module != product->module) continue;
    Layer& glu = layers->layers[uses.PlaceOf(product)];
    glu.op = "glu";
    glu.inputs = {split.inputs[0]};
    glu.attributes = Attributes();
    glu.attributes.Set("dim", split.attributes.Int("dim", -1));
    glu.evidence = Evidence::kPattern;
    edit.Remove(l);
    edit.Remove(uses.PlaceOf(gate));
  }
  edit.Apply();
}

}  // namespace vramplan
