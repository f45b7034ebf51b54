// Levels: PyTorch's three counters of a moment, or the highest of each: memory_stats()["requested_bytes.all"], what tensors
// and workspaces asked for; "allocated_bytes.all", the blocks that they were given; "reserved_bytes.all", the segments taken
// from the driver. requested <= allocated <= reserved at any moment.
#pragma once

#include "graph/base/bytes.h"

namespace vramplan {

struct Levels {
  Bytes requested, allocated, reserved;
  bool operator==(const Levels&) const = default;
};

}  // namespace vramplan
