// Sharding: for a model that no plan makes fit: which of its parts alone exceeds the card, and over how many cards ZeRO
// would have to spread them (Rajbhandari et al., ZeRO, SC 2020, section 5: stage 1 shards the optimizer's state, stage
// 2 the gradients too, stage 3 the parameters too).
//
//   parameters 6, gradients 6, state 12, rest 3 GiB on 15 GiB:  stage 1: none, 6 + 6 + 3 is already full
//                                                               stage 2: 3 cards      stage 3: 2 cards
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "planner/timeline/timeline.h"

namespace vramplan {

struct StepParts {
  Bytes parameters, gradients, optimizer_state;  // at their highest
  Bytes rest;                                    // what the step holds beside them at its peak
};
StepParts PartsOf(const Timeline& timeline, int64_t batch);

// The cards that ZeRO stage 1, 2, 3 needs; nothing: no number of cards will do. Without the buckets of the collectives.
std::array<std::optional<int64_t>, 3> CardsUnderZero(const StepParts& parts, Bytes capacity);

// "optimizer states alone need 12.00 GiB"; empty: no part alone fills the capacity.
std::string ExceedsAlone(const StepParts& parts, Bytes capacity);

// "under ZeRO, each card with this batch: 3 cards at stage 2, 2 at stage 3; stage 1 does not fit on any number", or "no
// number of cards helps: activations and temporaries alone need 65.90 GiB".
std::string ZeroInWords(const StepParts& parts, Bytes capacity);

}  // namespace vramplan
