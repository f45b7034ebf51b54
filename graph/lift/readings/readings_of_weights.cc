#include "graph/lift/readings/readings_of_weights.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/habits/reparametrizations.h"
#include "graph/layers/trained.h"

namespace vramplan {
namespace {

ValueId ParameterCalled(const Layers& layers, const std::string& name) {
  const auto found = std::ranges::find_if(layers.parameters, [&](ValueId id) { return layers[id].name == name; });
  return found == layers.parameters.end() ? ValueId() : *found;
}

// Modules call what they train weight or bias, or end so, and parts of either: in_proj_weight, weight_g, weight_orig,
// bias_ih_l0 (torch/nn/modules and utils, 2.10); a bias of theirs is a vector. But weight_epsilon of a noisy layer,
// weight_mask, mem_bias, and a bias [1, heads, length, length] are somebody's own.
bool IsCalledWeight(const Value& stored) {
  std::string_view leaf = stored.name;
  if (const size_t dot = leaf.rfind('.'); dot != std::string_view::npos) leaf.remove_prefix(dot + 1);
  if (leaf.ends_with("weight") || leaf.ends_with("proj_bias") || IsPartOfWeight(stored.name)) return true;
  for (const std::string_view part : {"_orig", "_ih", "_hh"}) {
    if (leaf.starts_with("weight" + std::string(part)) || leaf.starts_with("bias" + std::string(part))) return true;
  }
  return leaf == "bias" && stored.shape.rank() < 3;
}

// The weights of projections are trained, whatever they are called, and so are those of convolutions. But a kernel that
// has a name of its own ("resample.kernel", "filterbank._filters") may be fixed: resampling, a short-time Fourier
// transform, a blur.
std::set<ValueId> WeightsOfCalls(const Layers& layers) {
  std::set<ValueId> weights;
  for (const Layer& layer : layers.layers) {
    if (layer.inputs.size() < 2 || !layer.inputs[1].valid()) continue;
    const bool named = layers[layer.inputs[1]].name.find('.') != std::string::npos;
    if (layer.op == "linear" || (layer.op.starts_with("conv") && !named)) weights.insert(layer.inputs[1]);
  }
  return weights;
}

}  // namespace

std::optional<Reading> TiedWeightsInstead(const Layers& layers) {
  if (layers.guesses.maybe_tied.empty()) return std::nullopt;
  Layers other = layers;
  std::string first;
  for (const auto& [name, table] : layers.guesses.maybe_tied) {
    const ValueId own = ParameterCalled(other, name), shared = ParameterCalled(other, table);
    if (!own.valid() || !shared.valid()) continue;
    for (Layer& layer : other.layers) std::ranges::replace(layer.inputs, own, shared);
    std::erase(other.parameters, own);
    if (first.empty()) first = name;
  }
  if (first.empty()) return std::nullopt;
  return Reading{"tie-guessed", "assumed: " + first + " is a weight of its own; the export hides whether it is tied",
                 "torch.onnx.export(do_constant_folding=False) keeps ties", std::move(other)};
}

std::optional<Reading> BuffersInstead(const Layers& layers) {
  const std::set<ValueId> weights = WeightsOfCalls(layers);
  std::vector<ValueId> found;
  std::ranges::copy_if(layers.parameters, std::back_inserter(found), [&](ValueId id) {
    return IsTrained(layers, id) && !IsCalledWeight(layers[id]) && !weights.contains(id);
  });
  if (found.empty()) return std::nullopt;
  const std::string& first = layers[found.front()].name;
  const size_t count = found.size();
  const bool listed = std::ranges::any_of(layers.layers, FromDynamo);
  Layers other = layers;
  for (const ValueId id : found) SetTrained(&other, id, false);
  return Reading{
      "buffers-guessed",
      "assumed: " + first + (count > 1 ? " and " + std::to_string(count - 1) + " others are" : " is") + " trained; " +
          (listed ? "the file does not say which parameters are" : "a file does not tell parameters from buffers"),
      "--frozen '" + first + "'", std::move(other)};
}

}  // namespace vramplan
