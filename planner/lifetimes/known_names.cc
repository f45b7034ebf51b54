#include "planner/lifetimes/known_names.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "graph/habits/habits.h"

namespace vramplan {
namespace {

// "attn" of "h.0.attn": what the parent calls it.
std::string_view LastName(const Layers& layers, ModuleId module) {
  const std::string& path = layers[module].path;
  return std::string_view{path}.substr(path.rfind('.') + 1);
}

// inputs_embeds = self.embed_tokens(input_ids), position_embeds = self.wpe(position_ids): names of the frame in every
// model of transformers (models/*/modeling_*.py, version 5).
bool IsEmbeddingOfTransformers(const Layers& layers, const Layer& layer) {
  if (layer.op != "embedding" || !layer.module.valid()) return false;
  constexpr std::string_view kModules[] = {
      "word_embeddings", "token_type_embeddings", "position_embeddings", "wte",          "wpe",
      "embed_tokens",    "embed_positions",       "word_embedding",      "tokens_embed", "positions_embed",
      "embed_in"};
  const std::string_view name = LastName(layers, layer.module);
  return std::find(std::begin(kModules), std::end(kModules), name) != std::end(kModules);
}

// features = self.backbone(x): what a backbone or an encoder returns, a dict, a list or an output object, keeps its
// name to the end of the caller's frame (torchvision's segmentation and detection models, segmentation_models_pytorch,
// transformers).
void HoldFeatures(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer, Holds& release) {
  const auto feature_call = [&](ModuleId module) {  // outermost
    ModuleId found;
    for (; module.valid(); module = layers[module].parent) {
      const std::string_view name = LastName(layers, module);
      if (name == "backbone" || name == "encoder") found = module;
    }
    return found;
  };
  // x = up(x); x += x_down.pop(0): MONAI's SegResNetDS takes its maps out of the list (nets/segresnet_ds.py).
  const bool popped = std::any_of(layers.parameters.begin(), layers.parameters.end(),
                                  [&](ValueId id) { return layers[id].name.find("up_layers.") != std::string::npos; });
  for (const Layer& layer : layers.layers) {
    for (const ValueId id : layer.inputs) {
      if (!id.valid() || release[static_cast<size_t>(id.value)].after < 0) continue;
      if (popped && layer.op == "add") continue;
      const ModuleId call = feature_call(producer[static_cast<size_t>(id.value)]);
      if (!call.valid() || feature_call(layer.module) == call) continue;
      // A model inside a model (bert.encoder) returns an object with it, which its caller names.
      ModuleId frame = layers[call].parent;
      if (frame.valid() && layers[frame].parent.valid()) frame = layers[frame].parent;
      Hold(release, id, WithFrame(layers, calls, frame));
    }
  }
}

// embedding_output = self.embeddings(...): a name of the model's frame in transformers (modeling_vit.py and others).
void HoldEmbeddings(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer, Holds& release) {
  for (const Layer& layer : layers.layers) {
    for (const ValueId id : layer.inputs) {
      const ModuleId source = id.valid() ? producer[static_cast<size_t>(id.value)] : ModuleId();
      if (!source.valid() || !layers[source].path.ends_with(".embeddings")) continue;
      bool inside = false;
      for (ModuleId m = layer.module; m.valid(); m = layers[m].parent) inside = inside || m == source;
      if (!inside) Hold(release, id, WithFrame(layers, calls, layers[source].parent));
    }
  }
}

// x = self.patch_embed(x); x = self._pos_embed(x): timm's vision transformers put the class token and the positions to
// the patches in a method of their own, whose caller still calls the patches x until the method is back.
void HoldPatches(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer, Holds& release) {
  for (size_t l = 0; l + 1 < layers.layers.size(); ++l) {
    const Layer& join = layers.layers[l];
    const Layer& sum = layers.layers[l + 1];
    if (join.op != "cat" || sum.op != "add" || sum.module != join.module || join.inputs.size() < 2) continue;
    const ValueId patches = join.inputs.back();
    if (!patches.valid() || sum.inputs[0] != join.outputs[0]) continue;
    const ModuleId embedding = producer[static_cast<size_t>(patches.value)];
    if (!embedding.valid() || !layers[embedding].path.ends_with("patch_embed")) continue;
    Hold(release, patches, {static_cast<int>(l) + 1, NameOf(DepthOf(calls, join.module))});
  }
}

// hidden_states = self.ln_1(hidden_states); attn_output, _ = self.attn(hidden_states); hidden_states = attn_output +
// residual: the blocks of transformers' GPT-2 and its children (modeling_gpt2.py, version 5) write the normed name anew
// with the sum, and have names for what attention and feed forward return.
void HoldBlocksOfGpt2(const Layers& layers, const Calls& calls, Holds& release) {
  const auto name = [&](ModuleId module) { return LastName(layers, module); };
  std::set<ModuleId> blocks;  // that have a child attn
  for (const Layer& layer : layers.layers) {
    for (ModuleId m = layer.module; m.valid(); m = layers[m].parent) {
      if (name(m) == "attn" && layers[m].parent.valid()) blocks.insert(layers[m].parent);
    }
  }
  std::map<ModuleId, ValueId> normed;  // by block
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    if (layer.op == "layer_norm" && layer.module.valid() && blocks.count(layers[layer.module].parent) != 0 &&
        (name(layer.module) == "ln_1" || name(layer.module) == "ln_2")) {
      normed[layers[layer.module].parent] = layer.outputs[0];
    }
    const auto found = layer.op == "add" ? normed.find(layer.module) : normed.end();
    if (found == normed.end()) continue;
    Hold(release, found->second, {static_cast<int>(l), NameOf(DepthOf(calls, layer.module))});
    if (layer.inputs[0].valid()) Hold(release, layer.inputs[0], WithFrame(layers, calls, layer.module));
    normed.erase(found);
  }
}

// normed_hidden_states, attention_output, forwarded_states: names of T5LayerSelfAttention, T5LayerCrossAttention and
// T5LayerFF, whose sums are of what they name (modeling_t5.py, version 5).
void HoldSublayersOfT5(const Layers& layers, const Calls& calls, Holds& release) {
  const auto name = [&](ModuleId module) { return LastName(layers, module); };
  std::map<ModuleId, ValueId> normed;  // by sublayer
  for (const Layer& layer : layers.layers) {
    if (!layer.module.valid() || layer.outputs.empty()) continue;
    const ModuleId around = layers[layer.module].parent;
    if (name(layer.module) == "layer_norm") normed[around] = layer.outputs[0];
    const bool attention = layer.op == "linear" && name(layer.module) == "o" && around.valid() &&
                           (name(around) == "SelfAttention" || name(around) == "EncDecAttention");
    const bool forward =
        layer.op == "linear" && name(layer.module) == "wo" && around.valid() && name(around) == "DenseReluDense";
    if (!attention && !forward) continue;
    const Release end = WithFrame(layers, calls, layers[around].parent);
    Hold(release, layer.outputs[0], end);
    if (const auto found = normed.find(layers[around].parent); attention && found != normed.end())
      Hold(release, found->second, end);
  }
}

// query_states, key_states = apply_rotary_pos_emb(query_states, key_states, cos, sin): both keep what they were until
// both are turned (transformers, modeling_llama.py and its children, version 5). One turn is q * cos + rotate_half(q) *
// sin, where rotate_half(x) = cat((-x2, x1)).
class Rotation {
 public:
  explicit Rotation(const Layers& layers) : uses_(layers) {}

  // What the sum is a turn of; invalid: it is none.
  ValueId TurnedBy(const Layer& sum) const {
    if (sum.op != "add" || sum.inputs.size() != 2) return {};
    for (const ValueId kept : sum.inputs) {
      const Layer* straight = MakerOf(kept, "mul");
      const Layer* crossed = MakerOf(kept == sum.inputs[0] ? sum.inputs[1] : sum.inputs[0], "mul");
      if (straight == nullptr || crossed == nullptr) continue;
      for (const ValueId half : crossed->inputs) {
        const Layer* join = MakerOf(half, "cat");
        if (join == nullptr || join->inputs.size() != 2 || MakerOf(join->inputs[0], "neg") == nullptr) continue;
        const Layer* slice = MakerOf(join->inputs[1]);
        if (slice == nullptr || slice->inputs.empty()) continue;
        for (const ValueId turned : straight->inputs) {
          if (turned.valid() && turned == slice->inputs[0]) return turned;
        }
      }
    }
    return {};
  }

 private:
  const Layer* MakerOf(ValueId id, std::string_view op = {}) const {
    const Layer* maker = uses_.MakerOf(id);
    return maker != nullptr && (op.empty() || maker->op == op) ? maker : nullptr;
  }

  const Uses uses_;
};

void HoldQueriesBeforeRotation(const Layers& layers, const Calls& calls, Holds& release) {
  const bool of_transformers = std::any_of(layers.modules.begin(), layers.modules.end(),
                                           [](const auto& module) { return module.path.ends_with(".rotary_emb"); });
  if (!of_transformers) return;
  const Rotation rotation(layers);
  std::map<ModuleId, ValueId> queries;  // by frame
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const ValueId turned = layer.module.valid() ? rotation.TurnedBy(layer) : ValueId();
    if (!turned.valid()) continue;
    if (const auto first = queries.find(layer.module); first != queries.end()) {
      Hold(release, first->second, {static_cast<int>(l), NameOf(DepthOf(calls, layer.module))});
      queries.erase(first);
    } else {
      queries[layer.module] = turned;
    }
  }
}

// attention_mask = create_bidirectional_mask(...), encoder_outputs = self.encoder(..., attention_mask=attention_mask),
// pooled_output = self.pooler(...): a name of the frame that makes the mask, in every model of transformers
// (modeling_bert.py and others, version 5.23). Where no class is known, a mask of theirs is known by its four axes.
void HoldMasks(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer, Holds& release) {
  constexpr size_t kMask = 3;
  for (const Layer& call : layers.layers) {
    if (call.op != "scaled_dot_product_attention" || call.inputs.size() <= kMask || !call.inputs[kMask].valid())
      continue;
    const ValueId mask = call.inputs[kMask];
    const ModuleId frame = producer[mask.index()];
    if (!frame.valid() || frame == call.module || layers[mask].type != DType::kBool) continue;
    const std::string& class_name = layers[frame].class_name;
    const bool theirs =
        class_name.empty() ? layers[mask].shape.rank() == 4 : IsOfLibraryWith(class_name, Effect::kSkipsMasks);
    if (theirs) Hold(release, mask, WithFrame(layers, calls, frame));
  }
}

}  // namespace

void HoldKnownNames(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer, Holds& release) {
  HoldFeatures(layers, calls, producer, release);
  HoldEmbeddings(layers, calls, producer, release);
  HoldPatches(layers, calls, producer, release);
  HoldBlocksOfGpt2(layers, calls, release);
  HoldSublayersOfT5(layers, calls, release);
  HoldQueriesBeforeRotation(layers, calls, release);
  HoldMasks(layers, calls, producer, release);
  std::set<ModuleId> convolving;  // Whisper's encoder adds its positions where it picks them (modeling_whisper.py)
  for (const Layer& layer : layers.layers) {
    if (layer.op == "conv1d" && layer.module.valid()) convolving.insert(layers[layer.module].parent);
  }
  for (const Layer& layer : layers.layers) {
    if (IsEmbeddingOfTransformers(layers, layer) && !convolving.contains(layers[layer.module].parent))
      Hold(release, layer.outputs[0], WithFrame(layers, calls, layers[layer.module].parent));
  }
}

}  // namespace vramplan
