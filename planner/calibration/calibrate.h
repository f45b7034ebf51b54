// Calibrate: measures one card and makes its Profile.
//
//   loads        context 200 MiB, kernel 2, cuBLAS 40, cuDNN 60      context   low 202, likely 302, high 302 + what the
//   copies       240 GB/s                                            rates     bandwidth, fp32, half
//   arithmetic   fp32 7.0, fp16 40 TFLOP/s
//   staircase    largest block 13.9 GiB                              memory
//
// The context's low end is a context with a kernel in it, the likely one has all libraries loaded; above it the band is
// as wide as that of the card's generation (spec/context.h), for the kernels of a framework that no probe loads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda_probe/probe.h"
#include "planner/calibration/convolutions.h"
#include "planner/calibration/loads.h"
#include "planner/calibration/profile.h"
#include "planner/calibration/staircase.h"

namespace vramplan {

struct Calibration {
  Profile profile;
  SeenLoads loads;
  Staircase staircase;
  std::vector<std::string> unknown;  // what could not be measured, and why
};

// `said`: the context's band of the card's generation. Errors: the card or its driver stopped answering; then there is
// no profile, and nothing is left on the card.
Result<Calibration> Calibrate(Probe* machine, const CardFacts& card, const ContextBand& said,
                              const std::vector<ConvolutionQuestion>& convolutions, const std::string& date);

}  // namespace vramplan
