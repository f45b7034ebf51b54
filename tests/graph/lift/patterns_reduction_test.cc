#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("reductions and softmax") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4, 6] x) => (float[batch] y) {
      ax1 = Constant <value = int64[1] {1}> ()
      a = Softmax <axis = -1> (x)
      b = ReduceMax <axes = [2], keepdims = 0> (a)
      c = LogSoftmax <axis = 1> (b)
      y = ReduceSum <keepdims = 0> (c, ax1)
    })") == Lines{"softmax(x) -> [B, 4, 6] dim=2", "amax(a) -> [B, 4] dim=[2] keepdim=0",
                  "log_softmax(b) -> [B, 4] dim=1", "sum(c) -> [B] dim=[1] keepdim=0"});
}

}  // namespace
}  // namespace vramplan
