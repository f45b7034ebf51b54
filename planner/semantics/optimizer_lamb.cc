// LAMB (timm/optim/lamb.py 1.0.31, max_grad_norm=1): clipped copies of the gradients, square roots and updates live
// together: three times the parameters with foreach, about four tensors of the largest one at a time without.
//
// foreach runs in one chunk here: timm cuts it in chunks of a quarter of the L2 cache where that is 64 MiB or more
// (RTX 4090, B200), which takes less.
#include "planner/semantics/grad_norm.h"
#include "planner/semantics/optimizer_program.h"
#include "planner/semantics/optimizer_rows.h"

namespace vramplan::eager {
namespace {

// _get_clip_grad_norm: max(1, norm of all gradients), kept through the step.
Tensor ClipFactor(Eager& e, const std::vector<Tensor>& parameters) {
  std::vector<Tensor> gradients;
  for (const Tensor& p : parameters) gradients.push_back(p->grad);
  std::vector<Tensor> norms = ForeachNorm(e, gradients);
  const Tensor total = TotalNorm(e, norms);
  Tensor factor = e.EmptyLike(total);
  while (!norms.empty()) norms.pop_back();
  return factor;
}

// _lamb_trust_ratio of norms (of all parameters, stacked, or of one): their quotient, or 1 where one of them is 0. Each
// where() makes a tensor of its constant.
Tensor TrustRatio(Eager& e, const Tensor& norm) {
  const Tensor quotient = e.EmptyLike(norm);
  Tensor inner;
  const Tensor weight_positive = e.EmptyLike(norm, DType::kBool);
  {
    const Tensor update_positive = e.EmptyLike(norm, DType::kBool);
    const Tensor one = e.Empty(Shape(), norm->dtype);
    inner = e.EmptyLike(norm);
  }
  const Tensor one = e.Empty(Shape(), norm->dtype);
  return e.EmptyLike(norm);
}

// _foreach_trust_ratios, times the learning rate.
Tensor StepSizes(Eager& e, const std::vector<Tensor>& parameters, const std::vector<Tensor>& updates) {
  std::vector<Tensor> weight_norms = ForeachNorm(e, parameters), update_norms = ForeachNorm(e, updates);
  const Tensor last = weight_norms.back();  // its loop's variable
  const Shape count{Dim(static_cast<int64_t>(parameters.size()))};
  Tensor stacked_weights = e.Empty(count, parameters[0]->dtype);
  Tensor stacked_updates = e.EmptyLike(stacked_weights);
  Tensor ratios;
  {
    const Tensor scaled = e.EmptyLike(stacked_updates);
    ratios = TrustRatio(e, stacked_weights);
  }
  Tensor step_sizes = e.EmptyLike(ratios);
  ratios = Tensor();
  stacked_weights = Tensor();
  stacked_updates = Tensor();
  for (std::vector<Tensor>* norms : {&weight_norms, &update_norms}) {
    while (!norms->empty()) norms->pop_back();
  }
  return step_sizes;
}

void LambForeach(Eager& e, const std::vector<Tensor>& parameters) {
  TensorList grads(e, parameters), denominators(e, parameters), updates(e, parameters);
  Tensor step_sizes;
  if (e.spec().weight_decay != 0) step_sizes = StepSizes(e, parameters, updates.tensors());
  grads.Clear();
  denominators.Clear();
  updates.Clear();
}

void LambForLoop(Eager& e, const std::vector<Tensor>& parameters) {
  Tensor grad, denominator, update;  // the names of Python, which keep the last parameter's values
  for (const Tensor& p : parameters) {
    grad = Tensor();
    grad = e.EmptyLike(p);  // grad / clip_grad_norm
    Tensor root = e.EmptyLike(p);
    Tensor quotient = e.EmptyLike(p);
    root = Tensor();
    denominator = std::move(quotient);
    update = e.EmptyLike(p);
    if (e.spec().weight_decay == 0) continue;
    Tensor weight_norm = VectorNorm(e, p);
    Tensor update_norm = VectorNorm(e, update);
    const Tensor ratio = TrustRatio(e, weight_norm);
    weight_norm = Tensor();
    update_norm = Tensor();
  }
  grad = Tensor();
  denominator = Tensor();
}

}  // namespace

void StepLamb(Eager& e, const OptimizerRow& row, const std::vector<Tensor>& parameters, OptimizerStates& states) {
  const Tensor clip = ClipFactor(e, parameters);
  for (const Tensor& p : parameters) {
    if (states.Has(p)) continue;
    for (int i = 0; i < row.states; ++i) states.AddLike(e, p, p->dtype);
  }
  e.spec().optimizer_impl == OptimizerImpl::kForeach ? LambForeach(e, parameters) : LambForLoop(e, parameters);
}

}  // namespace vramplan::eager
