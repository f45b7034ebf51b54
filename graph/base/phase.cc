#include "graph/base/phase.h"

namespace vramplan {

std::string_view Name(Phase phase) {
  constexpr std::string_view kNames[kPhases] = {"setup",    "forward", "loss",      "recompute",
                                                "backward", "update",  "zero_grad", "evaluation"};
  return kNames[static_cast<size_t>(phase)];
}

Phase LaidOutPhase(Phase phase) {
  if (phase == Phase::kLoss) return Phase::kForward;
  return phase == Phase::kZeroGrad ? Phase::kUpdate : phase;
}

}  // namespace vramplan
