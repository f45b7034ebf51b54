#include <algorithm>
#include <string_view>

#include "graph/lift/inplace.h"

namespace vramplan {
namespace {

bool IsOneOf(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

bool MakesFeatures(std::string_view op) {
  return IsOneOf(op, {"batch_norm", "conv1d", "conv2d", "conv3d", "conv_transpose2d", "conv_transpose3d", "add"});
}

struct Use {
  int maker = -1;
  int readers = 0;
};

}  // namespace

void AssumeInPlace(Layers* layers, Notes* notes) {
  std::vector<Use> uses(layers->values.size());
  std::vector<int> calls(layers->modules.size(), 0);
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& layer = layers->layers[l];
    for (ValueId id : layer.inputs) uses[id.valid() ? static_cast<size_t>(id.value) : 0].readers += id.valid() ? 1 : 0;
    for (ValueId id : layer.outputs) {
      if (id.valid()) uses[static_cast<size_t>(id.value)].maker = static_cast<int>(l);
    }
    if (layer.module.valid()) ++calls[static_cast<size_t>(layer.module.value)];
  }
  for (ValueId id : layers->outputs) {
    if (id.valid()) ++uses[static_cast<size_t>(id.value)].readers;
  }
  for (Layer& layer : layers->layers) {
    if (layer.evidence == Evidence::kProvenance || !IsOneOf(layer.op, {"relu", "hardtanh", "leaky_relu"})) continue;
    const bool is_module = layer.module.valid() && calls[static_cast<size_t>(layer.module.value)] == 1;
    if (!is_module || !layer.inputs[0].valid()) continue;
    const Use& use = uses[static_cast<size_t>(layer.inputs[0].value)];
    if (use.maker < 0 || use.readers != 1) continue;
    const std::string& maker = layers->layers[static_cast<size_t>(use.maker)].op;
    // Leaky: timm's, ultralytics', monai's and the GANs' blocks of convolution, norm, activation; elsewhere seldom.
    if (layer.op == "leaky_relu" ? !IsOneOf(maker, {"batch_norm", "instance_norm"}) : !MakesFeatures(maker)) continue;
    layer.attributes.Set("inplace", int64_t{1});
    if (notes != nullptr) {
      notes->Add({"assumed-inplace", Severity::kNote, "",
                  "ReLU modules behind convolutions are taken as inplace=True: the file does not say",
                  "--inplace off takes none"});
    }
  }
}

}  // namespace vramplan
