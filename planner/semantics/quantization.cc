// Fake quantisation, as training for integers has it: rounded values in the type that came in.
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

// quantized/FakeQuantPerTensorAffine.cpp, FakeQuantPerChannelAffine.cpp: the result, and a mask of what was not clamped,
// which is kept. Of channels, the smallest and the largest zero point are looked at first.
template <bool of_channels>
void FakeQuantize(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::fake_quantize");
  const Tensor& x = c.In(0);
  if (of_channels) const Tensor least = e.Empty(Shape(), DType::kInt32), most = e.Empty(Shape(), DType::kInt32);
  Tensor out = e.EmptyLike(x), mask = e.EmptyLike(x, DType::kBool);
  if (GradNode* node = e.Record("FakeQuantizeCachemaskBackward0", {x}, {out})) {
    node->SaveOutput(mask);
    node->Backward([](GradContext& g) { g.Set(0, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype)); });
  }
  if (c.outputs.size() > 1) c.Return(std::move(mask), 1);
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> QuantizationRules() {
  return {{"fake_quantize", FakeQuantize<false>}, {"fake_quantize_channels", FakeQuantize<true>}};
}

}  // namespace vramplan::eager
