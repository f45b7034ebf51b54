#include "planner/lifetimes/lifetimes.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/layers/uses.h"
#include "planner/lifetimes/rules.h"

namespace vramplan {
namespace {

// What has a name without being read twice. Parts of one tensor are taken apart into names, which live, and with them
// the whole, as long as their frame: q, k, v = qkv.unbind(0); qkv[0], qkv[1], qkv[2]; a, b = x.chunk(2).
class NameHolds {
 public:
  explicit NameHolds(const Frames& frames) : frames_(frames), uses_(frames.uses()) {
    for (const Layer& layer : frames.layers().layers) {
      if (layer.op == "select" && layer.inputs[0].valid()) ++selects_[{layer.inputs[0], layer.module}];
    }
  }
  // q = q * scale: the name goes over to the product. q = self.norm(q): invalid, the call's result has it, however
  // often the call reads it.
  ValueId Renamed(ValueId part) const {
    const std::span<const int32_t> readers = uses_.LayersReading(part);
    if (readers.empty()) return part;
    const Layer& reader = frames_.At(readers[0]);
    const auto call_of = [&](int l) { return frames_.OutermostForeign(frames_.MadeIn(part), frames_.At(l).module); };
    const ModuleId call = call_of(readers[0]);
    if (!std::ranges::all_of(readers, [&](int l) { return call_of(l) == call; })) return part;
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
      const Layer& layer = frames_.At(product);
      const int reader = OnlyReader(layer.outputs[0]);
      if (layer.outputs.size() != 1 || reader < 0 || frames_.At(reader).module != layer.module) break;
      if (!IsOneOf(frames_.At(reader).op, {"reshape", "view", "permute", "transpose", "contiguous"})) break;
      product = reader;
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
    int place = -1;
    ValueId value = layer.outputs[0];
    for (const std::string_view op : {"batch_norm", "relu", "conv"}) {
      place = OnlyReader(value);
      if (place < 0) return -1;
      const Layer& reader = frames_.At(place);
      const bool called = reader.module.valid() && frames_.layers()[reader.module].parent == layer.module;
      if (!called || !reader.op.starts_with(op)) return -1;
      value = reader.outputs[0];
    }
    return place;
  }
  // The norm that alone reads a sum of two; -1: there is none.
  int NormOf(const Layer& sum) const {
    if (sum.op != "add" || sum.inputs.size() != 2 || !sum.inputs[1].valid() || !sum.module.valid()) return -1;
    const int reader = OnlyReader(sum.outputs[0]);
    return reader >= 0 && IsOneOf(frames_.At(reader).op, {"layer_norm", "rms_norm"}) ? reader : -1;
  }
  // hidden = self.norm(hidden + x), also within a block: the later operand, which stands first, has the name that the
  // norm writes anew. Where; -1: not so.
  int EndOfNormedName(const Layer& sum) const {
    const int norm = NormOf(sum);
    if (norm < 0 || frames_.At(norm).module == sum.module) return -1;
    return uses_.PlaceOfMaker(sum.inputs[0]) > uses_.PlaceOfMaker(sum.inputs[1]) ? norm : -1;
  }
  // Operands of a sum that outlive it. return self.LayerNorm(hidden + residual), which ends BERT's blocks: the sum has
  // no name, both operands have. But x = self.norm2(x + self._ff_block(x)), which ends torch.nn's encoder layers, has
  // no name for what the block returned.
  std::vector<ValueId> OperandsOfReturnedNorm(const Layer& sum) const {
    const int norm = NormOf(sum);
    if (norm < 0 || frames_.EndOf(sum.module) != norm) return {};
    const ValueId first = sum.inputs[0], second = sum.inputs[1];
    if (uses_.PlaceOfMaker(first) >= uses_.PlaceOfMaker(second)) return sum.inputs;
    return uses_.LayersReading(first).size() > 1 ? std::vector{first} : std::vector<ValueId>();
  }

 private:
  // -1: none, or several.
  int OnlyReader(ValueId value) const {
    const std::span<const int32_t> readers = uses_.LayersReading(value);
    return readers.size() == 1 ? readers[0] : -1;
  }

  const Frames& frames_;
  const Uses& uses_;
  std::map<std::pair<ValueId, ModuleId>, int> selects_;
};

// By value: whether it depends on what the caller gave; x.new_zeros(n) does not, it takes the type alone.
std::vector<bool> FromInput(const Layers& layers) {
  std::vector<bool> from_input(layers.values.size());
  for (size_t v = 0; v < layers.values.size(); ++v) from_input[v] = layers.values[v].role == Role::kInput;
  for (const Layer& layer : layers.layers) {
    const auto reached = [&](ValueId id) { return id.valid() && from_input[id.index()]; };
    if (IsCreation(layer) || !std::ranges::any_of(layer.inputs, reached)) continue;
    for (const ValueId id : layer.outputs) {
      if (id.valid()) from_input[id.index()] = true;
    }
  }
  return from_input;
}

// bias = self.get_relative_position_bias(); mask = mask.masked_fill(mask != 0, -100): what was made without any input
// is prepared under a name of its own before an activation meets it. Numbers of places (arange) mostly have none; zeros
// that an activation is added to begin a sum, whose name the sum takes: acc = zeros_like(h); acc = acc + f(h).
void HoldPrepared(const Frames& frames, const std::vector<bool>& from_input, Holds& holds) {
  std::set<ValueId> begun;
  for (const Layer& layer : frames.layers().layers) {
    if (layer.op == "zeros") begun.insert(layer.outputs.begin(), layer.outputs.end());
    const auto reached = [&](ValueId id) { return id.valid() && from_input[id.index()]; };
    if (!std::ranges::any_of(layer.inputs, reached)) continue;
    for (const ValueId id : layer.inputs) {
      if (!id.valid() || reached(id) || begun.contains(id) || !IsFloating(frames.layers()[id].type)) continue;
      holds.Lengthen(id, frames.WithFrame(frames.MadeIn(id)));
    }
  }
}

// What is known of a graph's lifetimes whatever names its variables have, and what the likely names add.
class Guess {
 public:
  // `order`: of the rules, for a test; empty: as they stand.
  explicit Guess(const Layers& layers, const std::vector<size_t>& order = {})
      : layers_(layers),
        frames_(layers),
        likely_(layers.values.size()),
        known_(layers.values.size()),
        bound_(layers.values.size()),
        from_input_(FromInput(layers)),
        joins_list_(JoinsOfLists(layers, from_input_)),
        traced_(layers.values.size()),
        returned_(layers.values.size()) {
    for (const ValueId output : layers.outputs) {
      if (output.valid()) returned_[output.index()] = true;
    }
    HoldReaders();
    known_ = likely_;
    HoldLikelyNames(order);
    likely_.Under("source-lines");
    traced_ = FollowTracedNames(frames_, known_, likely_);
    TakeRecorded();
  }

  std::vector<Held> Likely() const {
    std::vector<Held> held;
    for (size_t v = 0; v < likely_.size(); ++v) {
      const bool is_made = likely_[v].after >= 0 && layers_.values[v].role == Role::kActivation;
      const ValueId value = ValueId::At(v);
      if (is_made)
        held.push_back({value, returned_[v] ? -1 : likely_[v].after, returned_[v] ? "returned" : likely_.RuleOf(v)});
    }
    return held;
  }

  static std::vector<HoldRule> Rules() {
    std::vector<HoldRule> rules = {{"read", "its last reader is done, or the call that was given it returns"}};
    for (const Rule& rule : RuleRows()) rules.push_back({rule.name, rule.why});
    rules.push_back({"source-lines", "the lines of code that the file keeps say until when its name lasts"});
    rules.push_back({"recorded", "a forward of the model itself showed it (docs/facts.md)"});
    rules.push_back({"returned", "the model returns it"});
    return rules;
  }

  Releases As(Naming naming) const {
    if (naming == Naming::kLikely) return InOrder(likely_);
    Holds release = likely_;
    if (naming == Naming::kMost) {
      HoldMostNames(frames_, known_, traced_.told, release);
      for (size_t v = 0; v < release.size(); ++v) release.Lengthen(ValueId::At(v), traced_.again[v]);
      return InOrder(release);
    }
    for (size_t v = 0; v < release.size(); ++v) {
      if (traced_.told[v] != Told::kEnd) release.Set(v, known_[v]);
    }
    return InOrder(release);
  }

 private:
  void HoldReaders() {
    likely_.Under("read");
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      const Release read = {static_cast<int>(l), Temporary(frames_.DepthOf(layer.module))};
      for (const ValueId input : layer.inputs) {
        if (!input.valid() || layers_[input].role != Role::kActivation) continue;
        const ModuleId foreign = frames_.OutermostForeign(frames_.MadeIn(input), layer.module);
        if (likely_[input.index()].after < 0) likely_.Set(input.index(), read);
        likely_.Lengthen(input, read);
        if (foreign.valid()) likely_.Lengthen(input, {frames_.EndOf(foreign), ArgumentOf(frames_.DepthOf(foreign))});
      }
      for (const ValueId output : layer.outputs) {
        if (output.valid()) likely_.Set(output.index(), read);  // unused so far: dies at once
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
      const std::span<const int32_t> readers = frames_.uses().LayersReading(end.value);
      const int after = end.made.valid() ? frames_.MakerOf(end.made) : last;
      if (after < 0) continue;  // a reading of these layers has the call no more
      const int read = readers.empty() ? frames_.MakerOf(end.value) : readers.back();
      for (Holds* holds : {&likely_, &known_}) holds->Set(v, {std::max(after, read), kRecorded + holder}, "recorded");
      --holder;
      traced_.told[v] = Told::kEnd;
      traced_.again[v] = {};
    }
  }

  // What the likely names add. A rule only lengthens lives, so the order of the rows does not matter.
  struct Rule {
    const char* name;
    const char* why;
    void (*hold)(Guess& guess);
  };
  static const std::vector<Rule>& RuleRows() {
    static const std::vector<Rule> rows = {
        {"joined", "several statements read it: its name lasts until what they made has come together",
         [](Guess& g) { HoldJoined(g.frames_, g.joins_list_, g.likely_); }},
        {"prepared", "made without any input: it waits under a name for the activation that meets it",
         [](Guess& g) { HoldPrepared(g.frames_, g.from_input_, g.likely_); }},
        {"known-names", "code that libraries write alike", [](Guess& g) { HoldKnownNames(g.frames_, g.likely_); }},
        {"bound-names", "what is read later in its frame must have a name",
         [](Guess& g) { HoldBoundNames(g.frames_, g.likely_); }},
        {"known-frames", "what a library's frame calls its children (graph/habits)",
         [](Guess& g) { HoldKnownFrames(g.frames_, g.likely_); }},
        {"parts", "tensors that are taken apart into names, sums that a norm returns, tuples of recurrent layers",
         [](Guess& g) { g.HoldParts(); }},
    };
    return rows;
  }

  void HoldLikelyNames(const std::vector<size_t>& order) {
    // Names of a frame go in the order in which they were first bound.
    for (size_t v = 0; v < bound_.size(); ++v) bound_[v] = static_cast<int32_t>(v);
    for (size_t row = 0; row < RuleRows().size(); ++row) {
      const Rule& rule = RuleRows()[order.empty() ? row : order[row]];
      if (IsLeftOut("lifetime", rule.name)) continue;
      likely_.Under(rule.name);
      rule.hold(*this);
      for (size_t v = 0; NotesWhatActs() && v < likely_.size(); ++v) NoteThatItActed("lifetime", likely_.RuleOf(v));
    }
  }

  // Operands and parts that have a name without being read twice, and what recurrent layers return.
  void HoldParts() {
    const NameHolds names(frames_);
    for (size_t l = 0; l < layers_.layers.size(); ++l) {
      const Layer& layer = layers_.layers[l];
      const Release end = frames_.WithFrame(layer.module);
      if (const int until = names.EndOfPreactivation(layer); until >= 0) {
        likely_.Lengthen(layer.outputs[0], {until, end.holder});
        likely_.Lengthen(frames_.At(until).outputs[0], end);
      }
      if (const int until = names.EndOfNormedName(layer); until >= 0)
        likely_.Lengthen(layer.inputs[0], {until, end.holder});
      if (names.IsVariance(layer)) likely_.Lengthen(layer.outputs[0], end);
      for (const ValueId part : joins_list_[l] ? layer.inputs : names.OperandsOfReturnedNorm(layer))
        likely_.Lengthen(part, end);
      if (!names.Has(layer)) continue;
      likely_.Lengthen(names.Projection(layer), end);
      const ValueId projected = names.ProjectedInto(layer);
      for (const ValueId part : layer.outputs) {
        if (!part.valid()) continue;
        likely_.Lengthen(projected, {names.EndOfStatement(names.LastReader(part)), end.holder});
        const ValueId renamed = names.Renamed(part);
        if (!renamed.valid()) continue;
        bound_[renamed.index()] = part.value;
        likely_.Lengthen(renamed, end);
      }
    }
    for (const Layer& layer : layers_.layers) HoldTuple(names, layer);
  }

  // out, (h, c) = self.lstm(x): read or not, the tuple has a name.
  void HoldTuple(const NameHolds& names, const Layer& layer) {
    if (!IsOneOf(layer.op, {"lstm", "gru", "rnn"}) || !layer.module.valid()) return;
    std::vector<int32_t> places;
    for (const ValueId output : layer.outputs) places.push_back(output.value);
    std::ranges::sort(places);
    bound_[layer.outputs[0].index()] = places[0];
    for (size_t i = names.LastReader(layer.outputs[0]) < 0 ? 0 : 1; i < layer.outputs.size(); ++i) {
      likely_.Lengthen(layer.outputs[i], frames_.WithFrame(layers_[layer.module].parent));
      if (i > 0) bound_[layer.outputs[i].index()] = places[places.size() - i];  // a tuple, from its end
    }
  }

  Releases InOrder(const Holds& release) const {
    Releases after(layers_.layers.size());
    for (size_t v = 0; v < release.size(); ++v) {
      if (release[v].after >= 0 && !returned_[v] && layers_.values[v].role == Role::kActivation) {
        after[static_cast<size_t>(release[v].after)].push_back(ValueId::At(v));
      }
    }
    const auto rank = [&](ValueId id) { return std::pair{-release[id.index()].holder, bound_[id.index()]}; };
    for (std::vector<ValueId>& together : after) {
      std::ranges::stable_sort(together, [&](ValueId a, ValueId b) { return rank(a) < rank(b); });
    }
    return after;
  }

  static constexpr int kRecorded = 1 << 20;  // beyond the holders of all frames

  const Layers& layers_;
  const Frames frames_;
  Holds likely_, known_;                // by value; known without guesses
  std::vector<int32_t> bound_;          // by value: names of a frame go in the order in which they were first bound
  const std::vector<bool> from_input_;  // by value
  const std::vector<bool> joins_list_;  // by layer
  Traced traced_;                       // by value, by source lines
  std::vector<bool> returned_;          // by value: the caller has it
};

}  // namespace

Lifetimes LifetimesOf(const Layers& layers) {
  const Guess guess(layers);
  return {guess.As(Naming::kFewest), guess.As(Naming::kLikely), guess.As(Naming::kMost)};
}

Releases ReleasesAfter(const Layers& layers, Naming naming) { return Guess(layers).As(naming); }

Releases ReleasesInOrder(const Layers& layers, const std::vector<size_t>& order) {
  return Guess(layers, order).As(Naming::kLikely);
}

std::vector<Held> HoldsOf(const Layers& layers) { return Guess(layers).Likely(); }

std::vector<HoldRule> HoldRules() { return Guess::Rules(); }

}  // namespace vramplan
