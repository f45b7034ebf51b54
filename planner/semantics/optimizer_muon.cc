// Muon (torch/optim/_muon.py, PyTorch 2.10): the momentum of a matrix made orthogonal by five Newton-Schulz iterations
// in bfloat16.
//
//   weight [768, 3072], fp32     momentum 9.4 MB for ever; the update 9.4 MB, its bfloat16 copy 4.7 MB; while iterating
//                                two of these and up to three products [768, 768]
#include <algorithm>

#include "planner/semantics/blas.h"
#include "planner/semantics/grad_norm.h"
#include "planner/semantics/optimizer_rows.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

constexpr int kIterations = 5;  // DEFAULT_NS_STEPS

// torch.addmm(self, a, b) of matrices: self is copied into the output.
Tensor AddmmLike(Eager& e, const Tensor& self) {
  const OpScope scope(e, "aten::addmm");
  Tensor out = e.Empty(self->sizes, self->dtype);
  const Storage workspace = CublasWorkspace(e);
  return out;
}

// _zeropower_via_newtonschulz. The caller holds `update` meanwhile.
Tensor Orthogonalise(Eager& e, const Tensor& update) {
  Tensor ortho = ToType(e, update, DType::kBFloat16);
  const bool tall = ortho->lengths[0] > ortho->lengths[1];
  if (tall) ortho = T(e, ortho);
  {
    Tensor norm = VectorNorm(e, ortho);
    const Tensor clamped = e.EmptyLike(norm);
    norm = Tensor();
  }
  Tensor gram, gram_update;
  for (int i = 0; i < kIterations; ++i) {
    gram = Mm(e, ortho, T(e, ortho));
    gram_update = AddmmLike(e, gram);
    ortho = AddmmLike(e, ortho);
  }
  gram = Tensor();
  return tall ? T(e, ortho) : ortho;
}

}  // namespace

void StepMuon(Eager& e, const OptimizerRow&, const std::vector<Tensor>& parameters, OptimizerStates& states) {
  for (const Tensor& p : parameters) {
    if (!states.Has(p)) states.AddLike(e, p, p->dtype);
  }
  Tensor update;  // the name keeps the last parameter's
  for (const Tensor& p : parameters) {
    update = e.EmptyLike(p);  // grad.lerp(buf, momentum)
    update = Orthogonalise(e, update);
  }
}

}  // namespace vramplan::eager
