// A weight that bitsandbytes packed to four bits an element, and the whole one that is made of it for a product.
#pragma once

#include "planner/semantics/table.h"

namespace vramplan::eager {

struct PackedWeight {
  Shape shape;  // [out, in]
  bool nested = false;
  DType stored = DType::kBFloat16;  // that it had before
};

// Of a call with the attributes out, in, nested and stored.
PackedWeight PackedWeightOf(const Call& c);

// dequantize_4bit (functional.py): the scales first where they are packed, too.
Tensor Unpacked(Eager& e, const PackedWeight& weight);

}  // namespace vramplan::eager
