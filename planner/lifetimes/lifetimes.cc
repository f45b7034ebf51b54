#include "planner/lifetimes/lifetimes.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>

#include "graph/lift/any_export/creations.h"
#include "planner/lifetimes/bound_names.h"
#include "planner/lifetimes/decoders.h"
#include "planner/lifetimes/known_frames.h"
#include "planner/lifetimes/known_names.h"
#include "planner/lifetimes/most_names.h"
#include "planner/lifetimes/pyramid.h"
#include "planner/lifetimes/statements.h"
#include "planner/lifetimes/traced_names.h"

namespace vramplan {
namespace {

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

// What has a name without being read twice. Parts of one tensor are taken apart into names, which live, and with them
// the whole, as long as their frame: q, k, v = qkv.unbind(0); qkv[0], qkv[1], qkv[2]; a, b = x.chunk(2).
class NameHolds {
 public:
  NameHolds(const Layers& layers, const Calls& calls, const Uses& uses) : layers_(layers), calls_(calls), uses_(uses) {
    for (const Layer& layer : layers.layers) {
      if (layer.op == "select" && layer.inputs[0].valid()) ++selects_[{layer.inputs[0], layer.module}];
    }
  }
  // q = q * scale: the name goes over to the product. q = self.norm(q): invalid, the call's result has it, however
  // often the call reads it.
  ValueId Renamed(ValueId part) const {
    const std::span<const int32_t> readers = uses_.LayersReading(part);
    if (readers.empty()) return part;
    const Layer& reader = layers_.layers[static_cast<size_t>(readers[0])];
    const Layer& maker = *uses_.MakerOf(part);
    const auto call_of = [&](int l) {
      return OutermostForeign(layers_, calls_, maker.module, layers_.layers[static_cast<size_t>(l)].module);
    };
    const ModuleId call = call_of(readers[0]);
    if (!std::all_of(readers.begin(), readers.end(), [&](int l) { return call_of(l) == call; })) return part;
    if (call.valid()) return {};
    if (readers.size() != 1) return part;
    const bool scaled = (reader.op == "mul" || reader.op == "div") && reader.attributes.Has("scalar");
    return scaled && reader.inputs[0] == part ? reader.outputs[0] : part;
  }
  bool Has(const Layer& layer) const {
    if (layer.op == "unbind" || layer.op == "split") return layer.outputs.size() > 1;
    if (layer.op != "select" || !layer.inputs[0].valid()) return false;
    return selects_.at({layer.inputs[0], layer.module}) > 1;
  }
  // qkv = linear(x); q, k, v = ...; x = attn @ v: of parts taken from a projection, what was projected, whose name the
  // product writes anew. Invalid for others.
  ValueId ProjectedInto(const Layer& parts) const {
    for (ValueId value = parts.inputs[0]; value.valid();) {
      const Layer* maker = uses_.MakerOf(value);
      if (maker == nullptr || maker->module != parts.module) return {};
      if (maker->op == "linear") return maker->inputs[0];
      if (maker->op != "reshape" && maker->op != "view" && maker->op != "permute") return {};
      value = maker->inputs[0];
    }
    return {};
  }
  // qkv = self.qkv(x).reshape(b, n, 3, h, -1).permute(...); q, k, v = qkv.reshape(3, b * h, n, -1).unbind(0): parts of
  // a copy leave the projection's own name (segment_anything/modeling/image_encoder.py; timm/models/
  // vision_transformer_sam.py 1.0). Invalid for others.
  ValueId Projection(const Layer& parts) const {
    const Layer* layer = &parts;
    for (const std::string_view step : {"reshape", "permute", "reshape"}) layer = uses_.Operand(layer, 0, step);
    return uses_.Operand(layer, 0, "linear") != nullptr ? Uses::In(layer, 0) : ValueId();
  }
  int LastReader(ValueId value) const {
    const std::span<const int32_t> readers = uses_.LayersReading(value);
    return readers.empty() ? -1 : readers.back();
  }
  // x = (attn @ v).transpose(1, 2).reshape(...): the statement ends with what is done to the product's shape.
  int EndOfStatement(int product) const {
    while (product >= 0) {
      const Layer& layer = layers_.layers[static_cast<size_t>(product)];
      const std::span<const int32_t> readers = uses_.LayersReading(layer.outputs[0]);
      if (layer.outputs.size() != 1 || readers.size() != 1) break;
      const Layer& reader = layers_.layers[static_cast<size_t>(readers[0])];
      if (reader.module != layer.module || !IsShaping(reader)) break;
      product = readers[0];
    }
    return product;
  }
  // variance = x.pow(2).mean(-1, keepdim=True), of the RMS norms of transformers.
  bool IsVariance(const Layer& layer) const {
    const Layer* square = layer.op == "mean" ? uses_.Operand(&layer, 0, "pow") : nullptr;
    return square != nullptr && square->module == layer.module;
  }
  // x = cat(...); return self.conv(self.relu(self.norm(x))), calls of one frame: DenseNet's name for what it joined
  // lives until the convolution is done, and its result has a name in turn. The convolution's layer; -1: something else
  // reads the join.
  int EndOfPreactivation(const Layer& layer) const {
    if (layer.op != "cat" || !layer.outputs[0].valid()) return -1;
    ValueId value = layer.outputs[0];
    for (const std::string_view step : {"norm", "act", "conv"}) {
      const std::span<const int32_t> readers = uses_.LayersReading(value);
      if (readers.size() != 1) return -1;
      const Layer& reader = layers_.layers[static_cast<size_t>(readers[0])];
      const bool fits = step == "norm"  ? reader.op == "batch_norm"
                        : step == "act" ? reader.op == "relu"
                                        : reader.op.rfind("conv", 0) == 0;
      if (!fits || !reader.module.valid() || layers_[reader.module].parent != layer.module) return -1;
      if (step == "conv") return readers[0];
      value = reader.outputs[0];
    }
    return -1;
  }
  // The norm that alone reads a sum of two; -1: there is none.
  int NormOf(const Layer& sum) const {
    if (sum.op != "add" || sum.inputs.size() != 2 || !sum.inputs[1].valid() || !sum.module.valid()) return -1;
    const std::span<const int32_t> readers = uses_.LayersReading(sum.outputs[0]);
    if (readers.size() != 1) return -1;
    const std::string& op = layers_.layers[static_cast<size_t>(readers[0])].op;
    return op == "layer_norm" || op == "rms_norm" ? readers[0] : -1;
  }
  // hidden = self.norm(hidden + x), also within a block: the later operand, which stands first, has the name that the
  // norm writes anew. Where; -1: not so.
  int EndOfNormedName(const Layer& sum) const {
    const int norm = NormOf(sum);
    if (norm < 0 || layers_.layers[static_cast<size_t>(norm)].module == sum.module) return -1;
    return uses_.PlaceOfMaker(sum.inputs[0]) > uses_.PlaceOfMaker(sum.inputs[1]) ? norm : -1;
  }
  // Operands of a sum that outlive it. return self.LayerNorm(hidden + residual), which ends BERT's blocks: the sum has
  // no name, both operands have. But x = self.norm2(x + self._ff_block(x)), which ends torch.nn's encoder layers, has
  // no name for what the block returned.
  std::vector<ValueId> OperandsOfReturnedNorm(const Layer& sum, const Calls& calls) const {
    const int norm = NormOf(sum);
    if (norm < 0 || calls.last[static_cast<size_t>(sum.module.value)] != norm) return {};
    const ValueId first = sum.inputs[0], second = sum.inputs[1];
    if (uses_.PlaceOfMaker(first) >= uses_.PlaceOfMaker(second)) return sum.inputs;
    return uses_.LayersReading(first).size() > 1 ? std::vector{first} : std::vector<ValueId>();
  }

 private:
  static bool IsShaping(const Layer& layer) {
    return layer.op == "reshape" || layer.op == "view" || layer.op == "permute" || layer.op == "transpose" ||
           layer.op == "contiguous";
  }

  const Layers& layers_;
  const Calls& calls_;
  const Uses& uses_;
  std::map<std::pair<ValueId, ModuleId>, int> selects_;
};

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
    for (const int reader : std::views::reverse(statements_.uses().LayersReading(value))) {
      if (IsUse(reader)) return reader;
    }
    return -1;
  }

  const Layers& layers_;
  const Calls& calls_;
  const Statements& statements_;
  const std::vector<bool>& joins_list_;  // by layer
};

// By value: whether it depends on what the caller gave; x.new_zeros(n) does not, it takes the type alone.
std::vector<bool> FromInput(const Layers& layers) {
  std::vector<bool> from_input(layers.values.size());
  for (size_t v = 0; v < layers.values.size(); ++v) from_input[v] = layers.values[v].role == Role::kInput;
  for (const Layer& layer : layers.layers) {
    const auto reached = [&](ValueId id) { return id.valid() && from_input[static_cast<size_t>(id.value)]; };
    if (IsCreation(layer) || !std::any_of(layer.inputs.begin(), layer.inputs.end(), reached)) continue;
    for (const ValueId id : layer.outputs) {
      if (id.valid()) from_input[static_cast<size_t>(id.value)] = true;
    }
  }
  return from_input;
}

// bias = self.get_relative_position_bias(); mask = mask.masked_fill(mask != 0, -100): what was made without any input
// is prepared under a name of its own before an activation meets it. Numbers of places (arange) mostly have none; zeros
// that an activation is added to begin a sum, whose name the sum takes: acc = zeros_like(h); acc = acc + f(h).
void HoldPrepared(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer,
                  const std::vector<bool>& from_input, std::vector<Release>& release) {
  std::set<ValueId> begun;
  for (const Layer& layer : layers.layers) {
    if (layer.op == "zeros") begun.insert(layer.outputs.begin(), layer.outputs.end());
    const auto reached = [&](ValueId id) { return id.valid() && from_input[static_cast<size_t>(id.value)]; };
    if (!std::any_of(layer.inputs.begin(), layer.inputs.end(), reached)) continue;
    for (const ValueId id : layer.inputs) {
      if (!id.valid() || reached(id) || begun.contains(id) || !IsFloating(layers[id].type)) continue;
      Hold(release, id, WithFrame(layers, calls, producer[static_cast<size_t>(id.value)]));
    }
  }
}

// What is known of a graph's lifetimes whatever names its variables have, and what the likely names add.
class Guess {
 public:
  explicit Guess(const Layers& layers)
      : layers_(layers),
        calls_(CallsOf(layers)),
        producer_(layers.values.size()),
        likely_(layers.values.size()),
        bound_(layers.values.size()),
        statements_(layers, calls_) {
    HoldReaders();
    known_ = likely_;
    HoldLikelyNames();
    if (!layers.source.stacks.empty()) HoldPyramid(layers, statements_, known_);
    told_ = FollowTracedNames(layers, statements_, known_, likely_);
    TakeRecorded();
  }

  Releases As(Naming naming) const {
    if (naming == Naming::kLikely) return InOrder(likely_);
    std::vector<Release> release = likely_;
    if (naming == Naming::kMost) {
      HoldMostNames(layers_, calls_, statements_, producer_, known_, told_, release);
      return InOrder(std::move(release));
    }
    for (size_t v = 0; v < release.size(); ++v) {
      if (!told_[v]) release[v] = known_[v];
    }
    return InOrder(std::move(release));
  }

 private:
  void HoldReaders() {
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      const Release read = {static_cast<int>(l), Temporary(DepthOf(calls_, layer.module))};
      for (ValueId input : layer.inputs) {
        if (!input.valid() || layers_[input].role != Role::kActivation) continue;
        const ModuleId foreign =
            OutermostForeign(layers_, calls_, producer_[static_cast<size_t>(input.value)], layer.module);
        if (likely_[static_cast<size_t>(input.value)].after < 0) likely_[static_cast<size_t>(input.value)] = read;
        Hold(likely_, input, read);
        if (foreign.valid())
          Hold(likely_, input, {EndOfFrame(layers_, calls_, foreign), ArgumentOf(DepthOf(calls_, foreign))});
      }
      for (ValueId output : layer.outputs) {
        if (!output.valid()) continue;
        producer_[static_cast<size_t>(output.value)] = layer.module;
        likely_[static_cast<size_t>(output.value)] = read;  // unused so far: dies at once
      }
    }
  }

  // What a forward of the model itself showed overrides all else. Where the file merged calls, a value lives on to its
  // last reader.
  void TakeRecorded() {
    const int last = static_cast<int>(layers_.layers.size()) - 1;
    int holder = static_cast<int>(layers_.recorded.size());  // who died first goes first
    for (const RecordedEnd& end : layers_.recorded) {
      const size_t v = end.value.index();
      const std::span<const int32_t> readers = statements_.uses().LayersReading(end.value);
      const int after = end.made.valid() ? statements_.MakerOf(end.made) : last;
      if (after < 0) continue;  // a reading of these layers has the call no more
      const int read = readers.empty() ? statements_.MakerOf(end.value) : readers.back();
      likely_[v] = known_[v] = {std::max(after, read), kRecorded + holder--};
      told_[v] = true;
    }
  }

  void HoldLikelyNames() {
    const std::vector<bool> from_input = FromInput(layers_);
    const std::vector<bool> joins_list = JoinsOfLists(layers_, from_input);
    const Joins joins(layers_, calls_, statements_, joins_list);
    for (size_t v = 0; v < likely_.size(); ++v) {
      const ValueId value{static_cast<int32_t>(v)};
      if (likely_[v].after >= 0) Hold(likely_, value, joins.Of(value, producer_[v]));
    }
    HoldPrepared(layers_, calls_, producer_, from_input, likely_);
    HoldKnownNames(layers_, calls_, producer_, likely_);
    HoldPyramid(layers_, statements_, likely_);
    HoldBoundNames(layers_, statements_, likely_);
    HoldDecoders(layers_, statements_, likely_);
    HoldKnownFrames(layers_, statements_, likely_);
    HoldParts(joins_list);
  }

  // Operands and parts that have a name without being read twice, and what recurrent layers return.
  void HoldParts(const std::vector<bool>& joins_list) {
    const NameHolds names(layers_, calls_, statements_.uses());
    // NameHolds of a frame go in the order in which they were first bound.
    for (size_t v = 0; v < bound_.size(); ++v) bound_[v] = static_cast<int32_t>(v);
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      const Release end = WithFrame(layers_, calls_, layer.module);
      if (const int until = names.EndOfPreactivation(layer); until >= 0) {
        Hold(likely_, layer.outputs[0], {until, end.holder});
        Hold(likely_, layers_.layers[static_cast<size_t>(until)].outputs[0], end);
      }
      if (const int until = names.EndOfNormedName(layer); until >= 0)
        Hold(likely_, layer.inputs[0], {until, end.holder});
      if (names.IsVariance(layer)) Hold(likely_, layer.outputs[0], end);
      for (const ValueId part : joins_list[l] ? layer.inputs : names.OperandsOfReturnedNorm(layer, calls_))
        Hold(likely_, part, end);
      if (!names.Has(layer)) continue;
      Hold(likely_, names.Projection(layer), end);
      const ValueId projected = names.ProjectedInto(layer);
      for (const ValueId part : layer.outputs) {
        if (!part.valid()) continue;
        Hold(likely_, projected, {names.EndOfStatement(names.LastReader(part)), end.holder});
        const ValueId renamed = names.Renamed(part);
        if (!renamed.valid()) continue;
        bound_[static_cast<size_t>(renamed.value)] = part.value;
        Hold(likely_, renamed, end);
      }
    }
    for (const Layer& layer : layers_.layers) HoldTuple(names, layer);
  }

  // out, (h, c) = self.lstm(x): read or not, the tuple has a name.
  void HoldTuple(const NameHolds& names, const Layer& layer) {
    if ((layer.op != "lstm" && layer.op != "gru" && layer.op != "rnn") || !layer.module.valid()) return;
    std::vector<int32_t> places;
    for (const ValueId output : layer.outputs) places.push_back(output.value);
    std::sort(places.begin(), places.end());
    bound_[static_cast<size_t>(layer.outputs[0].value)] = places[0];
    for (size_t i = names.LastReader(layer.outputs[0]) < 0 ? 0 : 1; i < layer.outputs.size(); ++i) {
      Hold(likely_, layer.outputs[i], WithFrame(layers_, calls_, layers_[layer.module].parent));
      if (i > 0)
        bound_[static_cast<size_t>(layer.outputs[i].value)] = places[places.size() - i];  // a tuple, from its end
    }
  }

  Releases InOrder(std::vector<Release> release) const {
    for (ValueId output : layers_.outputs) {
      if (output.valid()) release[static_cast<size_t>(output.value)] = {};
    }
    Releases after(layers_.layers.size());
    for (size_t v = 0; v < release.size(); ++v) {
      if (release[v].after >= 0 && layers_.values[v].role == Role::kActivation) {
        after[static_cast<size_t>(release[v].after)].push_back(ValueId{static_cast<int32_t>(v)});
      }
    }
    const auto rank = [&](ValueId id) {
      return std::pair{-release[static_cast<size_t>(id.value)].holder, bound_[static_cast<size_t>(id.value)]};
    };
    for (std::vector<ValueId>& together : after) {
      std::stable_sort(together.begin(), together.end(), [&](ValueId a, ValueId b) { return rank(a) < rank(b); });
    }
    return after;
  }

  static constexpr int kRecorded = 1 << 20;  // beyond the holders of all frames

  const Layers& layers_;
  const Calls calls_;
  std::vector<ModuleId> producer_;       // the call that made each value
  std::vector<Release> likely_, known_;  // by value; known without guesses
  std::vector<int32_t> bound_;           // by value: names of a frame go in the order in which they were first bound
  const Statements statements_;
  std::vector<bool> told_;  // by value: source lines tell
};

}  // namespace

Lifetimes LifetimesOf(const Layers& layers) {
  const Guess guess(layers);
  return {guess.As(Naming::kFewest), guess.As(Naming::kLikely), guess.As(Naming::kMost)};
}

Releases ReleasesAfter(const Layers& layers, Naming naming) { return Guess(layers).As(naming); }

}  // namespace vramplan
