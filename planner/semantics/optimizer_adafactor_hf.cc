// Adafactor of transformers (transformers/optimization.py 5.23; run on the counters of PyTorch 2.10): states and
// arithmetic in fp32 whatever the parameter, no first moment (beta1=None).
//
//   weight [768, 3072], bf16     state 3'072 + 12'288 B and a scalar; gradient and weight in fp32, 9.4 MB each; square
//                                and square + eps, 9.4 MB each, then the estimate
#include "planner/semantics/grad_norm.h"
#include "planner/semantics/optimizer_rows.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"

namespace vramplan::eager {
namespace {

// tensor.norm(2) / elements ** 0.5
Tensor RootMeanSquare(Eager& e, const Tensor& t) {
  const Tensor norm = VectorNorm(e, t);
  return e.EmptyLike(norm);
}

void MakeStateOfHf(Eager& e, const Tensor& p, const Tensor& grad, OptimizerStates& states) {
  if (p->dim() < 2) {
    states.AddLike(e, p, grad->dtype);
    return;
  }
  states.Add(e, p, ReducedSizes(p, {p->dim() - 1}, false), grad->dtype);
  states.Add(e, p, ReducedSizes(p, {p->dim() - 2}, false), grad->dtype);
}

// (row / row.mean()).rsqrt_() times column.rsqrt()
Tensor Estimate(Eager& e, const Tensor& like, const Tensor& row, const Tensor& column) {
  Tensor mean = Mean(e, row, {row->dim() - 1}, true);
  Tensor row_factor = e.EmptyLike(row);
  mean = Tensor();
  const Tensor column_factor = e.EmptyLike(column);
  Tensor estimate = e.Empty(like->sizes, like->dtype);
  row_factor = Tensor();
  return estimate;
}

// update.div_((rms(update) / clip_threshold).clamp_(min=1))
void Clip(Eager& e, const Tensor& update) {
  Tensor mean_square = RootMeanSquare(e, update);
  const Tensor divisor = e.EmptyLike(mean_square);
  mean_square = Tensor();
}

Tensor Single(Eager& e, const Tensor& t) {
  const bool half = t->dtype == DType::kFloat16 || t->dtype == DType::kBFloat16;
  return half ? e.EmptyLike(t, DType::kFloat32) : t;
}

}  // namespace

void StepAdafactorHf(Eager& e, const OptimizerRow&, const std::vector<Tensor>& parameters, OptimizerStates& states) {
  Tensor grad, weight, update;  // the names of Python, which keep the last parameter's values
  for (const Tensor& p : parameters) {
    const bool factored = p->dim() >= 2;
    grad = Tensor();
    grad = Single(e, p->grad);
    if (!states.Has(p)) MakeStateOfHf(e, p, grad, states);
    weight = Tensor();
    weight = Single(e, p);
    // state["RMS"] stays; the last step's is let go when the new one is there. Its comparison with eps is a flag.
    std::vector<Tensor>& state = states[p];
    const size_t scalar = factored ? 2 : 1;
    Tensor mean_square = RootMeanSquare(e, weight);
    if (state.size() > scalar) state.pop_back();
    state.push_back(std::move(mean_square));
    e.EmptyLike(state[scalar], DType::kBool);

    Tensor square = e.EmptyLike(grad);
    Tensor next = e.EmptyLike(grad);  // square + eps
    square = Tensor();
    update = std::move(next);
    if (factored) {
      Mean(e, update, {update->dim() - 1}, false);
      Mean(e, update, {update->dim() - 2}, false);
      update = Estimate(e, update, state[0], state[1]);
    } else {
      update = e.EmptyLike(grad);
    }
    Clip(e, update);
    e.EmptyLike(update);  // -update
  }
  grad = Tensor();
  weight = Tensor();
}

}  // namespace vramplan::eager
