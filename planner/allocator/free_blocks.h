// FreeBlocks: the free blocks of a pool, ordered by (size, address), so that the best fit (smallest that is large
// enough, then lowest address) is the first one not below (size, 0). A sorted vector: pools hold tens to hundreds of
// free blocks, for which moving a few cache lines is quicker than any tree.
//
//   {(512, 0x600), (512, 0xA00), (2048, 0x200)}.BestFit(600) -> (2048, 0x200)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/base/check.h"

namespace vramplan {

struct FreeBlock {
  int64_t size = 0;
  uint64_t address = 0;
  int32_t block = -1;
};

class FreeBlocks {
 public:
  size_t size() const { return entries_.size(); }
  const FreeBlock& operator[](size_t i) const { return entries_[i]; }
  const std::vector<FreeBlock>& entries() const { return entries_; }

  // Index of the first entry that is not below (size, address); size() if there is none.
  size_t LowerBound(int64_t size, uint64_t address = 0) const {
    const FreeBlock* first = entries_.data();
    size_t length = entries_.size();
    while (length > 0) {  // no branch depends on the comparison
      const size_t half = length / 2;
      const FreeBlock& middle = first[half];
      const bool below = middle.size < size || (middle.size == size && middle.address < address);
      first += below ? half + 1 : 0;
      length = below ? length - half - 1 : half;
    }
    return static_cast<size_t>(first - entries_.data());
  }
  void Insert(FreeBlock entry) {
    entries_.insert(entries_.begin() + static_cast<std::ptrdiff_t>(LowerBound(entry.size, entry.address)), entry);
  }
  void Remove(int64_t size, uint64_t address) {
    const size_t at = LowerBound(size, address);
    VRAMPLAN_CHECK(at < entries_.size() && entries_[at].size == size && entries_[at].address == address);
    RemoveAt(at);
  }
  void RemoveAt(size_t at) { entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at)); }

 private:
  std::vector<FreeBlock> entries_;
};

}  // namespace vramplan
