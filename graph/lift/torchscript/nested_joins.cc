// Joins of joins: the TorchScript exporter writes a join whose operand is a join as one node. Where a call joins what
// it made with several tensors that were made before it, the caller had joined those: a call takes one skip.
//
//   up(x, cat([x00, x01]))      up:  cat(x00, x01, up)      ->      cat(x00, x01)      up:  cat(that, up)
#include <utility>
#include <vector>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/torchscript/passes.h"

namespace vramplan {
namespace {

// The first layer of each module call; -1: it has none.
std::vector<int> FirstLayers(const Layers& layers) {
  std::vector<int> first(layers.modules.size(), -1);
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (ModuleId m = layers.layers[l].module; m.valid(); m = layers[m].parent) {
      if (first[m.index()] < 0) first[m.index()] = static_cast<int>(l);
    }
  }
  return first;
}

}  // namespace

void SplitNestedJoins(Layers* layers) {
  const Uses uses(*layers);
  const std::vector<int> first = FirstLayers(*layers);
  Edit edit(layers);
  for (Layer& layer : layers->layers) {
    if (layer.op != "cat" || FromDynamo(layer) || layer.inputs.size() < 3) continue;
    if (!layer.module.valid() || !(*layers)[layer.module].parent.valid()) continue;
    const int begin = first[layer.module.index()];
    const auto is_inside = [&](ValueId id) { return uses.PlaceOfMaker(id) >= begin; };
    const bool at_end = is_inside(layer.inputs.back());
    if (is_inside(layer.inputs.front()) == at_end) continue;
    std::vector<ValueId> before = layer.inputs;
    const ValueId own = at_end ? before.back() : before.front();
    before.erase(at_end ? before.end() - 1 : before.begin());
    bool all_before = true;
    for (const ValueId id : before) all_before = all_before && uses.MakerOf(id) != nullptr && !is_inside(id);
    if (!all_before) continue;
    Layer join = layer;
    join.module = (*layers)[layer.module].parent;
    join.name += ".skip";
    join.inputs = std::move(before);
    Value skip = (*layers)[layer.outputs[0]];
    const int dim = static_cast<int>(layer.attributes.Int("dim", 0));
    if (dim < 0 || dim >= skip.shape.rank()) continue;
    skip.shape[dim] = skip.shape[dim] - (*layers)[own].shape[dim];
    const ValueId joined = edit.InsertBefore(static_cast<size_t>(begin), std::move(join), std::move(skip));
    layer.inputs = at_end ? std::vector{joined, own} : std::vector{own, joined};
  }
  edit.Apply();
}

}  // namespace vramplan
