// Losses, with the default reduction to a mean. The scalar that comes back may hold the memory of a whole tensor:
// mse_loss writes into a tensor of the input's size that it then shrinks (aten/src/ATen/native/Loss.cpp: result is
// resized, its storage is not).
//
//   mse_loss of fp32 [64, 100000]: +25'600'000 the result's storage, +25'600'000 squares, +320 +4 scratch of the mean,
//   -4 -320 -25'600'000
//
// Under autocast the arguments become fp32 first; cross_entropy_loss takes the logarithm in the type of the logits and
// converts that.
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// As torch.nn.functional calls them: logits [N, C] or [N, C, d1, ...] against class numbers.
Tensor CrossEntropy(Eager& e, const Tensor& logits, const Tensor& target);
Tensor Nll(Eager& e, const Tensor& log_probabilities, const Tensor& target);
Tensor MseLoss(Eager& e, const Tensor& input, const Tensor& target);
Tensor SmoothL1(Eager& e, const Tensor& input, const Tensor& target);
Tensor L1(Eager& e, const Tensor& input, const Tensor& target);
Tensor Bce(Eager& e, const Tensor& input, const Tensor& target);
Tensor BceLogits(Eager& e, const Tensor& input, const Tensor& target);
Tensor KlDiv(Eager& e, const Tensor& input, const Tensor& target);

}  // namespace vramplan::eager
