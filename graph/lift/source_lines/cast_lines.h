// Casts by line: an fp32 export writes keep.to(x.dtype) as a cast to fp32. Under autocast x may be fp16, and the cast
// is to that. Where the file has the source line, it says which type was meant:
//
//   keep = (torch.rand(n, 1, 1, 1) > p).to(y.dtype)    to, mul(y, keep)   ->   type_as(keep, y), mul(y, keep)
//   keep = (torch.rand(n, 1, 1, 1) > p).float()        stays fp32
//   x.float() * torch.rsqrt(x.float().pow(2) ...)      two casts of x, which an fp32 export has lost
//   (any_export/upcasts.h)
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// Casts of comparisons and masks to fp32 whose line says .to(.dtype) or .type_as(): to the type of what they are
// multiplied with. Where a line makes fp32 of a tensor twice, each reader has a cast of its own.
void ReadCastLines(Layers* layers);

// The same of all such casts whose line is not known. False: there are none.
bool CastAsOperand(Layers* layers);

// A cast of its own for the second reader of x.float(), where no line is known. False: there is no such reader.
bool CastTwice(Layers* layers);

}  // namespace vramplan
