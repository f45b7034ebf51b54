// Scratch of CUB's device algorithms, which index backwards and sorts call (aten/src/ATen/cuda/cub.cuh).
//
//   radix_sort_pairs of 16384 int64 keys with int64 values on a T4
//     copies of both 2 * 131'072, 8 passes * 256 bins * 8, 6 tiles * 256 bins * 4, alignment: 285'183 B
//
// The formulas are CUB's onesweep sort and decoupled look-back scan (cub/device/dispatch of CCCL); tile sizes were
// fitted to the requests of PyTorch 2.10 (CUDA 12.8) at capabilities 7.5, 8.0, 8.6, 9.0 for 3'073 to 1'048'576 items,
// exact to the byte there.
#pragma once

#include "graph/base/bytes.h"
#include "planner/spec/spec.h"

namespace vramplan::eager {

// Pairs of keys and values sorted by the lowest `bits` of the key.
Bytes RadixSortScratch(Capability card, int64_t items, int key_bytes, int value_bytes, int bits);
Bytes UniqueByKeyScratch(Capability card, int64_t items);
Bytes ExclusiveSumScratch(int64_t items);
// cumsum of one row of elements of this width. Tiles fitted at capability 7.5 for 1 to 10'000'000 items: exact for
// widths 4 and 8, too large for 2 (by half).
Bytes InclusiveScanScratch(int64_t items, int width);
// inclusive_sum_by_key, as topk calls it. Fitted at capability 7.5.
Bytes ScanByKeyScratch(int64_t items);
// masked_select and nonzero of so many flags: one look-back descriptor a tile. Measured at 64 and 512 flags only.
Bytes SelectScratch(int64_t items);
// cuda::cub::get_num_bits: how many bits hold numbers up to n.
int BitsOf(int64_t n);

}  // namespace vramplan::eager
