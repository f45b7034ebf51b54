// The launch configuration of a CUDA reduction, as far as memory sees it: when few outputs take many inputs, one output
// is shared by several blocks of threads, which meet through a buffer of partial results and one semaphore per column
// of the grid.
//
//   sum over axis 0 of a contiguous fp32 [1576, 192] on a T4 (40 multiprocessors of 1024 threads)
//     outputs are fastest: 4 per load, blocks of 32 x 4 threads; grid of 2; 25 blocks share an output
//     partial results 4 B * 192 * 25 * (32 * 4) = 2'457'600 B, semaphores 4 B * 2
//
// Follows setReduceConfig and ReduceConfig of aten/src/ATen/native/cuda/Reduce.cuh (PyTorch 2.10) and the shape that
// TensorIterator hands it (aten/src/ATen/TensorIterator.cpp: reorder_dimensions, coalesce_dimensions, split).
#pragma once

#include <vector>

#include "graph/base/bytes.h"
#include "planner/semantics/tensor.h"
#include "planner/spec/spec.h"

namespace vramplan::eager {

// Of the kernel's template: what one value is while it is summed (argmax: a value and its index), and how many a thread
// loads at once.
struct ReduceKernel {
  int input_bytes = 4;
  int output_bytes = 4;
  int accumulator_bytes = 4;
  int values_per_load = 4;
  bool accumulates_in_output = true;  // half and bfloat16 sums do not
};

struct ReduceCard {
  int multiprocessors = 40;
  int threads_per_multiprocessor = 1024;
};
ReduceCard CardOf(const TrainingSpec& spec);

struct ReduceBlocks {
  Bytes accumulation;  // only of half reductions too large for 32-bit offsets
  Bytes partial;
  Bytes semaphores;
  bool operator==(const ReduceBlocks&) const = default;
};

// Blocks of a reduction of a tensor (lengths and strides in elements) over `axes`; all of them when empty.
ReduceBlocks ConfigureReduction(const Ints& lengths, const Ints& strides, const std::vector<int>& axes,
                                const ReduceKernel& kernel, const ReduceCard& card);

}  // namespace vramplan::eager
