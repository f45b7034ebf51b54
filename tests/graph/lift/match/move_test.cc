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

TEST_CASE("pixel shuffles before opset 11 are reshapes around a transpose") {
  const auto lines = [](const std::string& parts, const std::string& perm, const std::string& whole) {
    return LiftedLines("agraph (float[batch, 8, 4, 6] x) => (float y) {\n parts = Constant <value = int64[6] {" +
                       parts + "}> ()\n whole = Constant <value = int64[4] {" + whole +
                       "}> ()\n p = Reshape (x, parts)\n t = Transpose <perm = [" + perm +
                       "]> (p)\n y = Reshape (t, whole)\n}");
  };
  CHECK(lines("-1, 2, 2, 2, 4, 6", "0, 1, 4, 2, 5, 3", "-1, 2, 8, 12") == Lines{"pixel_shuffle(x) -> [B, 2, 8, 12]"});
  CHECK(lines("-1, 8, 2, 2, 3, 2", "0, 1, 3, 5, 2, 4", "-1, 32, 2, 3") == Lines{"pixel_unshuffle(x) -> [B, 32, 2, 3]"});
  CHECK(lines("-1, 2, 4, 1, 4, 6", "0, 1, 4, 2, 5, 3", "-1, 2, 16, 6").size() == 3);  // not square
}

TEST_CASE("a class token joins a batch that was fixed at 1: it was expanded to it") {
  const std::string file = R"(
    agraph (float[1, 3, 8] x) => (float[1, 4, 8] y) <float[1, 1, 8] cls_token> {
      size = Constant <value = int64[3] {1, 1, 8}> ()
      )";
  for (const char* nodes :
       {"e = Expand (cls_token, size)\n y = Concat <axis = 1> (e, x)\n}", "y = Concat <axis = 1> (cls_token, x)\n}"}) {
    const Lines lines = LiftedLines(file + nodes);
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "expand(cls_token) -> [B, 1, 8]");
    CHECK(lines[1].find("-> [B, 4, 8] dim=1") != std::string::npos);
  }
}

}  // namespace
}  // namespace vramplan
