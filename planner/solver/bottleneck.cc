#include "planner/solver/bottleneck.h"

#include "graph/base/check.h"

namespace vramplan {
namespace {

Bytes SizeOf(const Value& value, int64_t batch) { return SizeExpr::Of(value.type, value.shape.Elements()).At(batch); }

// The value of `ids` that has just this size; with other element types in play (autocast) none may.
const Value* OfSize(const Layers& layers, const std::vector<ValueId>& ids, Bytes bytes, int64_t batch) {
  for (const ValueId id : ids) {
    if (id.valid() && layers[id].shape.known() && SizeOf(layers[id], batch) == bytes) return &layers[id];
  }
  return nullptr;
}

std::string TensorName(const Layers& layers, const Layer& layer, const Block& block, Phase phase, int64_t batch) {
  const Bytes bytes = block.bytes.At(batch);
  if (block.category == Category::kWorkspace) return "workspace of " + layer.op;
  if (phase != Phase::kBackward) {
    const Value* output = OfSize(layers, layer.outputs, bytes, batch);
    if (output != nullptr) return output->name;
    return (block.category == Category::kActivations ? "saved by " : "temporary of ") + layer.op;
  }
  const Value* input = OfSize(layers, layer.inputs, bytes, batch);
  if (input != nullptr) return "gradient of " + input->name;
  return "temporary of the backward of " + layer.op;
}

}  // namespace

Bottleneck DescribeAllocation(const Timeline& timeline, const Layers& layers, int64_t batch, size_t event) {
  CHECK(event < timeline.events.size() && timeline.events[event].kind == EventKind::kAllocate);
  const Event& refused = timeline.events[event];
  const Block& block = timeline[refused.block];
  Bottleneck bottleneck;
  bottleneck.batch = batch;
  bottleneck.step = refused.step;
  bottleneck.phase = refused.phase;
  bottleneck.bytes = block.bytes.At(batch);
  const int32_t index = block.origin.layer;
  if (index >= 0 && static_cast<size_t>(index) < layers.layers.size()) {
    const Layer& layer = layers.layers[static_cast<size_t>(index)];
    bottleneck.node = layer.name;
    bottleneck.tensor = TensorName(layers, layer, block, refused.phase, batch);
  } else {
    bottleneck.node = block.origin.op;
    bottleneck.tensor = std::string(Name(block.category));
  }
  return bottleneck;
}

}  // namespace vramplan
