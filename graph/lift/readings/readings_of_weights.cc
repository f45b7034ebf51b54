#include "graph/lift/readings/readings_of_weights.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/habits/reparametrizations.h"
#include "graph/layers/edit.h"
#include "graph/layers/trained.h"
#include "graph/lift/readings/readings_of_noise.h"

namespace vramplan {
namespace {

constexpr int64_t kWider = 2;  // stages of networks double their channels

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
  const Uses uses(layers);
  for (const Layer& layer : layers.layers) {
    if (layer.inputs.size() < 2 || !layer.inputs[1].valid()) continue;
    const bool named = layers[layer.inputs[1]].name.find('.') != std::string::npos;
    if (layer.op == "linear" || (layer.op.starts_with("conv") && !named)) weights.insert(layer.inputs[1]);
    for (size_t i = 1; layer.op == "linear" && i < layer.inputs.size(); ++i)
      weights.insert(MeanOfNoise(uses, layer.inputs[i]));
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

// h @ self.embed.weight.t(), which TorchScript writes as F.linear(h, self.embed.weight), and h @ self.w_hh.t() of a cell
// that runs again and again. Autocast keeps its copy of a parameter until the step is over; its copy of a view goes with
// the product (aten/src/ATen/autocast_mode.cpp 2.10, cached_cast).
std::optional<Reading> HeadsByHandInstead(const Layers& layers) {
  std::set<ValueId> tables, once;
  for (const Layer& layer : layers.layers) {
    if (layer.op == "embedding") tables.insert(layer.inputs[0]);
    if (layer.op == "linear" && !once.insert(layer.inputs[1]).second) tables.insert(layer.inputs[1]);
  }
  for (const auto& [name, table] : layers.guesses.maybe_tied) tables.insert(ParameterCalled(layers, name));
  const auto is_head = [&](const Layer& layer) {
    const bool has_bias = layer.inputs.size() > 2 && layer.inputs[2].valid();
    return layer.op == "linear" && !FromDynamo(layer) && !has_bias && layer.inputs[1].valid() &&
           tables.contains(layer.inputs[1]);
  };
  if (std::ranges::none_of(layers.layers, is_head)) return std::nullopt;
  Layers other = layers;
  Edit edit(&other);
  std::string first;
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& head = layers.layers[l];
    if (!is_head(head)) continue;
    Value turned = layers[head.inputs[1]];
    if (first.empty()) first = turned.name;
    turned.role = Role::kActivation;
    turned.shape = Shape{turned.shape[1], turned.shape[0]};
    Layer turn = CallBeside(head, "transpose", {head.inputs[1]}, Named({{"dim0", int64_t{0}}, {"dim1", int64_t{1}}}));
    const ValueId made = edit.InsertBefore(l, std::move(turn), std::move(turned));
    other.layers[l].op = "matmul";
    other.layers[l].inputs = {head.inputs[0], made};
  }
  edit.Apply();
  return Reading{"head-by-hand", "assumed: products with " + first + " are F.linear(h, weight), not h @ weight.t()",
                 kDynamoTells, std::move(other)};
}

// Parameters whose shapes were guessed: perhaps they are twice as wide, perhaps nearly nothing.
std::optional<Reading> OtherShapesInstead(const Layers& layers) {
  const std::vector<std::string>& assumed = layers.guesses.assumed_shapes;
  if (assumed.empty()) return std::nullopt;
  const std::unordered_set<std::string_view> names(assumed.begin(), assumed.end());
  const auto is_assumed = [&](ValueId id) { return names.contains(layers[id].name); };
  Layers without = layers, wider = layers;
  std::erase_if(without.parameters, is_assumed);
  for (size_t v = 0; v < wider.values.size(); ++v) {
    const ValueId id = ValueId::At(v);
    if (!IsStored(layers[id]) || layers[id].shape.rank() == 0 || !is_assumed(id)) continue;
    Shape shape;
    for (int i = 0; i < layers[id].shape.rank(); ++i)
      shape.Append(i == 0 ? layers[id].shape[i] * kWider : layers[id].shape[i]);
    wider.values[v].shape = shape;
  }
  return Reading{"unread-shapes",
                 "assumed: " + std::to_string(assumed.size()) + " parameters and buffers that nothing reads, from " +
                     assumed.front() + " on, are as large as those beside them",
                 "vramplan.fit(model, inputs) in Python knows their shapes", std::move(without), std::move(wider)};
}

namespace {

// The layers with these no longer trained.
Layers Without(const Layers& layers, const std::vector<ValueId>& trained) {
  Layers other = layers;
  for (const ValueId id : trained) SetTrained(&other, id, false);
  return other;
}

// Where these calls stand are modules, so they are no nn.Conv1d: forward() may make their weight itself, as
// F.conv_transpose1d(spec, torch.eye(n)) does.
std::set<size_t> CallsOfFunctions(const Layers& layers, const std::vector<size_t>& calls) {
  std::set<ModuleId> parents;
  for (const Module& module : layers.modules)
    if (module.parent.valid()) parents.insert(module.parent);
  std::set<size_t> found;
  std::ranges::copy_if(calls, std::inserter(found, found.end()),
                       [&](size_t call) { return parents.contains(layers.layers[call].module); });
  return found;
}

// Has `maker` make the weight of a call, in front of it.
ValueId MakeWeight(size_t call, Layer maker, Layers* layers, Edit* edit) {
  ValueId& weight = layers->layers[call].inputs[1];
  Value made = (*layers)[weight];
  made.role = Role::kActivation;
  return weight = edit->InsertBefore(call, std::move(maker), std::move(made));
}

// The weights of these calls are products with a buffer of their shape, each of which lives until the next forward, as
// torch.nn.utils.prune and weight_norm hold theirs.
Layers WithProductsHeld(const Layers& layers, const std::vector<size_t>& calls) {
  Layers other = layers;
  Edit edit(&other);
  for (const size_t call : calls) {
    const ValueId weight = layers.layers[call].inputs[1];
    Value factor = layers[weight];
    factor.name += ".factor";
    factor.role = Role::kBuffer;
    const ValueId by = other.Add(std::move(factor));
    other.buffers.push_back(by);
    other.outputs.push_back(MakeWeight(call, CallBeside(layers.layers[call], "mul", {weight, by}), &other, &edit));
  }
  edit.Apply();
  return other;
}

// They are made for each call, as a parametrization makes its weight, or without a parameter by a function.
Layers WithWeightsMade(const Layers& layers, const std::vector<size_t>& calls, const std::set<size_t>& of_functions) {
  Layers other = layers;
  Edit edit(&other);
  for (const size_t call : calls) {
    const ValueId weight = layers.layers[call].inputs[1];
    const bool by_function = of_functions.contains(call);
    MakeWeight(call,
               by_function ? CallBeside(layers.layers[call], "full", {})
                           : CallBeside(layers.layers[call], "mul", {weight, weight}),
               &other, &edit);
    if (by_function) std::erase(other.parameters, weight);
  }
  edit.Apply();
  return other;
}

}  // namespace

std::optional<Reading> ComputedWeightsInstead(const Layers& layers) {
  std::vector<size_t> computed;
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    if (layer.attributes.Int("computed_weight", 0) != 0 && layer.inputs.size() > 1 && layer.inputs[1].valid() &&
        layers[layer.inputs[1]].role == Role::kParameter)
      computed.push_back(l);
  }
  if (computed.empty()) return std::nullopt;
  const std::set<size_t> of_functions = CallsOfFunctions(layers, computed);
  const auto name_of = [&](size_t call) { return layers[layers.layers[call].inputs[1]].name; };
  const bool one = computed.size() == 1;
  std::string text = "assumed: " +
                     (one ? std::string("a weight without a name is a parameter")
                          : std::to_string(computed.size()) + " weights without a name are parameters") +
                     "; the export may have folded a mask or a norm into " + (one ? "it" : "them");
  std::string settle = "export model.train(), which folds nothing";
  if (!of_functions.empty()) {
    text +=
        one ? ", or forward() makes it" : ", or forward() makes " + std::to_string(of_functions.size()) + " of them";
    settle += ", or --frozen '" + name_of(*of_functions.begin()) + "'";
  }
  return Reading{"computed-weights", std::move(text), std::move(settle), WithProductsHeld(layers, computed),
                 WithWeightsMade(layers, computed, of_functions)};
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
  return Reading{
      "buffers-guessed",
      "assumed: " + first + (count > 1 ? " and " + std::to_string(count - 1) + " others are" : " is") + " trained; " +
          (listed ? "the file does not say which parameters are" : "a file does not tell parameters from buffers"),
      "--frozen '" + first + "'", Without(layers, found)};
}

// Tables that are looked up by numbers which no input gives.
std::optional<Reading> SinusoidsInstead(const Layers& layers) {
  std::vector<bool> given(layers.values.size());
  for (size_t v = 0; v < given.size(); ++v) given[v] = layers.values[v].role == Role::kInput;
  std::vector<ValueId> found;
  for (const Layer& layer : layers.layers) {
    const auto is_given = [&](ValueId id) { return id.valid() && given[id.index()]; };
    const bool any = std::ranges::any_of(layer.inputs, is_given);
    for (const ValueId id : layer.outputs) {
      if (id.valid()) given[id.index()] = any;
    }
    if (layer.op != "embedding" || any || !layer.inputs[0].valid() || !IsTrained(layers, layer.inputs[0])) continue;
    found.push_back(layer.inputs[0]);
  }
  if (found.empty()) return std::nullopt;
  const std::string& first = layers[found.front()].name;
  return Reading{"positions-guessed",
                 "assumed: the table of positions " + first + " is trained; sinusoids, as in Marian, are not",
                 "--frozen '" + first + "'", Without(layers, found)};
}

std::optional<Reading> ParametersInstead(const Layers& layers) {
  constexpr int64_t kMany = 4096;  // elements: fewer move nothing
  std::vector<ValueId> found;
  Bytes bytes;
  for (const ValueId id : layers.buffers) {
    const Value& buffer = layers[id];
    const Dim elements = buffer.shape.Elements();
    const bool named = buffer.name.find('.') != std::string::npos;
    if (named || !IsFloating(buffer.type) || !elements.known() || elements.At(1) < kMany) continue;
    found.push_back(id);
    bytes += StoredBytes(buffer.type, elements.At(1));
  }
  if (bytes == Bytes()) return std::nullopt;
  Layers other = layers;
  for (const ValueId id : found) {
    other.values[id.index()].role = Role::kParameter;
    other.parameters.push_back(id);
    std::erase(other.buffers, id);
  }
  return Reading{
      "parameters-guessed",
      "assumed: " + ToString(bytes) +
          " of stored tensors without a name are not trained; the export may have folded parameters into them",
      "export model.train(), which folds nothing", std::move(other)};
}

}  // namespace vramplan
