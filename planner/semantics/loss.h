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

class Call;

enum class LossReduction : uint8_t { kMean, kSum, kNone };
LossReduction LossReductionOf(const Call& call);  // its attribute "reduction"

struct CrossEntropyOptions {
  Tensor weight;  // of the classes
  LossReduction reduction = LossReduction::kMean;
  bool smoothing = false;  // of the labels; by how much does not matter
};

struct BceOptions {
  Tensor weight, positive_weight;
  LossReduction reduction = LossReduction::kMean;
};

// As torch.nn.functional calls them: logits [N, C] or [N, C, d1, ...] against class numbers, or against probabilities
// of their own sizes.
Tensor CrossEntropy(Eager& e, const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options = {});
Tensor Nll(Eager& e, const Tensor& log_probabilities, const Tensor& target, const Tensor& class_weight = {},
           LossReduction reduction = LossReduction::kMean);
Tensor MseLoss(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::kMean);
Tensor SmoothL1(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::kMean);
Tensor Huber(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::kMean);
Tensor L1(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::kMean);
Tensor Bce(Eager& e, const Tensor& input, const Tensor& target, const Tensor& weight = {},
           LossReduction reduction = LossReduction::kMean);
Tensor BceLogits(Eager& e, const Tensor& input, const Tensor& target, const BceOptions& options = {});
Tensor KlDiv(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::kMean,
             bool log_target = false);
Tensor SoftMargin(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction = LossReduction::kMean);

// Losses of pairs, over the last axis: embeddings [N, D] against others of their size (and 1 or -1 for each pair).
Tensor CosineEmbedding(Eager& e, const Tensor& first, const Tensor& second, const Tensor& target);
Tensor TripletMargin(Eager& e, const Tensor& anchor, const Tensor& positive, const Tensor& negative);

// Parts of losses: what autocast makes of an operand of its fp32 list; what becomes of a loss per element;
// clamp_min(0); where(target == 1, t, zeros).
Tensor InFloat32(Eager& e, const Tensor& t);
Tensor Reduced(Eager& e, const Tensor& each, LossReduction reduction);
Tensor ClampMin(Eager& e, const Tensor& t, bool inplace);
Tensor WhereTarget(Eager& e, const Tensor& target, const Tensor& t);

}  // namespace vramplan::eager
