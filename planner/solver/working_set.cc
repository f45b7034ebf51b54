#include "planner/solver/working_set.h"

#include <set>

#include "planner/solver/time_model.h"

namespace vramplan {
namespace {

// The narrowest that the value can be: autocast may have made halves of it.
Bytes AtLeast(const Value& value, const TrainingSpec& spec, int64_t batch) {
  const Dim elements = value.shape.Elements();
  if (!elements.known()) return Bytes();
  DType type = value.type;
  const bool narrow =
      spec.precision != Precision::kFp64 && spec.precision != Precision::kFp32 && spec.precision != Precision::kTf32;
  if (IsFloating(type) && narrow) type = DType::kFloat16;
  return StoredBytes(type, elements.At(batch));
}

Bytes OfLayer(const Layers& layers, const Layer& layer, const TrainingSpec& spec, int64_t batch) {
  Bytes bytes;
  std::set<ValueId> counted;
  const auto add = [&](ValueId id) {
    if (id.valid() && layers[id].role == Role::kActivation && counted.insert(id).second)
      bytes += AtLeast(layers[id], spec, batch);
  };
  for (const ValueId id : layer.inputs) add(id);
  // Several inputs may be parts of one storage that views share, so only the output of an operator of one input counts
  // beside it.
  if (counted.size() > 1) return Bytes();
  if (layer.attributes.Int("inplace", 0) == 0) {
    for (const ValueId id : layer.outputs) add(id);
  }
  return bytes;
}

}  // namespace

WorkingSet WorkingSetOf(const Layers& layers, const TrainingSpec& spec, Bytes fixed, int64_t batch) {
  WorkingSet found;
  found.fixed = fixed;
  for (const Layer& layer : layers.layers) {
    // An expanded input has fewer bytes than elements; products and convolutions have read a whole one.
    if (IsView(layer) || FlopsOf(layers, layer, batch) == 0) continue;
    const Bytes bytes = OfLayer(layers, layer, spec, batch);
    if (bytes <= found.largest) continue;
    found.largest = bytes;
    found.layer = layer.name;
  }
  return found;
}

int64_t WorkingSetBatch(const Layers& layers, const TrainingSpec& spec, Bytes fixed, Bytes capacity, int64_t limit) {
  int64_t below = 0, above = limit + 1;
  while (below + 1 < above) {
    const int64_t middle = below + (above - below) / 2;
    (WorkingSetOf(layers, spec, fixed, middle).total() <= capacity ? below : above) = middle;
  }
  return below;
}

}  // namespace vramplan
