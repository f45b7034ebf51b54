#include "planner/answers/kept_outputs.h"

#include <algorithm>

#include "graph/layers/uses.h"

namespace vramplan {
namespace {

bool IsOneNumber(const Layers& layers, ValueId id) { return id.valid() && layers[id].shape.Elements().Is(1); }

bool ReturnsItsLoss(const Layers& layers) { return !layers.outputs.empty() && IsOneNumber(layers, layers.outputs[0]); }

// What the operator reads first that makes one number of many: cross_entropy(logits, labels) / 4.
ValueId ReducedInto(const Uses& uses, ValueId loss) {
  while (IsOneNumber(uses.layers(), loss)) loss = Uses::In(uses.MakerOf(loss), 0);
  return loss;
}

}  // namespace

std::optional<Layers> HoldingTheLoss(const Layers& layers) {
  if (!ReturnsItsLoss(layers)) return std::nullopt;
  const Uses uses(layers);
  const auto held = [&](ValueId id) { return id.valid() && uses.MakerOf(id) != nullptr; };
  if (std::none_of(layers.outputs.begin() + 1, layers.outputs.end(), held)) return std::nullopt;
  Layers other = layers;
  other.outputs.resize(1);
  return other;
}

std::optional<Layers> HoldingTheLogits(const Layers& layers) {
  if (!ReturnsItsLoss(layers) || layers.outputs.size() > 1) return std::nullopt;
  const Uses uses(layers);
  // Casts and cuts, as ForCausalLMLoss has them: logits.float(), then view(-1, vocabulary) (transformers/loss/loss_utils.py).
  const ValueId logits = uses.Behind({"reshape", "view", "slice", "to", "float", "contiguous", "transpose", "permute"},
                                     ReducedInto(uses, layers.outputs[0]));
  if (!logits.valid() || uses.MakerOf(logits) == nullptr) return std::nullopt;
  Layers other = layers;
  other.outputs.push_back(logits);
  std::erase_if(other.recorded, [&](const RecordedEnd& end) { return end.value == logits; });
  other.recorded.push_back({logits, {}});
  return other;
}

}  // namespace vramplan
