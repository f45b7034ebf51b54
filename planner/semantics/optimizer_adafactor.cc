// Adafactor: of a parameter of two axes or more a row and a column of second moments, else one like it.
//
//   weight [768, 3072], fp32     state 3'072 + 12'288 B; while it runs one estimate [768, 3072]
//
// torch.optim.Adafactor (torch/optim/_adafactor.py, PyTorch 2.10).
#include "planner/semantics/blas.h"
#include "planner/semantics/grad_norm.h"
#include "planner/semantics/optimizer_program.h"
#include "planner/semantics/optimizer_rows.h"
#include "planner/semantics/reduction.h"

namespace vramplan::eager {
namespace {

bool Factored(const Tensor& t) { return t->dim() > 1; }
int Last(const Tensor& t) { return t->dim() - 1; }
int BeforeLast(const Tensor& t) { return t->dim() - 2; }

void MakeState(Eager& e, const Tensor& p, OptimizerStates& states) {
  if (states.Has(p)) return;
  if (!Factored(p)) {
    states.AddLike(e, p, p->dtype);
    return;
  }
  states.Add(e, p, ReducedSizes(p, {Last(p)}, true), p->dtype);
  states.Add(e, p, ReducedSizes(p, {BeforeLast(p)}, true), p->dtype);
}

// row_var @ col_var: one product of a column and a row each, in one batch.
Tensor VarianceEstimate(Eager& e, const Tensor& p) {
  const OpScope scope(e, "aten::matmul");
  Tensor estimate = e.Empty(p->sizes, p->dtype);
  const Storage workspace = CublasWorkspace(e);
  return estimate;
}

Tensor RowMean(Eager& e, const Tensor& row) { return Mean(e, row, {BeforeLast(row)}, true); }

// A scalar that is read on the host and let go.
void ReadNorm(Eager& e, const Tensor& t) { VectorNorm(e, t); }

void AdafactorForLoop(Eager& e, const std::vector<Tensor>& parameters, OptimizerStates& states) {
  Tensor row_mean, column_mean, squared, update;  // the names of Python keep the last parameter's values
  for (const Tensor& p : parameters) {
    ReadNorm(e, p);
    Tensor estimate;
    if (Factored(p)) {
      row_mean = VectorNorm(e, p, {Last(p)}, true);
      column_mean = VectorNorm(e, p, {BeforeLast(p)}, true);
      estimate = VarianceEstimate(e, p);
      RowMean(e, states[p][0]);
    } else {
      squared = e.EmptyLike(p);
      estimate = e.EmptyLike(p);
    }
    update = std::move(estimate);  // in place
    ReadNorm(e, update);
  }
  row_mean = Tensor();
  column_mean = Tensor();
  squared = Tensor();
}

TensorList Norms(Eager& e, const std::vector<Tensor>& parameters, int from_end) {
  TensorList norms;
  for (const Tensor& p : parameters) norms.Add(VectorNorm(e, p, {p->dim() - from_end}, true));
  return norms;
}

TensorList FactoredEstimates(Eager& e, const std::vector<Tensor>& parameters, OptimizerStates& states) {
  Norms(e, parameters, 1);
  Norms(e, parameters, 2);
  TensorList estimates, row_means;
  for (const Tensor& p : parameters) estimates.Add(VarianceEstimate(e, p));
  for (const Tensor& p : parameters) row_means.Add(RowMean(e, states[p][0]));
  return estimates;
}

TensorList PlainEstimates(Eager& e, const std::vector<Tensor>& parameters) {
  TensorList squared(e, parameters);
  squared.Clear();
  return TensorList(e, parameters);
}

// _multi_tensor_adafactor: matrices and vectors are two groups, the first parameter's first; the estimates of one live
// until the other's are there.
void AdafactorForeach(Eager& e, const std::vector<Tensor>& parameters, OptimizerStates& states) {
  TensorList updates;
  for (const bool factored : {Factored(parameters[0]), !Factored(parameters[0])}) {
    std::vector<Tensor> group;
    for (const Tensor& p : parameters) {
      if (Factored(p) == factored) group.push_back(p);
    }
    for (const Tensor& p : group) ReadNorm(e, p);
    if (!group.empty()) updates = factored ? FactoredEstimates(e, group, states) : PlainEstimates(e, group);
    for (const Tensor& p : group) ReadNorm(e, p);  // of its update
  }
}

}  // namespace

void StepAdafactor(Eager& e, const OptimizerRow&, const std::vector<Tensor>& parameters, OptimizerStates& states) {
  for (const Tensor& p : parameters) MakeState(e, p, states);
  if (e.spec().optimizer_impl == OptimizerImpl::kForeach) {
    AdafactorForeach(e, parameters, states);
  } else {
    AdafactorForLoop(e, parameters, states);
  }
}

}  // namespace vramplan::eager
