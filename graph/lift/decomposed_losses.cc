#include "graph/lift/decomposed_losses.h"

#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace vramplan {
namespace {

struct Loss {
  const char* op;
  ValueId input, target;
};

// Layers by what they make; a step from an operand to its maker, by name.
class Walk {
 public:
  explicit Walk(const Layers& layers) : layers_(layers) {
    for (size_t l = 0; l < layers.layers.size(); ++l) {
      for (const ValueId id : layers.layers[l].outputs) {
        if (id.valid()) maker_[id] = l;
      }
      for (const ValueId id : layers.layers[l].inputs) {
        if (id.valid()) ++reads_[id];
      }
    }
    for (const ValueId id : layers.outputs) ++reads_[id];
  }
  // The layer that makes operand `i` of `layer`, when it is an `op`; null otherwise.
  const Layer* Operand(const Layer* layer, size_t i, std::string_view op) const {
    if (layer == nullptr || i >= layer->inputs.size() || !layer->inputs[i].valid()) return nullptr;
    const auto found = maker_.find(layer->inputs[i]);
    if (found == maker_.end() || layers_.layers[found->second].op != op) return nullptr;
    return &layers_.layers[found->second];
  }
  int Reads(ValueId id) const {
    const auto found = reads_.find(id);
    return found == reads_.end() ? 0 : found->second;
  }

 private:
  const Layers& layers_;
  std::map<ValueId, size_t> maker_;
  std::map<ValueId, int> reads_;
};

ValueId In(const Layer* layer, size_t i) {
  return layer != nullptr && i < layer->inputs.size() ? layer->inputs[i] : ValueId{};
}

std::optional<Loss> BceLogits(const Walk& walk, const Layer& sub) {
  if (sub.op != "sub") return std::nullopt;
  const Layer* product = walk.Operand(&sub, 0, "mul");
  const Layer* log = walk.Operand(&sub, 1, "log_sigmoid");
  const Layer* complement = walk.Operand(product, 0, "sub");
  if (log == nullptr || complement == nullptr || In(complement, 0).valid()) return std::nullopt;
  if (In(product, 1) != In(log, 0)) return std::nullopt;
  return Loss{"bce_logits", In(log, 0), In(complement, 1)};
}

// huber_loss and smooth_l1_loss.
std::optional<Loss> Bent(const Walk& walk, const Layer& where) {
  if (where.op != "where") return std::nullopt;
  const Layer* magnitude = walk.Operand(walk.Operand(&where, 0, "lt"), 0, "abs");
  const Layer* difference = walk.Operand(magnitude, 0, "sub");
  if (difference == nullptr || !In(difference, 0).valid() || !In(difference, 1).valid()) return std::nullopt;
  const ValueId a = magnitude->outputs[0];
  const Layer* linear = walk.Operand(&where, 2, "sub");
  const Layer* square = walk.Operand(walk.Operand(walk.Operand(&where, 1, "div"), 0, "mul"), 0, "pow");
  if (linear != nullptr && square != nullptr && In(square, 0) == a && In(linear, 0) == a)
    return Loss{"smooth_l1_loss", In(difference, 0), In(difference, 1)};
  const Layer* scaled = walk.Operand(&where, 2, "mul");
  const Layer* product = walk.Operand(&where, 1, "mul");
  if (walk.Operand(scaled, 0, "sub") == nullptr || In(product, 1) != a) return std::nullopt;
  return Loss{"huber_loss", In(difference, 0), In(difference, 1)};
}

std::optional<Loss> Bce(const Walk& walk, const Layer& sub) {
  if (sub.op != "sub") return std::nullopt;
  const Layer *miss = walk.Operand(&sub, 0, "mul"), *hit = walk.Operand(&sub, 1, "mul");
  const Layer* log = walk.Operand(walk.Operand(hit, 1, "maximum"), 0, "log");
  const Layer* negative = walk.Operand(walk.Operand(walk.Operand(miss, 1, "maximum"), 0, "log1p"), 0, "neg");
  if (log == nullptr || negative == nullptr || In(negative, 0) != In(log, 0)) return std::nullopt;
  return Loss{"bce", In(log, 0), In(hit, 0)};
}

std::optional<Loss> Nll(const Walk& walk, const Layer& div) {
  if (div.op != "div") return std::nullopt;
  const Layer* chosen = walk.Operand(walk.Operand(&div, 0, "sum"), 0, "where");
  const Layer* negative = walk.Operand(chosen, 1, "neg");
  const Layer* squeezed = walk.Operand(negative, 0, "squeeze");
  const Layer* gathered = walk.Operand(squeezed, 0, "gather");
  const Layer* number = walk.Operand(walk.Operand(gathered, 1, "unsqueeze"), 0, "where");
  const Layer* counted = walk.Operand(number, 0, "ne");
  if (counted == nullptr || In(number, 1) != In(counted, 0)) return std::nullopt;
  return Loss{"nll_loss", In(gathered, 0), In(counted, 0)};
}

}  // namespace

void GatherDecomposedLosses(Layers* layers) {
  const Walk walk(*layers);
  std::map<size_t, Layer> losses;  // by the place of their last layer
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& layer = layers->layers[l];
    if (layer.evidence != Evidence::kProvenance || layer.outputs.size() != 1) continue;
    const auto reduced = [&](std::string_view op) -> const Layer* {
      return layer.op == op && layer.attributes.Ints("dim").empty() ? &layer : nullptr;
    };
    const Layer* mean = reduced("mean");
    const Layer* sum = reduced("sum");
    const Layer* each = nullptr;
    for (const char* op : {"sub", "where"}) {
      if (each == nullptr) each = walk.Operand(mean != nullptr ? mean : sum, 0, op);
    }
    // Unreduced, it is read by something else than a mean or a sum; the reduced form is found at its own place.
    std::optional<Loss> loss = Nll(walk, layer);
    if (!loss && each != nullptr && walk.Reads(each->outputs[0]) == 1) {
      for (const auto& match : {BceLogits, Bent, Bce}) {
        if (!loss) loss = match(walk, *each);
      }
    }
    if (!loss || !loss->input.valid() || !loss->target.valid()) continue;
    Layer call{.op = loss->op, .name = layer.name, .inputs = {loss->input, loss->target}, .outputs = layer.outputs};
    if (sum != nullptr) call.attributes.Set("reduction", std::string("sum"));
    call.module = layer.module;
    call.nodes = layer.nodes;
    call.evidence = Evidence::kProvenance;
    losses.emplace(l, std::move(call));
  }
  if (losses.empty()) return;
  for (auto& [place, call] : losses) layers->layers[place] = std::move(call);
  std::set<ValueId> read(layers->outputs.begin(), layers->outputs.end());
  std::vector<Layer> kept;
  const size_t last = losses.rbegin()->first;
  for (size_t l = layers->layers.size(); l-- > 0;) {
    Layer& layer = layers->layers[l];
    bool needed = l > last || losses.count(l) != 0 || layer.evidence != Evidence::kProvenance;
    for (const ValueId id : layer.outputs) needed = needed || read.count(id) != 0;
    if (!needed) continue;
    read.insert(layer.inputs.begin(), layer.inputs.end());
    kept.push_back(std::move(layer));
  }
  layers->layers.assign(std::make_move_iterator(kept.rbegin()), std::make_move_iterator(kept.rend()));
}

}  // namespace vramplan
