// What peft puts beside a linear layer and is more than two more linear layers: DoRA.
#include <utility>

#include "planner/semantics/blas.h"
#include "planner/semantics/packed_weight.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// get_lora_weight of tuners/lora/dora.py, peft 0.21: the product of the adapters, by way of an identity matrix.
Tensor ProductOf(Eager& e, const Tensor& a, const Tensor& b) {
  const Tensor identity = e.Empty(Shape{a->sizes[1], a->sizes[1]}, a->dtype);
  return T(e, Linear(e, Linear(e, identity, a, Tensor()), b, Tensor()));
}

// get_weight_norm: the length of each row of weight + scaling * product, which is outside the tape.
Tensor NormOf(Eager& e, Tensor weight, const Tensor& product) {
  const NoGradGuard no_grad(e);
  const Tensor detached = e.Alias(product);
  weight = Add(e, weight, Mul(e, detached, Tensor()));
  return VectorNorm(e, weight, {1}, false, 2);
}

// DoraLinearLayer.forward. `base` is what the layer gave, null where a dropout is in front of the adapters: it is then
// computed again, of what was dropped.
void DoraLinear(Call& c) {
  Eager& e = c.e;
  const OpScope scope(e, "DoraLinearLayer");
  const Tensor &x = c.In(0), &a = c.In(3), &b = c.In(4), &magnitude = c.In(5), &bias = c.In(6);
  const Tensor product = ToType(e, ProductOf(e, a, b), x->dtype);
  Tensor weight = c.Int("packed") != 0 ? Unpacked(e, PackedWeightOf(c)) : c.In(2);
  weight = ToType(e, weight, x->dtype);
  const auto upright = [&] { return c.Int("transposed") != 0 ? T(e, weight) : weight; };
  const Tensor norm = NormOf(e, upright(), product);
  const Tensor scale = View(e, Div(e, magnitude, norm), Shape{1, norm->sizes[0]});
  const Tensor added = Linear(e, Linear(e, x, a, Tensor()), b, Tensor());
  Tensor base = c.In(1);
  if (!base) {
    base = Linear(e, x, upright(), Tensor());
  } else if (bias) {
    base = Sub(e, base, bias);
  }
  Tensor left = Mul(e, Sub(e, scale, Tensor()), base);
  Tensor right = Mul(e, Mul(e, scale, added), Tensor());
  c.Return(Add(e, left, right));
  left = Tensor();  // Python gives up the operands of a sum in this order
  right = Tensor();
}

}  // namespace

std::vector<OpRule> AdapterRules() { return {{"dora_linear", DoraLinear}}; }

}  // namespace vramplan::eager
