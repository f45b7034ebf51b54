#include "graph/lift/frozen.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace vramplan {
namespace {

constexpr std::string_view kVariance = ".running_var";

// Parameters that are not trained are buffers.
template <typename IsFrozen>
void Freeze(Layers* layers, const IsFrozen& is_frozen) {
  const auto frozen = std::stable_partition(layers->parameters.begin(), layers->parameters.end(),
                                            [&](ValueId id) { return !is_frozen((*layers)[id].name); });
  for (auto id = frozen; id != layers->parameters.end(); ++id) {
    layers->values[static_cast<size_t>(id->value)].role = Role::kBuffer;
    layers->buffers.push_back(*id);
  }
  layers->parameters.erase(frozen, layers->parameters.end());
}

// The modules with running statistics that no batch norm reads, or whose weights are buffers.
std::set<std::string> FrozenNorms(const Layers& layers) {
  std::set<ValueId> normalised;  // read by a batch norm
  for (const Layer& layer : layers.layers) {
    if (layer.op == "batch_norm") normalised.insert(layer.inputs.begin(), layer.inputs.end());
  }
  std::set<std::string> modules;
  for (const ValueId id : layers.parameters) {
    const std::string& name = layers[id].name;
    if (name.ends_with(kVariance) && normalised.count(id) == 0)
      modules.insert(name.substr(0, name.size() - kVariance.size()));
  }
  // A dynamo file knows that the weights are buffers.
  std::set<std::string> buffers;
  for (const ValueId id : layers.buffers) buffers.insert(layers[id].name);
  for (const std::string& name : buffers) {
    const std::string module = name.ends_with(kVariance) ? name.substr(0, name.size() - kVariance.size()) : "";
    if (buffers.count(module + ".weight") != 0) modules.insert(module);
  }
  return modules;
}

}  // namespace

void FreezeBatchNorms(Layers* layers) {
  const std::set<std::string> modules = FrozenNorms(*layers);
  if (modules.empty()) return;
  Freeze(layers, [&](const std::string& name) { return modules.count(name.substr(0, name.rfind('.'))) != 0; });
}

void FreezeBackbonesOfDetr(Layers* layers, Notes* notes) {
  constexpr std::string_view kBackbone = "backbone.";
  const bool has_queries = std::any_of(layers->parameters.begin(), layers->parameters.end(), [&](ValueId id) {
    const std::string& name = (*layers)[id].name;
    return name.ends_with("query_embed.weight") || name.ends_with("query_position_embeddings.weight");
  });
  if (!has_queries) return;
  const std::set<std::string> norms = FrozenNorms(*layers);
  std::set<std::string> backbones;  // "model.backbone."
  for (const std::string& norm : norms) {
    if (const size_t at = norm.find(kBackbone); at != std::string::npos)
      backbones.insert(norm.substr(0, at + kBackbone.size()));
  }
  const size_t trained = layers->parameters.size();
  Freeze(layers, [&](const std::string& name) {
    const size_t at = name.find(kBackbone);
    if (at == std::string::npos || backbones.count(name.substr(0, at + kBackbone.size())) == 0) return false;
    // Of the norms FreezeBatchNorms takes care.
    if (name.find("layer2") != std::string::npos || name.find("layer3") != std::string::npos ||
        name.find("layer4") != std::string::npos)
      return false;
    return name.ends_with(".weight") && !norms.count(name.substr(0, name.rfind('.')));
  });
  if (notes != nullptr && layers->parameters.size() != trained) {
    notes->Add({.code = "assumed-frozen",
                .subject = *backbones.begin(),
                .text =
                    "a backbone with frozen norms beside learned queries is taken as DETR's, which trains layer2 to "
                    "layer4 alone: the file does not say",
                .hint = "--dump layers shows what is taken as a buffer"});
  }
}

void FreezeEncoderPositions(Layers* layers) {
  constexpr std::string_view kTable = "embed_positions.weight";
  std::set<std::string> names;
  for (const ValueId id : layers->parameters) names.insert((*layers)[id].name);
  Freeze(layers, [&](const std::string& name) {
    if (!name.ends_with(kTable)) return false;
    const std::string encoder = name.substr(0, name.size() - kTable.size());
    return names.count(encoder + "conv1.weight") != 0 && names.count(encoder + "conv2.weight") != 0;
  });
}

}  // namespace vramplan
