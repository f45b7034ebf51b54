// StepTime: how long a step takes at best: each operator moves its bytes at the card's bandwidth or computes at its
// peak rate, whichever takes longer (roofline: Williams, Waterman, Patterson, CACM 52(4), 2009).
//
//   conv2d, fp32, T4    118 MFLOP at 8.1 TFLOP/s: 14.6 us      3.2 MB at 320 GB/s: 10.0 us      takes 14.6 us
//
// An estimate: real kernels reach a part of either rate. What a plan needs are ratios ("overhead 4 %"), in which that
// part cancels as long as it is alike for all operators. The backward counts as two forwards: of each product it
// computes two (Kaplan et al., arXiv 2001.08361, section 2.1); as one where the weight is frozen, as none below the
// first trained parameter.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/spec/device.h"
#include "planner/spec/spec.h"

namespace vramplan {

// Peak rates of a card, of its data sheet.
struct Rates {
  double bandwidth = 0;       // bytes a second
  double fp32 = 0, half = 0;  // FLOP a second; half: fp16 and bf16
  bool operator==(const Rates&) const = default;
};
// Those of the catalogue; a T4's for what it does not know (a bare size), `*known` says which.
Rates RatesOf(const Card& card, bool* known = nullptr);

struct StepTime {
  std::vector<double> forward, backward;  // seconds, by layer
  double forward_total = 0, backward_total = 0;
  double update = 0;  // of the optimizer
  // Forward, backward and what runs again, `accumulate` times, and the update.
  double Step(double recomputed = 0, int accumulate = 1) const {
    return accumulate * (forward_total + backward_total + recomputed) + update;
  }
};

StepTime EstimateTime(const Layers& layers, const TrainingSpec& spec, const Rates& rates, int64_t batch);

// Multiplications and additions of one forward call of the layer, each counted; 0: bound by the bytes it moves.
double FlopsOf(const Layers& layers, const Layer& layer, int64_t batch);

// Shares its input's storage: costs no time and no memory.
bool IsView(const Layer& layer);

}  // namespace vramplan
