#include "planner/semantics/grad_norm.h"

#include <algorithm>

#include "planner/semantics/reduction.h"

namespace vramplan::eager {
namespace {

constexpr int64_t kChunkSize = 65536;  // aten/src/ATen/native/cuda/MultiTensorApply.cuh

// Scalars and partial results of halves are fp32 (at::opmath_type).
DType PartialType(DType type) { return type == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32; }

}  // namespace

Tensor VectorNorm(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim) {
  const OpScope scope(e, "aten::linalg_vector_norm");
  Tensor out = e.Empty(ReducedSizes(t, axes, keepdim), t->dtype);
  AllocateReduceScratch(e, *t, axes, t->dtype);
  return out;
}

// foreach_tensor_norm_cuda (aten/src/ATen/native/cuda/ForeachReduceOp.cu): tensors x most chunks of any tensor.
std::vector<Tensor> ForeachNorm(Eager& e, const std::vector<Tensor>& tensors) {
  const OpScope scope(e, "aten::_foreach_norm");
  int64_t most = 0;
  for (const Tensor& t : tensors) most = std::max(most, (t->numel() + kChunkSize - 1) / kChunkSize);
  std::vector<Tensor> norms;
  if (tensors.empty()) return norms;
  const int64_t partial = static_cast<int64_t>(tensors.size()) * most;
  const Tensor buffer = e.Empty(Shape{Dim(partial)}, PartialType(tensors[0]->dtype));
  for (const Tensor& t : tensors) norms.push_back(e.Empty(Shape(), t->dtype));
  return norms;
}

Tensor TotalNorm(Eager& e, const std::vector<Tensor>& norms) {
  const Tensor stacked = e.Empty(Shape{Dim(static_cast<int64_t>(norms.size()))}, norms[0]->dtype);
  return VectorNorm(e, stacked);
}

// torch/nn/utils/clip_grad.py, PyTorch 2.10; foreach is its default on the card.
void ClipGradNorm(Eager& e, const std::vector<Tensor>& parameters) {
  const Category before = e.category;
  e.category = Category::kTemporaries;
  const OpScope scope(e, "clip_grad_norm_");
  std::vector<Tensor> gradients;
  for (const Tensor& p : parameters) {
    if (p->grad) gradients.push_back(p->grad);
  }
  if (!gradients.empty()) {
    std::vector<Tensor> norms = ForeachNorm(e, gradients);
    const Tensor total = TotalNorm(e, norms);
    while (!norms.empty()) norms.pop_back();
    Tensor sum = e.EmptyLike(total);         // total_norm + 1e-6
    Tensor reciprocal = e.EmptyLike(total);  // max_norm / sum is sum.reciprocal() * max_norm
    Tensor factor = e.EmptyLike(total);
    reciprocal = sum = Tensor();
    const Tensor clamped = e.EmptyLike(total);
    factor = Tensor();
  }
  e.category = before;
}

}  // namespace vramplan::eager
