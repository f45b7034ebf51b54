// Embedding: rows of a table by number. Keeps the numbers; the gradient is dense, the whole table.
//
//   table [30522, 768] fp32, indices [4, 128]: forward +1'572'864; backward +93'763'584
//   beyond 3072 indices the numbers are sorted first: four tensors of them, partial sums of fp32 [indices / 10 + rows,
//   768]
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// by_frequency: each number's gradient is divided by how often it is there (scale_grad_by_freq).
Tensor Embedding(Eager& e, const Tensor& weight, const Tensor& indices, bool by_frequency = false);

}  // namespace vramplan::eager
