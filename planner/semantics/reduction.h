// Reductions: a smaller tensor, and what the CUDA kernel needs beside it: when one output is shared by several blocks
// of threads, a buffer of partial sums and semaphores (aten/src/ATen/native/cuda/Reduce.cuh, setReduceConfig).
#pragma once

#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// Sum over `axes` (keepdim as said) with the kernel's scratch; not on the tape. The workhorse of backward formulas.
Tensor SumKernel(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim);

// aten::mean over `axes`, on the tape: keeps nothing; its gradient is expanded and divided into a new tensor
// (MeanBackward1).
Tensor Mean(Eager& e, const Tensor& t, const std::vector<int>& axes, bool keepdim);

// Scratch of a reduction of t over `axes`, alive until both references die: partial results, then semaphores.
struct ReduceScratch {
  Storage buffer, semaphores;
};
ReduceScratch AllocateReduceScratch(Eager& e, const TensorImpl& t, const std::vector<int>& axes, DType output);

}  // namespace vramplan::eager
