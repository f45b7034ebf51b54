#include "planner/lifetimes/joins.h"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>

#include "graph/lift/any_export/creations.h"

namespace vramplan {
namespace {

// A value that several statements of one frame read has a name, and the name stays bound while they run: until what
// they made has come together again, which is where code writes the same name anew (x = cat([f(x), g(x)])) or returns.
class Joins {
 public:
  Joins(const Layers& layers, const Calls& calls, const Statements& statements, const std::vector<bool>& joins_list)
      : layers_(layers), calls_(calls), statements_(statements), joins_list_(joins_list) {}

  // Where the readers' results have joined, at most at the end of the frame; nowhere for values read once in it.
  Release Of(ValueId value, ModuleId producer) const {
    if (layers_[value].role != Role::kActivation) return {};
    const std::vector<int> readers = ReadersOf(value);
    if (readers.size() < 2) return {};
    ModuleId frame = producer;
    while (frame.valid() && calls_.last[static_cast<size_t>(frame.value)] < readers.back())
      frame = layers_[frame].parent;
    std::set<int> statements;  // a call counts once, however often its inside reads its argument
    for (const int reader : readers) {
      const ModuleId call =
          OutermostForeign(layers_, calls_, frame, layers_.layers[static_cast<size_t>(reader)].module);
      statements.insert(call.valid() ? -1 - call.value : reader);
    }
    if (statements.size() < 2) return {};
    // x_skip = self.in_skip(x); for block in self.blocks: x = block(x): the first turn of the loop binds the name anew.
    const auto turn = statements_.StatementOf(readers.back(), frame);
    const int maker = statements_.MakerOf(value);
    if (maker >= 0 && statements_.IsOfList(turn) && statements_.Carries(statements_.StatementOf(maker, frame), turn))
      return {turn.last, NameOf(DepthOf(calls_, frame))};
    const int end = std::max(statements_.EndOfName(statements_.MakerOf(value), frame), readers.back());
    const int holder = NameOf(DepthOf(calls_, frame));
    // Uses on from the first reader; `open`: values that descend from this one and still have readers ahead.
    std::unordered_map<int32_t, int> open;
    size_t next = 0;
    for (int l = readers.front(); l <= end; ++l) {
      const Layer& layer = layers_.layers[static_cast<size_t>(l)];
      bool descends = next < readers.size() && readers[next] == l;
      if (descends) ++next;
      for (const ValueId input : layer.inputs) {
        const auto found = input.valid() ? open.find(input.value) : open.end();
        if (found == open.end()) continue;
        descends = true;
        if (found->second == l) open.erase(found);
      }
      if (descends) {
        for (const ValueId output : layer.outputs) {
          if (!output.valid()) continue;
          if (const int last = LastReader(output); last >= 0) open[output.value] = last;
        }
      }
      if (next == readers.size() && open.size() <= 1) return {joins_list_[static_cast<size_t>(l)] ? end : l, holder};
    }
    return {end, holder};
  }

 private:
  // x.new_zeros(n) does nothing to x.
  bool IsUse(int layer) const { return !IsCreation(layers_.layers[static_cast<size_t>(layer)]); }
  // The layers that use a value, each once.
  std::vector<int> ReadersOf(ValueId value) const {
    std::vector<int> readers;
    for (const int reader : statements_.uses().LayersReading(value)) {
      if (IsUse(reader) && (readers.empty() || readers.back() != reader)) readers.push_back(reader);
    }
    return readers;
  }
  int LastReader(ValueId value) const {
    const std::span<const int32_t> readers = statements_.uses().LayersReading(value);
    for (size_t r = readers.size(); r > 0; --r) {
      if (IsUse(readers[r - 1])) return readers[r - 1];
    }
    return -1;
  }

  const Layers& layers_;
  const Calls& calls_;
  const Statements& statements_;
  const std::vector<bool>& joins_list_;  // by layer
};

}  // namespace

// By layer: what is joined by the dozen was gathered in a list, and the list is a name of the frame: torchvision's
// ASPP, decoders that resize all their features, inception blocks. But every second pixel of one tensor is gathered on
// the spot, by a helper or a comprehension: the patch merging of Swin transformers, YOLO's Focus.
std::vector<bool> JoinsOfLists(const Layers& layers, const std::vector<bool>& from_input) {
  constexpr int kFewest = 3;
  // fpn_outs = torch.cat(fpn_outs): UPerNet's head writes the list's name anew (mmsegmentation, decode_heads/
  // uper_head.py; transformers 5, modeling_upernet.py).
  std::set<ModuleId> renaming;
  for (const Module& module : layers.modules) {
    if (module.path.ends_with("fpn_bottleneck")) renaming.insert(module.parent);
  }
  std::vector<bool> strided(layers.values.size()), joins(layers.layers.size());
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const auto is_strided = [&](ValueId id) { return id.valid() && strided[static_cast<size_t>(id.value)]; };
    if (layer.op == "slice") {
      const bool steps = layer.attributes.Int("step", 1) > 1 || is_strided(layer.inputs[0]);
      strided[static_cast<size_t>(layer.outputs[0].value)] = steps;
    }
    // Tokens of a class and alike, which stand in front of the patches, are parameters.
    const auto made = std::count_if(layer.inputs.begin(), layer.inputs.end(), [&](ValueId id) {
      return id.valid() && from_input[static_cast<size_t>(id.value)];
    });
    joins[l] = (layer.op == "cat" || layer.op == "stack") && made >= kFewest &&
               !(layer.module.valid() && renaming.contains(layer.module)) &&
               !std::all_of(layer.inputs.begin(), layer.inputs.end(), is_strided);
  }
  return joins;
}

void HoldJoined(const Layers& layers, const Calls& calls, const Statements& statements,
                const std::vector<bool>& joins_list, const std::vector<ModuleId>& producer, Holds& release) {
  const Joins joins(layers, calls, statements, joins_list);
  for (size_t v = 0; v < release.size(); ++v) {
    if (release[v].after >= 0)
      Hold(release, ValueId{static_cast<int32_t>(v)}, joins.Of(ValueId{static_cast<int32_t>(v)}, producer[v]));
  }
}

}  // namespace vramplan
