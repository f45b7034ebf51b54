// Others: the processes of somebody else on a card, as its description has them. They come and go: what they hold may
// change from one look at the card from outside to the next, and one of them may be this program's newest child.
#pragma once

#include <cstdint>

#include "pretend/card/description.h"

namespace pretend {

int64_t PidOf(const Holder& holder);              // 0: it is not there
int64_t BytesOf(const Holder& holder, int look);  // after so many looks; 0: it is not there

// What all of them hold.
int64_t BytesOfHolders(const Card& card, int look);

}  // namespace pretend
