// Reductions: a smaller tensor, and what the CUDA kernel needs beside it: when one output is shared by several blocks
// of threads, a buffer of partial results and semaphores (planner/semantics/reduce_config.h).
//
//   sum over axis 0 of fp32 [1576, 192] on a T4:  +768 output, +2'457'600 partial, +8 semaphores, -8, -2'457'600
#pragma once

#include <vector>

#include "planner/semantics/eager.h"
#include "planner/semantics/reduce_config.h"

namespace vramplan::eager {

// Sum over `axes` (all when empty; keepdim as said) with the kernel's scratch; not on the tape. The workhorse of
// backward formulas. Integers and bools are summed as int64, through a converted copy.
Tensor SumKernel(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim);

// aten::sum over `axes`, on the tape: keeps nothing; its gradient is a view.
Tensor Sum(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim);

// aten::mean over `axes`, on the tape: keeps nothing; its gradient is expanded and divided into a new tensor
// (MeanBackward1).
Tensor Mean(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim);

// linalg_vector_norm: keeps t and the result.
Tensor VectorNorm(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim, double order);

// The reduced sizes of t.
Shape ReducedSizes(const Tensor& t, const std::vector<int>& axes, bool keepdim);

// Scratch of a reduction of t over `axes`, alive until the references die: partial results, then semaphores.
struct ReduceScratch {
  Storage accumulation, buffer, semaphores;
};
ReduceScratch AllocateReduceScratch(Eager& e, const TensorImpl& t, const std::vector<int>& axes, DType output);
ReduceScratch AllocateReduceScratch(Eager& e, const TensorImpl& t, const std::vector<int>& axes,
                                    const ReduceKernel& kernel);

}  // namespace vramplan::eager
