// torch.einsum (aten/src/ATen/native/Linear.cpp, einsum and sumproduct_pair): every operand is seen with the axes of
// the output, then those that are summed; two operands at a time, from the left, become one:
//
//   bqnd,bknd->bnqk   q as [B, n, q, 1, d], k as [B, n, 1, k, d]; d is summed: reshape to [B*n, q, d] and [B*n, d, k]
//                     (a copy where strides do not allow), bmm, view, permute
//   i,j->ij           nothing is summed: mul
//
// Where the package opt_einsum is installed, three operands and more meet in the order that it finds cheapest
// (torch/functional.py, einsum, 2.10; torch.backends.opt_einsum):
//
//   bld,bln,bld->bldn   the first two, [B, l, d, n], which the second mul keeps;   the first and the last, [B, l, d]
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan::eager {

enum class EinsumOrder : uint8_t { kFromTheLeft, kCheapest };

// Nothing when the equation does not fit the operands.
std::optional<Tensor> Einsum(Eager& e, std::string_view equation, const std::vector<Tensor>& operands,
                             EinsumOrder order = EinsumOrder::kFromTheLeft);

}  // namespace vramplan::eager
