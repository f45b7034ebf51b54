#include "planner/timeline/lifetimes.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>

namespace vramplan {
namespace {

struct Calls {
  std::vector<int> last;   // by module call: its last layer
  std::vector<int> depth;  // by module call
};

Calls CallsOf(const Layers& layers) {
  Calls calls;
  calls.last.assign(layers.modules.size(), -1);
  calls.depth.assign(layers.modules.size(), 0);
  for (size_t m = 0; m < layers.modules.size(); ++m) {
    const ModuleId parent = layers.modules[m].parent;
    if (parent.valid()) calls.depth[m] = calls.depth[static_cast<size_t>(parent.value)] + 1;
  }
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (ModuleId m = layers.layers[l].module; m.valid(); m = layers[m].parent) {
      calls.last[static_cast<size_t>(m.value)] = static_cast<int>(l);
    }
  }
  return calls;
}

// The outermost call around `consumer` that `producer` (invalid: the caller) is not inside of; invalid when they share
// their innermost.
ModuleId OutermostForeign(const Layers& layers, const Calls& calls, ModuleId producer, ModuleId consumer) {
  ModuleId outermost;
  while (consumer.valid()) {
    ModuleId around = producer;
    while (around.valid() &&
           calls.depth[static_cast<size_t>(around.value)] > calls.depth[static_cast<size_t>(consumer.value)]) {
      around = layers[around].parent;
    }
    if (around == consumer) break;
    outermost = consumer;
    consumer = layers[consumer].parent;
  }
  return outermost;
}

int EndOfFrame(const Layers& layers, const Calls& calls, ModuleId frame) {
  return frame.valid() ? calls.last[static_cast<size_t>(frame.value)] : static_cast<int>(layers.layers.size()) - 1;
}

int DepthOf(const Calls& calls, ModuleId frame) {
  return frame.valid() ? calls.depth[static_cast<size_t>(frame.value)] + 1 : 0;
}

// When Python lets a value go: behind this layer, and there in the order of `holder`, the largest first. Temporaries of
// a statement go before the names of its frame, those before what a call was given: the caller's stack lets it go when
// the call is back.
struct Release {
  int after = -1;  // layer; -1: nothing to let go
  int holder = 0;
};
int Temporary(int depth) { return 3 * depth + 2; }
int NameOf(int depth) { return 3 * depth + 1; }
int ArgumentOf(int depth) { return 3 * depth; }

Release WithFrame(const Layers& layers, const Calls& calls, ModuleId frame) {
  return {EndOfFrame(layers, calls, frame), NameOf(DepthOf(calls, frame))};
}

// Lets a value live to this layer at least. Values that no layer makes are not held here.
void Hold(std::vector<Release>& release, ValueId value, Release until) {
  if (!value.valid()) return;
  Release& last = release[static_cast<size_t>(value.value)];
  if (last.after < 0 || until.after < last.after) return;
  last.holder = until.after == last.after ? std::min(last.holder, until.holder) : until.holder;
  last.after = until.after;
}

// By layer: what is joined by the dozen was gathered in a list, and the list is a name of the frame: torchvision's
// ASPP, decoders that resize all their features, inception blocks. But every second pixel of one tensor is gathered on
// the spot, by a helper or a comprehension: the patch merging of Swin transformers, YOLO's Focus.
std::vector<bool> JoinsOfLists(const Layers& layers) {
  constexpr size_t kFewest = 3;
  std::vector<bool> strided(layers.values.size()), joins(layers.layers.size());
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const auto is_strided = [&](ValueId id) { return id.valid() && strided[static_cast<size_t>(id.value)]; };
    if (layer.op == "slice") {
      const bool steps = layer.attributes.Int("step", 1) > 1 || is_strided(layer.inputs[0]);
      strided[static_cast<size_t>(layer.outputs[0].value)] = steps;
    }
    joins[l] = (layer.op == "cat" || layer.op == "stack") && layer.inputs.size() >= kFewest &&
               !std::all_of(layer.inputs.begin(), layer.inputs.end(), is_strided);
  }
  return joins;
}

// What has a name without being read twice. Parts of one tensor are taken apart into names, which live, and with them
// the whole, as long as their frame: q, k, v = qkv.unbind(0); qkv[0], qkv[1], qkv[2]; a, b = x.chunk(2).
class Names {
 public:
  explicit Names(const Layers& layers)
      : layers_(layers), makers_(layers.values.size(), -1), readers_(layers.values.size()) {
    for (size_t l = 0; l < layers.layers.size(); ++l) {
      const Layer& layer = layers.layers[l];
      for (const ValueId id : layer.outputs) {
        if (id.valid()) makers_[static_cast<size_t>(id.value)] = static_cast<int>(l);
      }
      if (layer.op == "select" && layer.inputs[0].valid()) ++selects_[{layer.inputs[0], layer.module}];
      for (const ValueId id : layer.inputs) {
        if (id.valid()) readers_[static_cast<size_t>(id.value)].push_back(static_cast<int>(l));
      }
    }
  }
  // q = q * scale: the name goes over to the product.
  ValueId Renamed(ValueId part) const {
    if (!part.valid()) return part;
    const std::vector<int>& readers = readers_[static_cast<size_t>(part.value)];
    if (readers.size() != 1) return part;
    const Layer& reader = layers_.layers[static_cast<size_t>(readers[0])];
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
      const int maker = makers_[static_cast<size_t>(value.value)];
      if (maker < 0 || layers_.layers[static_cast<size_t>(maker)].module != parts.module) return {};
      const Layer& layer = layers_.layers[static_cast<size_t>(maker)];
      if (layer.op == "linear") return layer.inputs[0];
      if (layer.op != "reshape" && layer.op != "view" && layer.op != "permute") return {};
      value = layer.inputs[0];
    }
    return {};
  }
  int LastReader(ValueId value) const {
    const std::vector<int>& readers = readers_[static_cast<size_t>(value.value)];
    return readers.empty() ? -1 : readers.back();
  }
  // x = cat(...); return self.conv(self.relu(self.norm(x))): DenseNet's name for what it joined lives until the
  // convolution is done, and its result has a name in turn. The convolution's layer; -1: something else reads the join.
  int EndOfPreactivation(const Layer& layer) const {
    if (layer.op != "cat" || !layer.outputs[0].valid()) return -1;
    ValueId value = layer.outputs[0];
    for (const std::string_view step : {"norm", "act", "conv"}) {
      const std::vector<int>& readers = readers_[static_cast<size_t>(value.value)];
      if (readers.size() != 1) return -1;
      const Layer& reader = layers_.layers[static_cast<size_t>(readers[0])];
      const bool fits = step == "norm"  ? reader.op == "batch_norm"
                        : step == "act" ? reader.op == "relu"
                                        : reader.op.rfind("conv", 0) == 0;
      if (!fits) return -1;
      if (step == "conv") return readers[0];
      value = reader.outputs[0];
    }
    return -1;
  }
  // return self.LayerNorm(hidden + residual), which ends BERT's blocks: the sum has no name, its operands have. But
  // norm(x + self.f(x)), which ends torch.nn's encoder layers, has no name for what f returned.
  bool IsReturnedNorm(const Layer& sum, const Calls& calls) const {
    if (sum.op != "add" || sum.inputs.size() != 2 || !sum.inputs[1].valid() || !sum.module.valid()) return false;
    if (makers_[static_cast<size_t>(sum.inputs[0].value)] < makers_[static_cast<size_t>(sum.inputs[1].value)])
      return false;
    const std::vector<int>& readers = readers_[static_cast<size_t>(sum.outputs[0].value)];
    if (readers.size() != 1) return false;
    const std::string& norm = layers_.layers[static_cast<size_t>(readers[0])].op;
    return (norm == "layer_norm" || norm == "rms_norm") &&
           calls.last[static_cast<size_t>(sum.module.value)] == readers[0];
  }

 private:
  const Layers& layers_;
  std::map<std::pair<ValueId, ModuleId>, int> selects_;
  std::vector<int> makers_;                // layer, by value
  std::vector<std::vector<int>> readers_;  // layers, by value
};

// A value that several statements of one frame read has a name, and the name stays bound while they run: until what
// they made has come together again, which is where code writes the same name anew (x = cat([f(x), g(x)])) or returns.
class Joins {
 public:
  Joins(const Layers& layers, const Calls& calls, const std::vector<bool>& joins_list)
      : layers_(layers), calls_(calls), joins_list_(joins_list), readers_(layers.values.size()) {
    for (size_t l = 0; l < layers.layers.size(); ++l) {
      for (const ValueId input : layers.layers[l].inputs) {
        if (!input.valid() || layers[input].role != Role::kActivation) continue;
        std::vector<int>& readers = readers_[static_cast<size_t>(input.value)];
        if (readers.empty() || readers.back() != static_cast<int>(l)) readers.push_back(static_cast<int>(l));
      }
    }
  }

  // Where the readers' results have joined, at most at the end of the frame; nowhere for values read once in it.
  Release Of(ValueId value, ModuleId producer) const {
    const std::vector<int>& readers = readers_[static_cast<size_t>(value.value)];
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
    const int end = EndOfFrame(layers_, calls_, frame), holder = NameOf(DepthOf(calls_, frame));
    // Walk on from the first reader; `open`: values that descend from this one and still have readers ahead.
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
          const std::vector<int>& ahead = readers_[static_cast<size_t>(output.value)];
          if (!ahead.empty()) open[output.value] = ahead.back();
        }
      }
      if (next == readers.size() && open.size() <= 1) return {joins_list_[static_cast<size_t>(l)] ? end : l, holder};
    }
    return {end, holder};
  }

 private:
  const Layers& layers_;
  const Calls& calls_;
  const std::vector<bool>& joins_list_;    // by layer
  std::vector<std::vector<int>> readers_;  // layers, by value
};

// bias = self.get_relative_position_bias(); mask = mask.masked_fill(mask != 0, -100): what was made without any input
// is prepared under a name of its own before an activation meets it. Numbers of places (arange) mostly have none.
void HoldPrepared(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer,
                  std::vector<Release>& release) {
  std::vector<bool> from_input(layers.values.size());
  for (size_t v = 0; v < layers.values.size(); ++v) from_input[v] = layers.values[v].role == Role::kInput;
  for (const Layer& layer : layers.layers) {
    const auto reached = [&](ValueId id) { return id.valid() && from_input[static_cast<size_t>(id.value)]; };
    if (!std::any_of(layer.inputs.begin(), layer.inputs.end(), reached)) continue;
    for (const ValueId id : layer.outputs) {
      if (id.valid()) from_input[static_cast<size_t>(id.value)] = true;
    }
    for (const ValueId id : layer.inputs) {
      if (!id.valid() || reached(id) || !IsFloating(layers[id].type)) continue;
      Hold(release, id, WithFrame(layers, calls, producer[static_cast<size_t>(id.value)]));
    }
  }
}

// features = self.backbone(x): what a backbone or an encoder returns, a dict, a list or an output object, keeps its
// name to the end of the caller's frame (torchvision's segmentation and detection models, segmentation_models_pytorch,
// transformers).
void HoldFeatures(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer,
                  std::vector<Release>& release) {
  const auto feature_call = [&](ModuleId module) {  // outermost
    ModuleId found;
    for (; module.valid(); module = layers[module].parent) {
      const std::string& path = layers[module].path;
      const std::string_view name = std::string_view{path}.substr(path.rfind('.') + 1);
      if (name == "backbone" || name == "encoder") found = module;
    }
    return found;
  };
  for (const Layer& layer : layers.layers) {
    for (const ValueId id : layer.inputs) {
      if (!id.valid() || release[static_cast<size_t>(id.value)].after < 0) continue;
      const ModuleId call = feature_call(producer[static_cast<size_t>(id.value)]);
      if (!call.valid() || feature_call(layer.module) == call) continue;
      Hold(release, id, WithFrame(layers, calls, layers[call].parent));
    }
  }
}

// x = self.patch_embed(x); x = self._pos_embed(x): timm's vision transformers put the class token and the positions to
// the patches in a method of their own, whose caller still calls the patches x until the method is back.
void HoldPatches(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer,
                 std::vector<Release>& release) {
  for (size_t l = 0; l + 1 < layers.layers.size(); ++l) {
    const Layer& join = layers.layers[l];
    const Layer& sum = layers.layers[l + 1];
    if (join.op != "cat" || sum.op != "add" || sum.module != join.module || join.inputs.size() != 2) continue;
    const ValueId patches = join.inputs[1];
    if (!patches.valid() || sum.inputs[0] != join.outputs[0]) continue;
    const ModuleId embedding = producer[static_cast<size_t>(patches.value)];
    if (!embedding.valid() || !layers[embedding].path.ends_with("patch_embed")) continue;
    Hold(release, patches, {static_cast<int>(l) + 1, NameOf(DepthOf(calls, join.module))});
  }
}

}  // namespace

std::vector<std::vector<ValueId>> ReleasesAfter(const Layers& layers) {
  const Calls calls = CallsOf(layers);
  std::vector<ModuleId> producer(layers.values.size());
  std::vector<Release> release(layers.values.size());
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const Release read = {static_cast<int>(l), Temporary(DepthOf(calls, layer.module))};
    for (ValueId input : layer.inputs) {
      if (!input.valid() || layers[input].role != Role::kActivation) continue;
      const ModuleId foreign =
          OutermostForeign(layers, calls, producer[static_cast<size_t>(input.value)], layer.module);
      if (release[static_cast<size_t>(input.value)].after < 0) release[static_cast<size_t>(input.value)] = read;
      Hold(release, input, read);
      if (foreign.valid())
        Hold(release, input, {EndOfFrame(layers, calls, foreign), ArgumentOf(DepthOf(calls, foreign))});
    }
    for (ValueId output : layer.outputs) {
      if (!output.valid()) continue;
      producer[static_cast<size_t>(output.value)] = layer.module;
      release[static_cast<size_t>(output.value)] = read;  // unused so far: dies at once
    }
  }
  const std::vector<bool> joins_list = JoinsOfLists(layers);
  const Joins joins(layers, calls, joins_list);
  for (size_t v = 0; v < release.size(); ++v) {
    const ValueId value{static_cast<int32_t>(v)};
    if (release[v].after >= 0) Hold(release, value, joins.Of(value, producer[v]));
  }
  HoldPrepared(layers, calls, producer, release);
  HoldFeatures(layers, calls, producer, release);
  HoldPatches(layers, calls, producer, release);
  const Names names(layers);
  // Names of a frame go in the order in which they were first bound.
  std::vector<int32_t> bound(layers.values.size());
  for (size_t v = 0; v < bound.size(); ++v) bound[v] = static_cast<int32_t>(v);
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const Release end = WithFrame(layers, calls, layer.module);
    if (const int until = names.EndOfPreactivation(layer); until >= 0) {
      Hold(release, layer.outputs[0], {until, end.holder});
      Hold(release, layers.layers[static_cast<size_t>(until)].outputs[0], end);
    }
    const std::vector<ValueId>* named = joins_list[l] || names.IsReturnedNorm(layer, calls) ? &layer.inputs
                                        : names.Has(layer)                                  ? &layer.outputs
                                                                                            : nullptr;
    if (named == nullptr) continue;
    if (named == &layer.inputs) {
      for (const ValueId part : layer.inputs) Hold(release, part, end);
      continue;
    }
    const ValueId projected = names.ProjectedInto(layer);
    for (const ValueId part : layer.outputs) {
      if (!part.valid()) continue;
      Hold(release, projected, {names.LastReader(part), end.holder});
      const ValueId renamed = names.Renamed(part);
      bound[static_cast<size_t>(renamed.value)] = part.value;
      Hold(release, renamed, end);
    }
  }
  for (ValueId output : layers.outputs) {
    if (output.valid()) release[static_cast<size_t>(output.value)] = {};
  }
  std::vector<std::vector<ValueId>> after(layers.layers.size());
  for (size_t v = 0; v < release.size(); ++v) {
    if (release[v].after >= 0 && layers.values[v].role == Role::kActivation) {
      after[static_cast<size_t>(release[v].after)].push_back(ValueId{static_cast<int32_t>(v)});
    }
  }
  const auto rank = [&](ValueId id) {
    return std::pair{-release[static_cast<size_t>(id.value)].holder, bound[static_cast<size_t>(id.value)]};
  };
  for (std::vector<ValueId>& together : after) {
    std::stable_sort(together.begin(), together.end(), [&](ValueId a, ValueId b) { return rank(a) < rank(b); });
  }
  return after;
}

}  // namespace vramplan
