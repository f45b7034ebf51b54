// Frozen: parameters without a gradient. An exporter leaves requires_grad out of the file, so that a parameter is
// trained until something says otherwise: the habits of this file, or the user (planner/spec/trained.h).
//
// Torchvision's detection models build their backbones with FrozenBatchNorm2d, whose weight, bias and statistics are
// buffers and whose arithmetic is plain products and sums. A TorchScript file calls all of them initializers; that a
// module has running statistics which no batch norm reads tells.
//
//   layer1.0.bn1.{weight, bias, running_mean, running_var} read by reshape, add, mul      four buffers, no gradients
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/layers/trained.h"
#include "graph/lift/any_export/passes.h"

namespace vramplan {
namespace {

constexpr std::string_view kVariance = ".running_var";

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
    if (name.ends_with(kVariance) && !normalised.contains(id))
      modules.insert(name.substr(0, name.size() - kVariance.size()));
  }
  // A dynamo file knows that the weights are buffers.
  std::set<std::string> buffers;
  for (const ValueId id : layers.buffers) buffers.insert(layers[id].name);
  for (const std::string& name : buffers) {
    const std::string module = name.ends_with(kVariance) ? name.substr(0, name.size() - kVariance.size()) : "";
    if (buffers.contains(module + ".weight")) modules.insert(module);
  }
  return modules;
}

}  // namespace

void FreezeBatchNorms(Layers* layers, Notes* notes) {
  const std::set<std::string> modules = FrozenNorms(*layers);
  if (modules.empty()) return;
  const std::vector<ValueId> parameters = layers->parameters;
  for (const ValueId id : parameters) {
    const std::string& name = (*layers)[id].name;
    if (modules.contains(name.substr(0, name.rfind('.')))) MakeBuffer(layers, id);
  }
  if (notes == nullptr || layers->parameters.size() == parameters.size()) return;
  notes->Add({.code = "frozen-norms",
              .subject = *modules.begin(),
              .text = "no batch norm reads the running statistics of " + std::to_string(modules.size()) +
                      " modules: they are assumed to be FrozenBatchNorm2d, whose weights are buffers"});
}

}  // namespace vramplan
