#include "graph/lift/any_export/merged.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace vramplan {
namespace {

bool IsIndexing(const Layer& layer) { return layer.op == "slice" || layer.op == "select"; }

}  // namespace

void SplitMergedSlices(Layers* layers) {
  struct Use {
    int maker = -1;
    int slices = 0, others = 0;
  };
  std::vector<Use> uses(layers->values.size());
  const auto use_of = [&](ValueId id) -> Use& { return uses[static_cast<size_t>(id.value)]; };
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& layer = layers->layers[l];
    for (const ValueId id : layer.inputs) {
      if (id.valid()) ++(IsIndexing(layer) ? use_of(id).slices : use_of(id).others);
    }
    if (IsIndexing(layer)) use_of(layer.outputs[0]).maker = static_cast<int>(l);
  }
  for (const ValueId id : layers->outputs) {
    if (id.valid()) ++use_of(id).others;
  }
  const std::vector<Layer> before = std::move(layers->layers);
  layers->layers.clear();
  std::vector<bool> taken(uses.size(), false);  // by value: its first reader has it
  for (const Layer& given : before) {
    Layer layer = given;
    if (IsIndexing(layer) && layer.inputs[0].valid() && static_cast<size_t>(layer.inputs[0].value) < uses.size()) {
      const ValueId part = layer.inputs[0];
      const Use& use = use_of(part);
      if (use.maker >= 0 && use.others == 0 && use.slices > 1 && taken[static_cast<size_t>(part.value)]) {
        Layer again = before[static_cast<size_t>(use.maker)];
        again.name += "." + layer.name;
        Value copy = (*layers)[part];
        copy.name = again.name;
        again.outputs = {layers->Add(std::move(copy))};
        layer.inputs[0] = again.outputs[0];
        layers->layers.push_back(std::move(again));
      }
      taken[static_cast<size_t>(part.value)] = true;
    }
    layers->layers.push_back(std::move(layer));
  }
}

void SplitMergedActivations(Layers* layers) {
  static const std::set<std::string_view> kActivations = {"relu",      "leaky_relu", "elu",     "gelu", "silu",
                                                          "mish",      "sigmoid",    "tanh",    "selu", "celu",
                                                          "hardswish", "hardtanh",   "softplus"};
  const auto is_inside = [&](ModuleId module, ModuleId outer) {
    while (module.valid() && module != outer) module = (*layers)[module].parent;
    return module.valid();
  };
  std::vector<ModuleId> producer(layers->values.size());
  std::vector<std::vector<size_t>> readers(layers->values.size());
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    for (const ValueId id : layers->layers[l].outputs) {
      if (id.valid()) producer[static_cast<size_t>(id.value)] = layers->layers[l].module;
    }
    for (const ValueId id : layers->layers[l].inputs) {
      if (id.valid()) readers[static_cast<size_t>(id.value)].push_back(l);
    }
  }
  std::map<size_t, Layer> before;  // copies to stand in front of a layer
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer layer = layers->layers[l];
    const bool inplace = layer.attributes.Int("inplace", 0) != 0;
    if (kActivations.count(layer.op) == 0 || inplace || !layer.module.valid()) continue;
    if (layer.inputs.empty() || !layer.inputs[0].valid()) continue;  // lost by the exporter
    const ModuleId given_by = producer[static_cast<size_t>(layer.inputs[0].value)];
    const std::vector<size_t>& users = readers[static_cast<size_t>(layer.outputs[0].value)];
    const auto is_own = [&](size_t user) { return is_inside(layers->layers[user].module, layer.module); };
    if (is_inside(given_by, layer.module) || users.empty() || !is_own(users.front())) continue;
    std::map<ModuleId, ValueId> copies;  // by the other module
    for (const size_t user : users) {
      Layer& reader = layers->layers[user];
      if (is_own(user) || !reader.module.valid() || is_inside(layer.module, reader.module)) continue;
      // The other module: below the common parent.
      ModuleId other = reader.module;
      while ((*layers)[other].parent.valid() && !is_inside(layer.module, (*layers)[other].parent))
        other = (*layers)[other].parent;
      ValueId& copy = copies[other];
      if (!copy.valid()) {
        Value value = (*layers)[layer.outputs[0]];
        value.name += "." + reader.name;
        copy = layers->Add(value);
        producer.push_back(other);
        readers.push_back({user});
        Layer again = layer;
        again.name = value.name;
        again.outputs = {copy};
        again.module = other;
        before.emplace(user, std::move(again));
      }
      std::replace(reader.inputs.begin(), reader.inputs.end(), layer.outputs[0], copy);
    }
  }
  if (before.empty()) return;
  std::vector<Layer> out;
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    if (const auto found = before.find(l); found != before.end()) out.push_back(std::move(found->second));
    out.push_back(std::move(layers->layers[l]));
  }
  layers->layers = std::move(out);
}

void SplitMergedCentering(Layers* layers) {
  std::vector<int> maker(layers->values.size(), -1);
  std::vector<std::vector<size_t>> readers(layers->values.size());
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    for (const ValueId id : layers->layers[l].outputs) {
      if (id.valid()) maker[static_cast<size_t>(id.value)] = static_cast<int>(l);
    }
    for (const ValueId id : layers->layers[l].inputs) {
      if (id.valid()) readers[static_cast<size_t>(id.value)].push_back(l);
    }
  }
  const auto operand = [&](const Layer& layer, size_t i, std::string_view op) -> const Layer* {
    if (i >= layer.inputs.size() || !layer.inputs[i].valid()) return nullptr;
    const int l = maker[static_cast<size_t>(layer.inputs[i].value)];
    return l >= 0 && layers->layers[static_cast<size_t>(l)].op == op ? &layers->layers[static_cast<size_t>(l)]
                                                                     : nullptr;
  };
  std::vector<Layer> out;
  for (Layer& layer : layers->layers) {
    const Layer* sub = layer.op == "div" ? operand(layer, 0, "sub") : nullptr;
    const Layer* mean = sub != nullptr && sub->evidence != Evidence::kProvenance ? operand(*sub, 1, "mean") : nullptr;
    const bool norm = mean != nullptr && mean->inputs[0] == sub->inputs[0] && operand(layer, 1, "sqrt") != nullptr &&
                      sub->module == layer.module;
    const std::vector<size_t> users =
        norm ? readers[static_cast<size_t>(sub->outputs[0].value)] : std::vector<size_t>();
    if (users.size() == 2 && layers->layers[users[0]].op == "pow" && &layers->layers[users[1]] == &layer) {
      Layer again = *sub;
      again.name = layer.name + ".centred";
      Value value = (*layers)[sub->outputs[0]];
      value.name = again.name;
      again.outputs = {layers->Add(std::move(value))};
      layer.inputs[0] = again.outputs[0];
      out.push_back(std::move(again));
    }
    out.push_back(layer);
  }
  layers->layers = std::move(out);
}

}  // namespace vramplan
