#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("a roll of two axes is two pairs of slices, each joined") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 8, 8, 4] x) => (float[batch, 8, 8, 4] y) {
      three = Constant <value = int64[1] {3}> ()
      zero = Constant <value = int64[1] {0}> ()
      end = Constant <value = int64[1] {9223372036854775807}> ()
      one = Constant <value = int64[1] {1}> ()
      two = Constant <value = int64[1] {2}> ()
      a = Slice (x, three, end, one)
      b = Slice (x, zero, three, one)
      c = Concat <axis = 1> (a, b)
      d = Slice (c, three, end, two)
      e = Slice (c, zero, three, two)
      y = Concat <axis = 2> (d, e)
    })") == Lines{"roll(x) -> [B, 8, 8, 4] dims=[1,2] shifts=[-3,-3]"});
}

TEST_CASE("cat, pad in torch order, pixel shuffle, casts that change something") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4, 2, 2] x) => (float16[batch, 2, 6, 7] y) {
      pads = Constant <value = int64[8] {0, 0, 0, 1, 0, 0, 2, 2}> ()
      c = Concat <axis = -3> (x, x)
      p = DepthToSpace <blocksize = 2> (c)
      q = Pad (p, pads)
      n = Cast <to = 1> (q)
      y = Cast <to = 10> (n)
    })") == Lines{"cat(x, x) -> [B, 8, 2, 2] dim=1", "pixel_shuffle(c) -> [B, 2, 4, 4]",
                  "pad(p) -> [B, 2, 6, 7] mode=constant pad=[1,2,0,2]", "to(q) -> [B, 2, 6, 7]"});
}

}  // namespace
}  // namespace vramplan
