// torch.einsum (aten/src/ATen/native/Linear.cpp, einsum and sumproduct_pair): every operand is seen with the axes of
// the output, then those that are summed; two operands at a time, from the left, become one:
//
//   bqnd,bknd->bnqk   q as [B, n, q, 1, d], k as [B, n, 1, k, d]; d is summed: reshape to [B*n, q, d] and [B*n, d, k]
//                     (a copy where strides do not allow), bmm, view, permute
//   i,j->ij           nothing is summed: mul
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// Nothing when the equation does not fit the operands.
std::optional<Tensor> Einsum(Eager& e, std::string_view equation, const std::vector<Tensor>& operands);

}  // namespace vramplan::eager
