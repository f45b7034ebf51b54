// Norms of gradients: torch.nn.utils.clip_grad_norm_ and what it is made of.
//
//   148 gradients, the largest of 38.6 M elements (589 chunks of 65'536)
//     +348'688 partial results, 148 x +4 norms, -348'688     _foreach_norm
//     +592 stacked, +4 total, -592, -148 x 4; a few scalars for the factor, which multiplies the gradients in place
#pragma once

#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// tensor.norm(2), torch.norm(tensor, dim, keepdim): scratch as any reduction's. Not on the tape.
Tensor VectorNorm(Eager& e, const Tensor& t, const std::vector<int>& axes = {}, bool keepdim = false);
// torch._foreach_norm: one scalar a tensor; partial results of every chunk while it runs.
std::vector<Tensor> ForeachNorm(Eager& e, const std::vector<Tensor>& tensors);
// torch.linalg.vector_norm(torch.stack(norms)).
Tensor TotalNorm(Eager& e, const std::vector<Tensor>& norms);

// torch.nn.utils.clip_grad_norm_(parameters, max_norm), its result dropped. Gradients are scaled in place.
void ClipGradNorm(Eager& e, const std::vector<Tensor>& parameters);

}  // namespace vramplan::eager
