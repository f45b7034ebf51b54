// ScriptNext: what a script needs that does not fit, and what to do: of a second run, on a card that is never full.
//
//   train.py does not fit on Tesla T4: it runs out of memory in the backward of step 1: ...
//     on a card that is never full it takes 19.02 GiB in 3 steps; most of it are activations: 14.20 GiB, 9.10 GiB of
//     them at model.py:12
//     the smallest card that holds it: GeForce RTX 3090 (--gpu rtx-3090)
//     next: --try runs it with changes, --largest batch=1:512 finds the largest {batch} of the command, ...
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/record/record.h"

namespace vramplan {

struct ScriptNext {
  Bytes needs, high;                    // on the card, with its context: likely, and the high end of the band
  int64_t steps = 0;                    // in which it took that
  HighMoment moment;                    // its highest
  std::optional<std::string> smallest;  // "GeForce RTX 3090 (--gpu rtx-3090)"; nothing: no card holds it
  bool tried = false;                   // --try: its table stands below
  Record record;                        // of that run
};

// At most four lines of text.
std::string PrintNext(const ScriptNext& next, int width);

}  // namespace vramplan
