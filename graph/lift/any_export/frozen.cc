#include "graph/lift/any_export/frozen.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace vramplan {
namespace {

constexpr std::string_view kVariance = ".running_var";

// What a tracer took for parameters and is none.
template <typename IsBuffer>
void MakeBuffers(Layers* layers, const IsBuffer& is_buffer) {
  const auto buffers = std::stable_partition(layers->parameters.begin(), layers->parameters.end(),
                                             [&](ValueId id) { return !is_buffer((*layers)[id].name); });
  for (auto id = buffers; id != layers->parameters.end(); ++id) {
    layers->values[static_cast<size_t>(id->value)].role = Role::kBuffer;
    layers->buffers.push_back(*id);
  }
  layers->parameters.erase(buffers, layers->parameters.end());
}

// The first that was frozen; empty: none.
template <typename IsFrozen>
std::string Freeze(Layers* layers, const IsFrozen& is_frozen) {
  std::string first;
  for (const ValueId id : layers->parameters) {
    const std::string& name = (*layers)[id].name;
    if (!IsTrained(*layers, id) || !is_frozen(name)) continue;
    if (first.empty()) first = name;
    SetTrained(layers, id, false);
  }
  return first;
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

void FreezeBatchNorms(Layers* layers, Notes* notes) {
  const std::set<std::string> modules = FrozenNorms(*layers);
  if (modules.empty()) return;
  const size_t parameters = layers->parameters.size();
  MakeBuffers(layers, [&](const std::string& name) { return modules.count(name.substr(0, name.rfind('.'))) != 0; });
  if (notes == nullptr || layers->parameters.size() == parameters) return;
  notes->Add({.code = "frozen-norms",
              .subject = *modules.begin(),
              .text = "no batch norm reads the running statistics of " + std::to_string(modules.size()) +
                      " modules: they are assumed to be FrozenBatchNorm2d, whose weights are buffers",
              .hint = ""});
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
  const std::string first = Freeze(layers, [&](const std::string& name) {
    const size_t at = name.find(kBackbone);
    if (at == std::string::npos || backbones.count(name.substr(0, at + kBackbone.size())) == 0) return false;
    // Of the norms FreezeBatchNorms takes care.
    if (name.find("layer2") != std::string::npos || name.find("layer3") != std::string::npos ||
        name.find("layer4") != std::string::npos)
      return false;
    return name.ends_with(".weight") && !norms.count(name.substr(0, name.rfind('.')));
  });
  if (notes == nullptr || first.empty()) return;
  notes->Add({.code = "assumed-frozen",
              .subject = *backbones.begin(),
              .text = "a backbone with frozen norms and learned queries is assumed to be DETR's, which trains only "
                      "layer2 to layer4; the file does not say",
              .hint = "--trainable '*backbone*' trains all of it"});
}

void FreezeEncoderPositions(Layers* layers, Notes* notes) {
  constexpr std::string_view kTable = "embed_positions.weight";
  std::set<std::string> names;
  for (const ValueId id : layers->parameters) names.insert((*layers)[id].name);
  const std::string first = Freeze(layers, [&](const std::string& name) {
    if (!name.ends_with(kTable)) return false;
    const std::string encoder = name.substr(0, name.size() - kTable.size());
    return names.count(encoder + "conv1.weight") != 0 && names.count(encoder + "conv2.weight") != 0;
  });
  if (notes == nullptr || first.empty()) return;
  notes->Add({.code = "assumed-frozen",
              .subject = first,
              .text = "a table of positions next to conv1 and conv2 is assumed to be that of Whisper's encoder, which "
                      "does not train it; the file does not say",
              .hint = "--trainable '*embed_positions*' trains it"});
}

}  // namespace vramplan
