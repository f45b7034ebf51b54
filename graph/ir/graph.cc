#include "graph/ir/graph.h"

#include <set>

namespace vramplan {

std::optional<bool> IsTransposeOf(const StoredTensor& a, const StoredTensor& b) {
  constexpr size_t kSide = 8, kElements = kSide * kSide;
  if (a.grid.size() != kElements || b.grid.size() != kElements || a.dims.size() != 2 || b.dims.size() != 2) {
    return std::nullopt;
  }
  if (a.type != b.type || a.dims[0] != b.dims[1] || a.dims[1] != b.dims[0]) return false;
  for (size_t i = 0; i < kSide; ++i) {
    for (size_t j = 0; j < kSide; ++j) {
      if (a.grid[i * kSide + j] != b.grid[j * kSide + i]) return false;
    }
  }
  // Weights that nobody set are all alike.
  constexpr size_t kFewest = 16;
  if (std::set<uint64_t>(a.grid.begin(), a.grid.end()).size() < kFewest) return std::nullopt;
  return true;
}

}  // namespace vramplan
