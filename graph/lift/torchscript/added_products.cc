#include "graph/lift/torchscript/added_products.h"

#include <map>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

// The product with a number that only `sum` reads, as its operand `i`; null: it is no such product.
const Layer* ScaledFor(const Uses& uses, const Layer& sum, size_t i) {
  const Layer* scaled = uses.Operand(&sum, i, "mul");
  const bool by_number = scaled != nullptr && scaled->attributes.Has("scalar") && scaled->inputs[0].valid();
  return by_number && uses.OnlyReaderOf(sum.inputs[i]) == &sum ? scaled : nullptr;
}

}  // namespace

void GatherAddedProducts(Layers* layers) {
  std::map<size_t, Layer> calls;
  {
    const Uses uses(*layers);
    for (const Layer& sum : layers->layers) {
      if (sum.op != "add" || sum.inputs.size() != 2 || sum.evidence == Evidence::kProvenance) continue;
      const Layer *left = ScaledFor(uses, sum, 0), *right = ScaledFor(uses, sum, 1);
      const Layer* product = left != nullptr && right != nullptr ? uses.Operand(left, 0, "matmul") : nullptr;
      if (product == nullptr || uses.OnlyReaderOf(product->outputs[0]) != left) continue;
      const auto is_batch = [&](ValueId id) { return id.valid() && (*layers)[id].shape.rank() == 3; };
      if (!is_batch(product->inputs[0]) || !is_batch(product->inputs[1])) continue;
      Layer call = sum;
      call.op = "baddbmm";
      call.inputs = {right->inputs[0], product->inputs[0], product->inputs[1]};
      call.attributes = Attributes();
      call.evidence = Evidence::kPattern;
      calls.emplace(uses.PlaceOf(&sum), std::move(call));
    }
  }
  PutCalls(layers, std::move(calls));
}

}  // namespace vramplan
