#include "graph/lift/torchscript/nested_joins.h"

#include <map>
#include <utility>
#include <vector>

namespace vramplan {
namespace {

class NestedJoins {
 public:
  explicit NestedJoins(Layers* layers)
      : layers_(*layers), maker_(layers->values.size(), -1), first_(layers->modules.size(), -1) {
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      for (const ValueId id : layers_.layers[l].outputs) {
        if (id.valid()) maker_[static_cast<size_t>(id.value)] = static_cast<int>(l);
      }
      for (ModuleId m = layers_.layers[l].module; m.valid(); m = layers_[m].parent) {
        if (first_[static_cast<size_t>(m.value)] < 0) first_[static_cast<size_t>(m.value)] = static_cast<int>(l);
      }
    }
  }

  void Split() {
    std::multimap<int, Layer> outer;  // by the layer that it stands in front of
    for (Layer& layer : layers_.layers) {
      if (layer.op != "cat" || layer.evidence == Evidence::kProvenance || layer.inputs.size() < 3) continue;
      if (!layer.module.valid() || !layers_[layer.module].parent.valid()) continue;
      const int begin = first_[static_cast<size_t>(layer.module.value)];
      const bool at_end = Inside(layer.inputs.back(), begin);
      if (Inside(layer.inputs.front(), begin) == at_end) continue;
      std::vector<ValueId> before = layer.inputs;
      const ValueId own = at_end ? before.back() : before.front();
      before.erase(at_end ? before.end() - 1 : before.begin());
      bool all_before = true;
      for (const ValueId id : before) all_before = all_before && MadeBefore(id, begin);
      if (!all_before) continue;
      Layer join = layer;
      join.module = layers_[layer.module].parent;
      join.name += ".skip";
      join.inputs = std::move(before);
      Value skip = layers_[layer.outputs[0]];
      const int dim = static_cast<int>(layer.attributes.Int("dim", 0));
      if (dim < 0 || dim >= skip.shape.rank()) continue;
      skip.name = join.name;
      skip.shape[dim] = skip.shape[dim] - layers_[own].shape[dim];
      join.outputs = {layers_.Add(std::move(skip))};
      layer.inputs = at_end ? std::vector{join.outputs[0], own} : std::vector{own, join.outputs[0]};
      outer.emplace(begin, std::move(join));
    }
    if (outer.empty()) return;
    std::vector<Layer> out;
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const auto [begin, end] = outer.equal_range(static_cast<int>(l));
      for (auto join = begin; join != end; ++join) out.push_back(std::move(join->second));
      out.push_back(std::move(layers_.layers[l]));
    }
    layers_.layers = std::move(out);
  }

 private:
  bool Inside(ValueId id, int begin) const { return id.valid() && maker_[static_cast<size_t>(id.value)] >= begin; }
  bool MadeBefore(ValueId id, int begin) const {
    return id.valid() && maker_[static_cast<size_t>(id.value)] >= 0 && !Inside(id, begin);
  }

  Layers& layers_;
  std::vector<int> maker_;  // layer, by value; -1: none
  std::vector<int> first_;  // layer, by module call
};

}  // namespace

void SplitNestedJoins(Layers* layers) { NestedJoins(layers).Split(); }

}  // namespace vramplan
