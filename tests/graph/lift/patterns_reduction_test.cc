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

TEST_CASE("a maximum whose axis stays is that of max(dim, keepdim=True), one over PointNet's points that of max(dim)") {
  const auto op = [](const std::string& axes, int keepdims, bool normed) {
    const std::string norm =
        normed
            ? "n = BatchNormalization <training_mode = 1> (x, `b.weight`, `b.bias`, `b.running_mean`, `b.running_var`)"
            : "n = Relu (x)";
    const std::string line =
        LiftedLines(
            "agraph (float[batch, 4, 6] x) => (float[batch] y) <float[4] `b.weight`, float[4] `b.bias`, float[4] "
            "`b.running_mean`, float[4] `b.running_var`> {\n" +
            norm + "\n y = ReduceMax <axes = [" + axes + "], keepdims = " + std::to_string(keepdims) + "> (n)\n}")
            .back();
    return line.substr(0, line.find('('));
  };
  CHECK(op("2", 1, false) == "max");
  CHECK(op("2", 0, false) == "amax");
  CHECK(op("1, 2", 1, false) == "amax");
  CHECK(op("2", 0, true) == "max");
}

}  // namespace
}  // namespace vramplan
