// HeldNode: who holds the memory at the peak, as a tree: modules along their paths, and in each the categories of what
// belongs to it.
//
//   12.13 GiB  the step
//     9.80 GiB  up
//       4.91 GiB  up.3            "up.3" alone below "up" would be one node, "up.3"
//         4.80 GiB  activations   a leaf: 12 blocks
//
// Invariant: a node is the sum of its children, the root is `requested` at the peak.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/picture/series.h"

namespace vramplan {

struct HeldNode {
  std::string name;  // the last part of the path; of a leaf the category
  Bytes bytes;
  int64_t blocks = 0;
  std::optional<Category> category;  // of a leaf
  std::vector<HeldNode> children;    // the largest first
};

// `most`: of children; the smallest become one, "N more".
HeldNode HeldAt(const Subject& subject, const PeakMoment& moment, size_t most = 64);

}  // namespace vramplan
