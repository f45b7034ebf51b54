// The rows of the card catalogue, as plain constants; cards.cc makes Cards() of them. To add a card, add a row to the
// file of its family.
//
// `usable` is the smallest total that a CUDA program was seen to get. `source` begins with how sure that is: O observed
// in a published log, S found in a secondary source, K general knowledge ("~": nobody was seen printing it). Where only
// two decimals of GiB were printed, the value is that number rounded down.
#pragma once

#include <span>

#include "graph/base/bytes.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct CardRow {
  const char* id;
  const char* name;
  const char* aliases;  // separated by commas; one that several rows share is ambiguous
  int marketed_gb;
  Bytes usable;
  Capability capability;
  int multiprocessors;
  double bandwidth_gb_s, fp32_tflops, half_tflops;  // half: dense, accumulating in fp32; 0: no faster than fp32
  const char* source;
};

// "14.56 GiB" as printed in messages.
constexpr Bytes PrintedGiB(double gib) { return Bytes::Of(static_cast<int64_t>(gib * 1073741824.0)); }

std::span<const CardRow> DataCentreCards();
std::span<const CardRow> GeForceCards();
std::span<const CardRow> WorkstationCards();
std::span<const CardRow> AmdCards();

}  // namespace vramplan
