// Pointwise operators: one new tensor in the operands' broadcast layout. What each saves is its row of
// derivatives.yaml.
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// Result type of mixed operands (c10/core/ScalarType.cpp, without complex): floating beats integer, more axes beat
// none.
DType Promote(const Tensor& a, const Tensor& b);
// What an integer becomes where a real number must come out: fp32.
DType Floating(DType type);
// A new tensor over both operands' broadcast sizes; a null operand is a Python number.
Tensor Iterate(Eager& e, const Tensor& a, const Tensor& b, DType type);

// A null operand is a Python number: no memory and no gradient. In place, the result takes over a's storage (a += b).
// Gradients are made in the order of the operands' names in derivatives.yaml: other before self. `scaled`: by an alpha
// other than 1.
Tensor Add(Eager& e, const Tensor& a, const Tensor& b, bool inplace = false, bool scaled = false);
Tensor Sub(Eager& e, const Tensor& a, const Tensor& b, bool inplace = false, bool scaled = false);
Tensor Mul(Eager& e, const Tensor& a, const Tensor& b, bool inplace = false);
Tensor Div(Eager& e, const Tensor& a, const Tensor& b, bool inplace = false);
Tensor Neg(Eager& e, const Tensor& t);
Tensor Abs(Eager& e, const Tensor& t);
// A copy in another type; t itself when it has it (aten::to).
Tensor ToType(Eager& e, const Tensor& t, DType type);

}  // namespace vramplan::eager
