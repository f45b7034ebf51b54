#include "graph/lift/torchscript/dense_maps.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vramplan {
namespace {

// 0 3 1 2, and 0 4 1 2 3 in space.
bool BringsChannelsForward(const std::vector<int64_t>& dims) {
  const size_t rank = dims.size();
  if (rank < 4 || rank > 5 || dims[0] != 0 || dims[1] != static_cast<int64_t>(rank) - 1) return false;
  for (size_t i = 2; i < rank; ++i) {
    if (dims[i] != static_cast<int64_t>(i) - 1) return false;
  }
  return true;
}

class Maps {
 public:
  explicit Maps(const Layers& layers) : layers_(layers) {
    for (const Layer& layer : layers_.layers) {
      for (const ValueId id : layer.outputs) maker_[id] = &layer;
    }
    for (const Module& module : layers_.modules) paths_.insert(module.path);
  }

  // A permutation of what was a sequence. Position tables are turned to be resized, without a copy.
  bool IsTurnedSequence(const Layer& layer) const {
    if (layer.op != "permute" || layer.evidence == Evidence::kProvenance || layer.inputs.empty() ||
        !BringsChannelsForward(layer.attributes.Ints("dims")))
      return false;
    const Layer* split = MakerOf(layer.inputs[0], "reshape");
    if (split == nullptr || !split->inputs[0].valid()) return false;
    const Shape& sequence = layers_[split->inputs[0]].shape;
    const Shape& map = layers_[layer.inputs[0]].shape;
    return sequence.rank() == 3 && sequence[0] == map[0] && sequence[2] == map[map.rank() - 1] &&
           !IsPartOfTable(split->inputs[0]);
  }

  // The end of a norm that made its map a sequence and makes it a map again, "encoder.norm1" beside
  // "encoder.patch_embed1": the encoder's statement is norm1(x).contiguous().
  bool IsMapOfNorm(const Layer& layer) const {
    if (layer.op != "reshape" || layer.evidence == Evidence::kProvenance || !layer.module.valid()) return false;
    const std::string& path = layers_[layer.module].path;
    const size_t name = path.rfind("norm");
    if (name == std::string::npos || name + 5 != path.size()) return false;
    if (paths_.count(path.substr(0, name) + "patch_embed" + path.back()) == 0) return false;
    const Layer* turn = MakerOf(layer.inputs[0], "transpose");
    const Layer* norm = turn == nullptr ? nullptr : MakerOf(turn->inputs[0], "layer_norm");
    return norm != nullptr && norm->module == layer.module && layers_[layer.outputs[0]].shape.rank() == 4;
  }

 private:
  const Layer* MakerOf(ValueId id, std::string_view op) const {
    const auto found = maker_.find(id);
    return found != maker_.end() && found->second->op == op ? found->second : nullptr;
  }
  bool IsPartOfTable(ValueId id) const {
    for (auto found = maker_.find(id); found != maker_.end(); found = maker_.find(id)) {
      if (found->second->op != "slice" && found->second->op != "reshape") return false;
      id = found->second->inputs[0];
    }
    return id.valid() && layers_[id].role != Role::kInput;
  }

  const Layers& layers_;
  std::map<ValueId, const Layer*> maker_;
  std::set<std::string> paths_;
};

}  // namespace

void MakeMapsOfSequencesContiguous(Layers* layers) {
  const Maps maps(*layers);
  std::vector<std::pair<size_t, Layer>> copies;  // each behind the layer of this place
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& turn = layers->layers[l];
    const bool kept = l + 1 < layers->layers.size() && layers->layers[l + 1].op == "contiguous";
    const bool of_norm = maps.IsMapOfNorm(turn);
    if (kept || (!of_norm && !maps.IsTurnedSequence(turn))) continue;
    copies.emplace_back(l, Layer{.op = "contiguous",
                                 .name = turn.name + ".contiguous",
                                 .inputs = turn.outputs,
                                 .module = of_norm ? (*layers)[turn.module].parent : turn.module,
                                 .evidence = turn.evidence});
  }
  if (copies.empty()) return;
  std::map<ValueId, ValueId> dense;
  std::vector<Layer> out;
  size_t next = 0;
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    Layer& layer = layers->layers[l];
    for (ValueId& id : layer.inputs) {
      if (const auto found = dense.find(id); found != dense.end()) id = found->second;
    }
    out.push_back(std::move(layer));
    if (next == copies.size() || copies[next].first != l) continue;
    Layer copy = std::move(copies[next++].second);
    Value made = (*layers)[copy.inputs[0]];
    made.name = copy.name;
    copy.outputs = {layers->Add(std::move(made))};
    dense[copy.inputs[0]] = copy.outputs[0];
    out.push_back(std::move(copy));
  }
  layers->layers = std::move(out);
  for (ValueId& id : layers->outputs) {
    if (const auto found = dense.find(id); found != dense.end()) id = found->second;
  }
}

}  // namespace vramplan
