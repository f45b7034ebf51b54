#include "planner/semantics/sort_scratch.h"

#include <algorithm>

namespace vramplan::eager {
namespace {

constexpr int64_t kAlignment = 256;
// Every part is aligned; the first may start anywhere, which costs another 255 bytes.
int64_t Aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }
int64_t SortTilesOf(int64_t items, int64_t tile) { return (items + tile - 1) / tile; }

// Items that one block of threads sorts, by the width of keys (values: 8 bytes).
int64_t RadixTile(Capability card, int key_bytes) {
  if (card >= Capability{9, 0}) return key_bytes == 8 ? 4608 : 5376;
  if (card >= Capability{8, 0}) return key_bytes == 8 ? 3840 : 3072;
  return 2816;
}

int64_t UniqueTile(Capability card) {
  if (card >= Capability{9, 0}) return 2240;
  return card == Capability{8, 0} ? 896 : 160;
}

// Look-back descriptors: 8 bytes a tile, and a warp of padding.
Bytes LookBack(int64_t tiles) { return Bytes::Of(2 * kAlignment - 1 + Aligned(8 * (tiles + 32))); }

}  // namespace

Bytes RadixSortScratch(Capability card, int64_t items, int key_bytes, int value_bytes, int bits) {
  constexpr int64_t kSingleTile = 2048;  // between 480 and 2401 items (measured): one block, no scratch
  if (items <= kSingleTile) return Bytes::Of(1);
  constexpr int64_t kBins = 256;
  const int64_t passes = (bits + 7) / 8;
  const int64_t tiles = SortTilesOf(items, RadixTile(card, key_bytes));
  int64_t bytes = 2 * kAlignment - 1 + passes * kBins * 8 + tiles * kBins * 4;
  if (passes > 1)
    bytes += Aligned(SaturatingMultiply(items, key_bytes)) + Aligned(SaturatingMultiply(items, value_bytes));
  return Bytes::Of(bytes);
}

Bytes UniqueByKeyScratch(Capability card, int64_t items) { return LookBack(SortTilesOf(items, UniqueTile(card))); }

Bytes ExclusiveSumScratch(int64_t items) { return LookBack(SortTilesOf(items, 448)); }

Bytes InclusiveScanScratch(int64_t items, int width) {
  const int64_t descriptors = width == 8 ? 16 * (SortTilesOf(items, 896) + 16) : 8 * SortTilesOf(items, 1920);
  return Bytes::Of(2 * kAlignment - 1 + Aligned(std::max<int64_t>(descriptors, 1)));
}

Bytes ScanByKeyScratch(int64_t items) {
  return Bytes::Of(2 * kAlignment - 1 + Aligned(16 * (SortTilesOf(items, 1152) + 32)));
}

Bytes SelectScratch(int64_t items) { return InclusiveScanScratch(items, 4); }

int BitsOf(int64_t n) {
  int bits = 1;
  while (bits < 63 && (n >> bits) != 0) ++bits;
  return bits;
}

}  // namespace vramplan::eager
