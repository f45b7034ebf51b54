// Dense maps: encoders that work on sequences give maps of several sizes, and code that makes a map of a sequence
// writes .contiguous() behind its permutation, which the TorchScript exporter does not keep. Without it whatever reads
// the map copies it, and what is made of it lies in memory with the channels last.
//
//   reshape [B, 256, 32] -> [B, 16, 16, 32]   permute 0 3 1 2     ->     the same, and contiguous
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/habit_of.h"
#include "graph/lift/torchscript/passes.h"

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
  explicit Maps(const Layers& layers) : layers_(layers), uses_(layers) {
    for (const Module& module : layers_.modules) paths_.insert(module.path);
  }

  // A permutation of what was a sequence. Position tables are turned to be resized, without a copy.
  bool IsTurnedSequence(const Layer& layer) const {
    if (layer.op != "permute" || FromDynamo(layer) || layer.inputs.empty() ||
        !BringsChannelsForward(layer.attributes.Ints("dims")))
      return false;
    const Layer* split = uses_.Operand(&layer, 0, "reshape");
    if (split == nullptr || !split->inputs[0].valid()) return false;
    const Shape& sequence = layers_[split->inputs[0]].shape;
    const Shape& map = layers_[layer.inputs[0]].shape;
    return sequence.rank() == 3 && sequence[0] == map[0] && sequence[2] == map[map.rank() - 1] &&
           !IsPartOfTable(split->inputs[0]);
  }

  // The end of a norm that made its map a sequence and makes it a map again, "encoder.norm1" beside
  // "encoder.patch_embed1": the encoder's statement is norm1(x).contiguous().
  bool IsMapOfNorm(const Layer& layer) const {
    if (layer.op != "reshape" || FromDynamo(layer) || !layer.module.valid()) return false;
    const std::string& path = layers_[layer.module].path;
    const std::string unnumbered = path.substr(0, path.size() - std::min<size_t>(path.size(), 1));
    const NameHabit* habit = HabitOfPath(layers_, unnumbered, NameHabit::Of::kDenseMap);
    if (habit == nullptr) return false;
    const std::string outer = unnumbered.substr(0, unnumbered.size() - habit->name.size());
    if (!paths_.contains(outer + std::string(habit->with) + path.back())) return false;
    const Layer* norm = uses_.Operand(uses_.Operand(&layer, 0, "transpose"), 0, "layer_norm");
    return norm != nullptr && norm->module == layer.module && layers_[layer.outputs[0]].shape.rank() == 4;
  }

 private:
  bool IsPartOfTable(ValueId id) const {
    id = uses_.Behind({"slice", "reshape"}, id);
    return id.valid() && uses_.MakerOf(id) == nullptr && layers_[id].role != Role::kInput;
  }

  const Layers& layers_;
  const Uses uses_;
  std::set<std::string> paths_;
};

}  // namespace

void MakeMapsOfSequencesContiguous(Layers* layers) {
  const Maps maps(*layers);
  Edit edit(layers);
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& turn = layers->layers[l];
    const bool kept = l + 1 < layers->layers.size() && layers->layers[l + 1].op == "contiguous";
    const bool of_norm = maps.IsMapOfNorm(turn);
    if (kept || (!of_norm && !maps.IsTurnedSequence(turn))) continue;
    Layer copy = CallBeside(turn, "contiguous", turn.outputs, Named({{"assumed", int64_t{1}}}));
    if (of_norm) copy.module = (*layers)[turn.module].parent;
    edit.Rename(turn.outputs[0], edit.InsertBehind(l, std::move(copy), (*layers)[turn.outputs[0]]));
  }
  edit.Apply();
}

}  // namespace vramplan
