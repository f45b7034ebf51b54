// Losses that stand in a dynamo graph and that the exporter took apart (torch/_decomp/decompositions.py):
//
//   bce_logits(x, y)       sub(mul(sub(1, y), x), log_sigmoid(x))
//   huber_loss(x, y)       where(lt(a), mul(mul(a), a), mul(sub(a))), a = abs(sub(x, y))
//   smooth_l1_loss(x, y)   where(lt(a), div(mul(pow(a))), sub(a))
//   bce(p, y)              sub(mul(sub(y, 1), maximum(log1p(neg(p)))), mul(y, maximum(log(p))))
//   nll_loss(p, y)         div(sum(where(ne(y), neg(squeeze(gather(p, unsqueeze(where(ne(y), y))))))), sum(ne(y)))
//
// each with a mean or a sum behind it.
#pragma once

#include "graph/lift/layers.h"

namespace vramplan {

void GatherDecomposedLosses(Layers* layers);

}  // namespace vramplan
