// scatter_reduce: what is written to a place is reduced with what else is written there (aten/src/ATen/native/
// TensorAdvancedIndexing.cpp: scatter_reduce; torch/csrc/autograd/FunctionsManual.cpp: scatter_reduce_backward, 2.10).
#pragma once

#include "planner/semantics/table.h"

namespace vramplan::eager {

// input, index, src; `reduce` sum, mean, amax or amin; `include_self`. A product's backward is not known here.
void ScatterReduce(Call& c);

}  // namespace vramplan::eager
