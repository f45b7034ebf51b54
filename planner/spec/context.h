// Context: the device memory a process takes outside its allocator: the CUDA context, and the kernels and handles that
// a step loads. No two drivers agree, so it is a band: `likely` goes into totals, `high` decides between "fits" and
// "tight".
//
//   ContextOf({7, 5}, {2, 10})   195 / 350 / 450 MiB on a T4
//   device              = reserved + likely
#pragma once

#include <string>

#include "graph/base/bytes.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct ContextBand {
  Bytes low, likely, high;  // low <= likely <= high
  std::string source;
  bool operator==(const ContextBand&) const = default;
};

// For PyTorch 2.0-2.15 on Linux, which load kernels lazily: what else lives outside the allocator (library handles) is
// in it. `nvidia` false: an AMD card.
ContextBand ContextOf(Capability capability, Framework framework, bool nvidia = true);

// What the user measured (--context SIZE): a band without width.
ContextBand GivenContext(Bytes bytes);

}  // namespace vramplan
