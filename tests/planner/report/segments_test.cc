#include "planner/report/parts/segments.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

constexpr Style kSegmentsPlain{.width = 100, .unicode = false};

SegmentBlock Live(int64_t address, Bytes size) { return {address, size, size, 0}; }
SegmentBlock Free(int64_t address, Bytes size) { return {address, size, Bytes(), -1}; }

// A torn large segment, a cached one, a segment of the small pool: 20 + 16 + 2 MiB, 10.5 MiB live.
PeakSegments Three() {
  constexpr int64_t kMiB = 1 << 20;
  PeakSegments picture;
  picture.segments = {
      {0,
       Bytes::MiB(20),
       false,
       false,
       {Live(0, Bytes::MiB(5)), Free(5 * kMiB, Bytes::MiB(4)), Live(9 * kMiB, Bytes::MiB(5)),
        Free(14 * kMiB, Bytes::MiB(6))}},
      {32 * kMiB, Bytes::MiB(16), false, false, {Free(32 * kMiB, Bytes::MiB(16))}},
      {64 * kMiB,
       Bytes::MiB(2),
       true,
       false,
       {Live(64 * kMiB, Bytes::KiB(512)), Free(64 * kMiB + kMiB / 2, Bytes::KiB(1536))}},
  };
  return picture;
}

TEST_CASE("what is free is a hole, a cached segment or small") {
  const FreeMemory free = FreeIn(Three().segments);
  CHECK_EQ(free, FreeMemory{Bytes::MiB(16), Bytes::MiB(10), Bytes::KiB(1536), Bytes::MiB(6), 1, 1, 1});
}

TEST_CASE("the picture of segments") {
  PeakMoment moment;
  moment.levels = {Bytes::MiB(10), Bytes::KiB(10752), Bytes::MiB(38)};
  moment.slack = Bytes::KiB(512);
  CHECK_EQ(PrintSegments(Three(), moment, kSegmentsPlain), R"(segments at the peak: 3, 38.00 MiB; free 27.50 MiB
10.00 MiB in holes of 1 segment: nothing larger than 6.00 MiB fits there, and no segment goes back
  to the driver before its live blocks die
16.00 MiB in 1 segment wholly free: cached, and given back when the card is full
1.50 MiB in 1 segment of the small pool: only for requests of up to 1 MiB
512.00 KiB inside live blocks: sizes are rounded up to 512 B, and a rest of up to 1 MiB is not split
  off a large block

  segment  pool        size       free  largest hole  # live, . free, : both
        0  large  20.00 MiB  10.00 MiB      6.00 MiB  ########......:#######:.........
        1  large  16.00 MiB  16.00 MiB     16.00 MiB  ................................
        2  small   2.00 MiB   1.50 MiB      1.50 MiB  ########........................
)");
}

}  // namespace
}  // namespace vramplan
