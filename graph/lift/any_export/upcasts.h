// Upcasts: code written for halves computes its norms in fp32 and says so, x.float() and .to(input_dtype), which in an
// fp32 export is nothing and leaves no node. They matter in halves and under autocast only.
//
//   pow(x, 2) -> mean -> add eps -> rsqrt -> mul(x, .) -> mul(weight, .)
//   LlamaRMSNorm, Meta's RMSNorm and their children     x32 = float(x); the whole norm of x32; type_as(., x); weight
//   GemmaRMSNorm (transformers, modeling_gemma.py)      x32 = float(x); 1 + float(weight); type_as(the product, x)
//   T5LayerNorm (transformers, modeling_t5.py)          pow(float(x)); mul(x, .) is promoted; type_as(., weight)
//
// T5Block also clamps in fp16, and only there, what each of its sublayers returns: clamp_inf. T5's feed forward gives
// its second linear what has the type of that one's weight, hidden_states.to(self.wo.weight.dtype): fp32 under
// autocast.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void RestoreUpcasts(Layers* layers);

}  // namespace vramplan
