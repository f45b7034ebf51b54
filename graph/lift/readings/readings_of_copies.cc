#include "graph/lift/readings/readings_of_copies.h"

#include <algorithm>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

// x - mean(x), read by a square and by something else.
bool IsSharedCentring(const Uses& uses, const Layer& sub) {
  if (sub.op != "sub" || FromDynamo(sub) || sub.inputs.size() != 2) return false;
  ValueId mean = uses.BehindViews(sub.inputs[1]);
  bool averaged = false;
  for (const Layer* maker = uses.MakerOf(mean); maker != nullptr && maker->op == "mean"; maker = uses.MakerOf(mean)) {
    mean = uses.BehindViews(maker->inputs[0]);
    averaged = true;
  }
  if (!averaged || mean != uses.BehindViews(sub.inputs[0])) return false;
  const auto readers = uses.ReadersOf(sub.outputs[0]);
  const auto& all = uses.layers().layers;
  if (readers.size() != 2 || readers[0] == readers[1] || static_cast<size_t>(readers[1]) >= all.size()) return false;
  const auto squares = [&](int32_t place) { return all[static_cast<size_t>(place)].op == "pow"; };
  return squares(readers[0]) != squares(readers[1]);
}

bool IsAssumedCopy(const Layer& layer) { return layer.op == "contiguous" && layer.attributes.Int("assumed", 0) != 0; }

}  // namespace

// The TorchScript exporter computes equal nodes once: (x - mean) / std with a variance of its own centres twice.
std::optional<Reading> CentringTwiceInstead(const Layers& layers) {
  const Uses uses(layers);
  const auto is_shared = [&](const Layer& layer) { return IsSharedCentring(uses, layer); };
  if (std::ranges::none_of(layers.layers, is_shared)) return std::nullopt;
  Layers other = layers;
  Edit edit(&other);
  for (const Layer& sub : layers.layers) {
    if (!is_shared(sub)) continue;
    Layer second = sub;
    second.name += ".again";
    edit.RepeatFor(static_cast<size_t>(uses.ReadersOf(sub.outputs[0])[1]), std::move(second));
  }
  edit.Apply();
  return Reading{"centring-guessed", "assumed: x - mean(x) is computed once, for the variance and for what is divided",
                 kDynamoTells, std::move(other)};
}

// Code that says contiguous() behind the permutation which makes a map of a sequence, or does not
// (graph/lift/torchscript/dense_maps.cc).
std::optional<Reading> MapsAsTheyLieInstead(const Layers& layers) {
  if (std::ranges::none_of(layers.layers, IsAssumedCopy)) return std::nullopt;
  Layers other = layers;
  Edit edit(&other);
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& copy = layers.layers[l];
    if (!IsAssumedCopy(copy)) continue;
    edit.Remove(l);
    edit.Rename(copy.outputs[0], copy.inputs[0]);
  }
  edit.Apply();
  return Reading{"copy-guessed", "assumed: code that makes a map of a sequence copies it with contiguous()",
                 kDynamoTells, std::move(other)};
}

}  // namespace vramplan
