// Phase: the part of a training loop in which something happens. One list for the steps that are laid out, for the runs that
// are recorded and for their records; none of them has all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vramplan {

enum class Phase : uint8_t {
  kSetup,  // before the first step
  kForward,
  kLoss,       // of a recorded run alone
  kRecompute,  // of a step that is laid out alone: forwards of checkpointed modules in the backward
  kBackward,
  kUpdate,
  kZeroGrad,    // of a recorded run alone
  kEvaluation,  // forwards between steps
};
inline constexpr size_t kPhases = 8;
std::string_view Name(Phase phase);  // "forward", "zero_grad"

// As a step that is laid out has them: the loss belongs to the forward, zero_grad() to the update.
Phase LaidOutPhase(Phase phase);

}  // namespace vramplan
