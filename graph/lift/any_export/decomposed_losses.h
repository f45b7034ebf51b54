// Losses that stand in a graph and that the exporter took apart: dynamo (torch/_decomp/decompositions.py) and, of
// another form, TorchScript (torch/onnx/symbolic_opset9.py, symbolic_opset12.py).
//
//   bce_logits(x, y)       sub(mul(sub(1, y), x), log_sigmoid(x)), with pos_weight p
//                          sub(mul(sub(1, y), x), mul(add(mul(sub(p, 1), y), 1), log_sigmoid(x)));  TorchScript
//                          neg(add(mul(mul(y, log(s)), p), mul(sub(1, y), log(sub(1, s))))), s = sigmoid(x)
//   huber_loss(x, y)       where(lt(a), mul(mul(a), a), mul(sub(a))), a = abs(sub(x, y))
//   smooth_l1_loss(x, y)   where(lt(a), div(mul(pow(a))), sub(a))
//   bce(p, y)              sub(mul(sub(y, 1), maximum(log1p(neg(p)))), mul(y, maximum(log(p))))
//   kl_div(x, y)           sub(xlogy(y, y), mul(y, x)), of log targets mul(exp(y), sub(y, x));  TorchScript
//                          where(gt(y), mul(y, sub(log(y), x)), zeros)
//   soft_margin_loss(x, y) log1p(exp(mul(neg(x), y)))
//   poisson_nll_loss(x, y) sub(exp(x), mul(y, x))
//   hinge_embedding_loss   add(where(ne(y), clamp(sub(full, x)), zeros), where(ne(y), x, zeros))
//   margin_ranking_loss    clamp(add(mul(neg(y), sub(a, b))))
//   nll_loss(p, y)         where(ne(y), neg(squeeze(gather(p, unsqueeze(where(ne(y), y))))))), of weights w
//   gather(mul(p,
//                          w), ..); its mean divides the sum by another
//   multi_margin_loss      where(ne(.., y), clamp(add(sub(1, gather(x, y)), x)))
//   multilabel_margin_loss sum(where(any(..), div(clamp(add(sub(1, unsqueeze(permute(gather(x, where(.., y))))), x)))))
//
// A product with a buffer behind bce is its weight; a mean or a sum over everything behind any is its reduction.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void GatherDecomposedLosses(Layers* layers);

}  // namespace vramplan
