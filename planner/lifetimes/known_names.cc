#include <string>

#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "graph/lift/habit_of.h"
#include "planner/lifetimes/rules.h"

namespace vramplan {
namespace {

// Whether code of that habit calls the module: `of` is about names in the frame around it, whose class says whose code
// it is.
const NameHabit* HabitOfCall(const Layers& layers, ModuleId module, NameHabit::Of of) {
  const ModuleId frame = layers[module].parent;
  return HabitOfName(layers[module].path, of, frame.valid() ? layers[frame].class_name : std::string());
}
bool IsCalled(const Layers& layers, ModuleId module, NameHabit::Of of) {
  return HabitOfCall(layers, module, of) != nullptr;
}
// The same of a module with exactly this name: "attn" of "h.0.attn".
bool HasName(const Layers& layers, ModuleId module, NameHabit::Of of) {
  const std::string& path = layers[module].path;
  const NameHabit* habit = HabitOfCall(layers, module, of);
  return habit != nullptr && LeafOf(path) == habit->name;
}

// features = self.backbone(x): what a backbone or an encoder returns, a dict, a list or an output object, keeps its
// name to the end of the caller's frame (torchvision's segmentation and detection models, segmentation_models_pytorch,
// transformers).
void HoldFeatures(const Frames& frames, Holds& holds) {
  const Layers& layers = frames.layers();
  const auto feature_call = [&](ModuleId module) {  // outermost
    ModuleId found;
    for (; module.valid(); module = layers[module].parent) {
      if (HasName(layers, module, NameHabit::Of::kNamedFeatures)) found = module;
    }
    return found;
  };
  for (const Layer& layer : layers.layers) {
    for (const ValueId id : layer.inputs) {
      if (!id.valid() || holds[id.index()].after < 0) continue;
      const ModuleId call = feature_call(frames.MadeIn(id));
      if (!call.valid() || feature_call(layer.module) == call) continue;
      // A model inside a model (bert.encoder) returns an object with it, which its caller names.
      ModuleId frame = layers[call].parent;
      if (frame.valid() && layers[frame].parent.valid()) frame = layers[frame].parent;
      holds.Lengthen(id, frames.WithFrame(frame));
    }
  }
}

// x = self.patch_embed(x); x = self._pos_embed(x): timm's vision transformers put the class token and the positions to
// the patches in a method of their own, whose caller still calls the patches x until the method is back.
void HoldPatches(const Frames& frames, Holds& holds) {
  const Layers& layers = frames.layers();
  for (size_t l = 0; l + 1 < layers.layers.size(); ++l) {
    const Layer& join = layers.layers[l];
    const Layer& sum = layers.layers[l + 1];
    if (join.op != "cat" || sum.op != "add" || sum.module != join.module || join.inputs.size() < 2) continue;
    const ValueId patches = join.inputs.back();
    if (!patches.valid() || sum.inputs[0] != join.outputs[0]) continue;
    const ModuleId embedding = frames.MadeIn(patches);
    if (!embedding.valid() || !IsCalled(layers, embedding, NameHabit::Of::kNamedPatches)) continue;
    holds.Lengthen(patches, frames.Named(static_cast<int>(l) + 1, join.module));
  }
}

// attention_mask = create_bidirectional_mask(...), encoder_outputs = self.encoder(..., attention_mask=attention_mask),
// pooled_output = self.pooler(...): a name of the frame that makes the mask, in every model of transformers
// (modeling_bert.py and others, version 5.23). Where no class is known, a mask of theirs is known by its four axes.
void HoldMasks(const Frames& frames, Holds& holds) {
  const Layers& layers = frames.layers();
  constexpr size_t kMask = 3;
  for (const Layer& call : layers.layers) {
    if (call.op != "scaled_dot_product_attention" || call.inputs.size() <= kMask || !call.inputs[kMask].valid())
      continue;
    const ValueId mask = call.inputs[kMask];
    const ModuleId frame = frames.MadeIn(mask);
    if (!frame.valid() || frame == call.module || layers[mask].type != DType::kBool) continue;
    const std::string& class_name = layers[frame].class_name;
    const bool theirs =
        class_name.empty() ? layers[mask].shape.rank() == 4 : IsOfLibraryWith(class_name, Effect::kSkipsMasks);
    if (theirs) holds.Lengthen(mask, frames.WithFrame(frame));
  }
}

}  // namespace

void HoldKnownNames(const Frames& frames, Holds& holds) {
  HoldFeatures(frames, holds);
  HoldPatches(frames, holds);
  HoldMasks(frames, holds);
}

}  // namespace vramplan
