#include "graph/lift/readings/readings_of_noise.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "graph/layers/edit.h"
#include "graph/layers/trained.h"

namespace vramplan {
namespace {

constexpr size_t kWeight = 1, kBias = 2;  // places among a call's inputs

bool TakesWeight(const Layer& layer) { return layer.op == "linear" || layer.op.starts_with("conv"); }

// The deviation and the noise that stand beside a mean.
struct Noise {
  ValueId sigma, epsilon;
};

// By mean, what is not read though it belongs to one; what is not in the file is stored, too.
std::map<ValueId, Noise> StoreNoise(Layers* layers) {
  std::map<ValueId, Noise> noise;
  const Uses uses(*layers);
  const std::vector<ValueId> parameters = layers->parameters;
  std::unordered_map<std::string, ValueId> by_name;
  for (size_t v = 0; v < layers->values.size(); ++v) by_name.emplace(layers->values[v].name, ValueId::At(v));
  for (const NameHabit& habit : NamesWith(NameHabit::Of::kMeanOfNoise)) {
    const size_t space = habit.with.find(' ');
    for (const ValueId mean : parameters) {
      const Value like = (*layers)[mean];
      if (!like.name.ends_with(habit.name)) continue;
      const std::string module = like.name.substr(0, like.name.size() - habit.name.size());
      const auto stored = [&](std::string_view leaf, Role role, std::vector<ValueId>* list) {
        const auto found = by_name.find(module + std::string(leaf));
        if (found != by_name.end()) return uses.ReadersOf(found->second).empty() ? found->second : ValueId{};
        list->push_back(layers->Add(Value{module + std::string(leaf), like.type, like.shape, role}));
        return list->back();
      };
      const Noise made{.sigma = stored(habit.with.substr(0, space), Role::kParameter, &layers->parameters),
                       .epsilon = stored(habit.with.substr(space + 1), Role::kBuffer, &layers->buffers)};
      if (made.sigma.valid() && made.epsilon.valid()) noise[mean] = made;
    }
  }
  return noise;
}

Reading Noisy(const Layers& layers, ValueId mean, Layers other) {
  return {"noise-left-out",
          "assumed: " + layers[mean].name + " is all of its weight; a noisy layer has a deviation and a noise as large",
          "an export of model.train() has them", std::move(other)};
}

}  // namespace

ValueId MeanOfNoise(const Uses& uses, ValueId weight) {
  const Layers& layers = uses.layers();
  const auto stored = [&](ValueId id) { return id.valid() && IsStored(layers[id]); };
  const Layer* sum = uses.MakerOf(weight);
  if (sum == nullptr || sum->op != "add" || sum->inputs.size() != 2 || !stored(sum->inputs[0])) return {};
  const Layer* noise = uses.MakerOf(sum->inputs[1]);
  if (noise == nullptr || noise->op != "mul" || !std::ranges::all_of(noise->inputs, stored)) return {};
  return layers[sum->inputs[0]].shape == layers[weight].shape ? sum->inputs[0] : ValueId{};
}

std::optional<Reading> WithoutNoiseInstead(const Layers& layers) {
  if (layers.exported == ExportedMode::kEvaluation) return std::nullopt;
  const Uses uses(layers);
  Layers other = layers;
  ValueId first;
  for (Layer& layer : other.layers) {
    for (size_t i = kWeight; TakesWeight(layer) && i <= kBias && i < layer.inputs.size(); ++i) {
      const ValueId mean = MeanOfNoise(uses, layer.inputs[i]);
      if (!mean.valid()) continue;
      layer.inputs[i] = mean;
      if (!first.valid()) first = mean;
    }
  }
  if (!first.valid()) return std::nullopt;
  DropUnread(&other, [](const Layer&) { return true; });
  return Reading{"noise-in-evaluation", "assumed: eval() adds to " + layers[first].name + " what the export adds",
                 "an export of model.eval() has what eval() runs", std::move(other)};
}

std::optional<Reading> UnreadNoiseInstead(const Layers& layers) {
  Layers other = layers;
  const std::map<ValueId, Noise> noise = StoreNoise(&other);
  if (noise.empty()) return std::nullopt;
  return Noisy(layers, noise.begin()->first, std::move(other));
}

std::optional<Reading> NoiseInstead(const Layers& layers) {
  Layers other = layers;
  const std::map<ValueId, Noise> noise = StoreNoise(&other);
  if (noise.empty()) return std::nullopt;
  Edit edit(&other);
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& reader = layers.layers[l];
    for (size_t i = kWeight; TakesWeight(reader) && i <= kBias && i < reader.inputs.size(); ++i) {
      const auto found = noise.find(reader.inputs[i]);
      if (found == noise.end()) continue;
      const auto compute = [&](const char* op, std::vector<ValueId> inputs) {
        Layer layer = CallBeside(reader, op, std::move(inputs));
        Value made = layers[found->first];
        made.name += std::string(".") + op;
        made.role = Role::kActivation;
        layer.name = made.name;
        return edit.InsertBefore(l, std::move(layer), std::move(made));
      };
      const ValueId product = compute("mul", {found->second.sigma, found->second.epsilon});
      other.layers[l].inputs[i] = compute("add", {found->first, product});
    }
  }
  edit.Apply();
  return Noisy(layers, noise.begin()->first, std::move(other));
}

}  // namespace vramplan
