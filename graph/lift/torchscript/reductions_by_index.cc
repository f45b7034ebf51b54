#include "graph/lift/torchscript/reductions_by_index.h"

#include <map>
#include <string>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

// Whether a value is the least (or greatest) of `src`, spread over its shape.
bool IsEndOf(const Uses& uses, ValueId value, ValueId src) {
  constexpr int kSteps = 4;  // expand(add(zeros(1), min(src)))
  for (int step = 0; step < kSteps; ++step) {
    const Layer* maker = uses.MakerOf(uses.BehindViews(value));
    if (maker == nullptr) return false;
    const bool is_end = maker->op == "amin" || maker->op == "amax" || maker->op == "min" || maker->op == "max";
    if (is_end) return Uses::In(maker, 0) == src;
    value = Uses::In(maker, maker->op == "add" ? 1 : 0);
  }
  return false;
}

// The reduction that this one begins with; null: it is written into something else.
const Layer* BeginOf(const Uses& uses, const Layer& layer) {
  if (layer.op != "scatter_reduce" || layer.inputs.size() != 3) return nullptr;
  const Layer* begin = uses.Operand(&layer, 0, "scatter_reduce");
  if (begin == nullptr || begin->inputs[1] != layer.inputs[1] || uses.OnlyReaderOf(layer.inputs[0]) != &layer)
    return nullptr;
  return IsEndOf(uses, begin->inputs[2], layer.inputs[2]) ? begin : nullptr;
}

}  // namespace

void GatherReductionsByIndex(Layers* layers) {
  std::map<size_t, Layer> calls;
  {
    const Uses uses(*layers);
    for (const Layer& layer : layers->layers) {
      const Layer* begin = BeginOf(uses, layer);
      if (begin == nullptr) continue;
      Layer call = layer;
      call.inputs[0] = begin->inputs[0];
      call.attributes.Set("include_self", int64_t{0});
      call.attributes.Set("inplace", int64_t{1});
      calls.emplace(uses.PlaceOf(&layer), std::move(call));
    }
  }
  PutCalls(layers, std::move(calls));
}

}  // namespace vramplan
