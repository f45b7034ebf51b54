// Merged: what export computed once because it is equal, and eager computes once a call.
//
//   x[0::2, 0::2], x[0::2, 1::2]      slice(x, 0) shared by two slices     ->  each indexing has slices of its own
//
// A view costs nothing in the forward, but its gradient is a tensor of the whole (slice_backward).
#include <algorithm>
#include <map>
#include <span>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/form.h"
#include "graph/lift/any_export/passes.h"

namespace vramplan {
namespace {

bool IsIndexing(const Layer& layer) { return layer.op == "slice" || layer.op == "select"; }

}  // namespace

void SplitMergedSlices(Layers* layers) {
  const Uses uses(*layers);
  const auto is_indexing = [&](int32_t reader) {
    return static_cast<size_t>(reader) < layers->layers.size() &&
           IsIndexing(layers->layers[static_cast<size_t>(reader)]);
  };
  std::map<size_t, Layer> again;  // by the place of an indexing: that of its operand, which the first reader keeps
  for (const Layer& part : layers->layers) {
    if (!IsIndexing(part)) continue;
    const std::span<const int32_t> readers = uses.ReadersOf(part.outputs[0]);
    if (readers.size() < 2 || !std::ranges::all_of(readers, is_indexing)) continue;
    for (const int32_t reader : readers.subspan(1)) again.emplace(static_cast<size_t>(reader), part);
  }
  Edit edit(layers);
  for (auto& [place, part] : again) {
    part.name += "." + layers->layers[place].name;
    edit.RepeatFor(place, std::move(part));
  }
  edit.Apply();
}

void SplitMergedActivations(Layers* layers) {
  const auto is_activation = [](const Layer& layer) {
    return IsOneOf(layer.op, {"relu", "leaky_relu", "elu", "gelu", "silu", "mish", "sigmoid", "tanh", "selu", "celu",
                              "hardswish", "hardtanh", "softplus"});
  };
  const Uses uses(*layers);
  Edit edit(layers);
  std::map<ValueId, ModuleId> copied;  // the modules of copies
  for (const Layer& layer : layers->layers) {
    if (!is_activation(layer) || layer.attributes.Int("inplace", 0) != 0 || !layer.module.valid()) continue;
    if (!Uses::In(&layer, 0).valid()) continue;  // lost by the exporter
    const auto copy_of = copied.find(layer.inputs[0]);
    const Layer* maker = uses.MakerOf(layer.inputs[0]);
    const ModuleId given_by = copy_of != copied.end() ? copy_of->second : maker != nullptr ? maker->module : ModuleId();
    const std::span<const int32_t> users = uses.LayersReading(layer.outputs[0]);
    const auto is_own = [&](int32_t user) {
      return IsInside(*layers, layers->layers[static_cast<size_t>(user)].module, layer.module);
    };
    if (IsInside(*layers, given_by, layer.module) || users.empty() || !is_own(users.front())) continue;
    std::map<ModuleId, ValueId> copies;  // by the other module
    for (const int32_t user : users) {
      Layer& reader = layers->layers[static_cast<size_t>(user)];
      if (is_own(user) || !reader.module.valid() || IsInside(*layers, layer.module, reader.module)) continue;
      // The other module: below the common parent.
      ModuleId other = reader.module;
      while ((*layers)[other].parent.valid() && !IsInside(*layers, layer.module, (*layers)[other].parent))
        other = (*layers)[other].parent;
      ValueId& copy = copies[other];
      if (!copy.valid()) {
        const Value& value = (*layers)[layer.outputs[0]];
        Layer again = layer;
        again.name = value.name + "." + reader.name;
        again.module = other;
        copy = edit.InsertBefore(static_cast<size_t>(user), std::move(again), value);
        copied[copy] = other;
      }
      std::ranges::replace(reader.inputs, layer.outputs[0], copy);
    }
  }
  edit.Apply();
}

void SplitMergedCentering(Layers* layers) {
  static const Form norm("div(sub(x, mean(x)), sqrt())");
  Match match;
  const Uses uses(*layers);
  Edit edit(layers);
  for (Layer& layer : layers->layers) {
    const size_t place = uses.PlaceOf(&layer);
    if (!norm.Matches(LayerCalls(uses), static_cast<int32_t>(place), &match)) continue;
    const Layer* sub = uses.MakerOf(layer.inputs[0]);
    const std::span<const int32_t> users = uses.LayersReading(layer.inputs[0]);
    const bool squared = !FromDynamo(*sub) && sub->module == layer.module && users.size() == 2 &&
                         layers->layers[static_cast<size_t>(users[0])].op == "pow" &&
                         static_cast<size_t>(users[1]) == place;
    if (!squared) continue;
    Layer again = *sub;
    again.name = layer.name + ".centred";
    edit.RepeatFor(place, std::move(again));
  }
  edit.Apply();
}

}  // namespace vramplan
