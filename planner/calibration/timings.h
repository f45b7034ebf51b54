// Timed work of several sizes, for least squares to tell a card's rates from what every kernel takes beside.
#pragma once

#include <vector>

#include "cuda_probe/probe.h"

namespace vramplan {

// Copies within the card: the largest of 512 MiB, halved while the card has no two such blocks beside its margin (of
// MarginOf), and its halves down to an eighth. None: not even the smallest had room.
Result<std::vector<TimedWork>> TimeCopies(CardSession* session);

// Products of matrices that take some milliseconds, and those of half the work down to an eighth. None: the card cannot
// compute so.
Result<std::vector<TimedWork>> TimeArithmetic(CardSession* session, Arithmetic arithmetic);

}  // namespace vramplan
