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

TEST_CASE(
    "a maximum whose axis stays is that of max(dim, keepdim=True), one over points or their neighbours that of "
    "max(dim)") {
  const auto op = [](const std::string& sizes, const std::string& axes, int keepdims, const std::string& maker) {
    const std::string norm =
        maker == "norm"
            ? "n = BatchNormalization <training_mode = 1> (x, `b.weight`, `b.bias`, `b.running_mean`, `b.running_var`)"
            : "n = " + maker + " (x)";
    const std::string line =
        LiftedLines("agraph (float[batch, " + sizes +
                    "] x) => (float[batch] y) <float[4] `b.weight`, float[4] `b.bias`, float[4] `b.running_mean`, "
                    "float[4] `b.running_var`> {\n" +
                    norm + "\n y = ReduceMax <axes = [" + axes + "], keepdims = " + std::to_string(keepdims) +
                    "> (n)\n}")
            .back();
    return line.substr(0, line.find('('));
  };
  CHECK(op("4, 6", "2", 1, "Relu") == "max");
  CHECK(op("4, 6", "2", 0, "Relu") == "amax");  // words, as the zoo's textcnn says it
  CHECK(op("4, 6", "1, 2", 1, "Relu") == "amax");
  CHECK(op("4, 6", "2", 0, "norm") == "max");          // PointNet
  CHECK(op("4, 6, 8", "2", 0, "Relu") == "max");       // PointNet++
  CHECK(op("4, 6, 8", "3", 0, "LeakyRelu") == "max");  // DGCNN
  CHECK(op("4, 6, 8", "3", 0, "Abs") == "amax");
  CHECK(op("4, 6, 8", "2, 3", 0, "Relu") == "amax");
}

}  // namespace
}  // namespace vramplan
