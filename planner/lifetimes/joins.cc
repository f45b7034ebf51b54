#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/base/text.h"
#include "graph/layers/uses.h"
#include "planner/lifetimes/rules.h"

namespace vramplan {
namespace {

// A value that several statements of one frame read has a name, and the name stays bound while they run: until what
// they made has come together again, which is where code writes the same name anew (x = cat([f(x), g(x)])) or returns.
class Joins {
  static constexpr int kStepsOfTurn = 3;  // pointwise operators from one state to the next
  static constexpr size_t kReadersOfState = 8;
  static constexpr int kFarthest = 2048;  // layers to where readers join; what joins later lives as long as its frame

 public:
  Joins(const Frames& frames, const std::vector<bool>& joins_list) : frames_(frames), joins_list_(joins_list) {}

  // Where the readers' results have joined, at most at the end of the frame; nowhere for values read once in it.
  Release Of(ValueId value) const {
    if (frames_.layers()[value].role != Role::kActivation) return {};
    const std::vector<int> readers = ReadersOf(value);
    if (readers.size() < 2) return {};
    const ModuleId frame = frames_.FrameOf(value, readers.back());
    std::set<int> statements;  // a call counts once, however often its inside reads its argument
    for (const int reader : readers) {
      const ModuleId call = frames_.OutermostForeign(frame, frames_.At(reader).module);
      statements.insert(call.valid() ? -1 - call.value : reader);
    }
    if (statements.size() < 2) return {};
    if (const int rebound = Rebound(value, frame); rebound >= 0) return frames_.Named(rebound, frame);
    // x_skip = self.in_skip(x); for block in self.blocks: x = block(x): the first turn of the loop binds the name anew.
    const Statement turn = frames_.StatementOf(readers.back(), frame);
    const int maker = frames_.MakerOf(value);
    if (maker >= 0 && frames_.IsOfList(turn) && frames_.Carries(frames_.StatementOf(maker, frame), turn))
      return frames_.Named(turn.last, frame);
    const int end = std::max(frames_.EndOfName(maker, frame), readers.back());
    // Uses on from the first reader; `open`: values that descend from this one and still have readers ahead.
    std::unordered_map<int32_t, int> open;
    size_t next = 0;
    for (int l = readers.front(); l <= std::min(end, readers.front() + kFarthest); ++l) {
      const Layer& layer = frames_.At(l);
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
      if (next == readers.size() && open.size() <= 1)
        return frames_.Named(joins_list_[static_cast<size_t>(l)] ? end : l, frame);
    }
    return frames_.Named(end, frame);
  }

 private:
  // x = decay[:, i] * x + drive[:, i]; ys.append(f(x)): the state of a loop, whose next turn binds its name anew. The
  // layer that makes the next state, made as this one was; -1: the value is none.
  int Rebound(ValueId value, ModuleId frame) const {
    const int next = NextOf(value, frame);
    if (next < 0) return -1;
    return NextOf(frames_.At(next).outputs[0], frame) >= 0 || IsNextOfAnother(value, frame) ? next : -1;
  }
  static bool CarriesState(const Layer& layer) {
    return IsOneOf(layer.op, {"add", "sub", "mul", "div", "lerp", "addcmul"}) && layer.outputs.size() == 1;
  }
  int NextOf(ValueId value, ModuleId frame) const {
    const int maker = frames_.MakerOf(value);
    if (maker < 0 || !CarriesState(frames_.At(maker)) || frames_.At(maker).module != frame) return -1;
    const std::span<const int32_t> readers = frames_.uses().LayersReading(value);
    if (readers.size() > kReadersOfState) return -1;
    for (const int reader : readers) {
      int l = reader;
      for (int steps = 0; l >= 0 && steps < kStepsOfTurn; ++steps) {
        const Layer& layer = frames_.At(l);
        if (layer.module != frame || !CarriesState(layer)) break;
        const Value& made = frames_.layers()[layer.outputs[0]];
        if (layer.op == frames_.At(maker).op && made.shape == frames_.layers()[value].shape) return l;
        const std::span<const int32_t> further = frames_.uses().LayersReading(layer.outputs[0]);
        l = further.size() == 1 ? further[0] : -1;
      }
    }
    return -1;
  }
  bool IsNextOfAnother(ValueId value, ModuleId frame) const {
    const int maker = frames_.MakerOf(value);
    std::vector<ValueId> seen = frames_.At(maker).inputs;
    for (int steps = 0; steps < kStepsOfTurn; ++steps) {
      std::vector<ValueId> behind;
      for (const ValueId id : seen) {
        if (!id.valid() || frames_.MakerOf(id) < 0) continue;
        if (NextOf(id, frame) == maker) return true;
        const Layer& layer = frames_.At(frames_.MakerOf(id));
        if (layer.module == frame && CarriesState(layer))
          behind.insert(behind.end(), layer.inputs.begin(), layer.inputs.end());
      }
      seen = std::move(behind);
    }
    return false;
  }

  // x.new_zeros(n) does nothing to x.
  bool IsUse(int layer) const { return !IsCreation(frames_.At(layer)); }
  // The layers that use a value, each once.
  std::vector<int> ReadersOf(ValueId value) const {
    std::vector<int> readers;
    for (const int reader : frames_.uses().LayersReading(value)) {
      if (IsUse(reader) && (readers.empty() || readers.back() != reader)) readers.push_back(reader);
    }
    return readers;
  }
  int LastReader(ValueId value) const {
    const std::span<const int32_t> readers = frames_.uses().LayersReading(value);
    for (size_t r = readers.size(); r > 0; --r) {
      if (IsUse(readers[r - 1])) return readers[r - 1];
    }
    return -1;
  }

  const Frames& frames_;
  const std::vector<bool>& joins_list_;  // by layer
};

}  // namespace

// By layer: what is joined by the dozen was gathered in a list, and the list is a name of the frame: torchvision's
// ASPP, decoders that resize all their features, inception blocks. But every second pixel of one tensor is gathered on
// the spot, by a helper or a comprehension: the patch merging of Swin transformers, YOLO's Focus.
std::vector<bool> JoinsOfLists(const Layers& layers, const std::vector<bool>& from_input) {
  constexpr int kFewest = 3;
  std::vector<bool> strided(layers.values.size()), joins(layers.layers.size());
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const auto is_strided = [&](ValueId id) { return id.valid() && strided[id.index()]; };
    if (layer.op == "slice") {
      const bool steps = layer.attributes.Int("step", 1) > 1 || is_strided(layer.inputs[0]);
      strided[layer.outputs[0].index()] = steps;
    }
    // Tokens of a class and alike, which stand in front of the patches, are parameters.
    const auto made =
        std::ranges::count_if(layer.inputs, [&](ValueId id) { return id.valid() && from_input[id.index()]; });
    joins[l] =
        (layer.op == "cat" || layer.op == "stack") && made >= kFewest && !std::ranges::all_of(layer.inputs, is_strided);
  }
  return joins;
}

void HoldJoined(const Frames& frames, const std::vector<bool>& joins_list, Holds& holds) {
  const Joins joins(frames, joins_list);
  for (size_t v = 0; v < holds.size(); ++v) {
    const ValueId value = ValueId::At(v);
    if (holds[v].after >= 0) holds.Lengthen(value, joins.Of(value));
  }
}

}  // namespace vramplan
