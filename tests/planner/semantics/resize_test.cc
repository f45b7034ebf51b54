// Lists of requests and releases as PyTorch 2.10 made them on a pretend T4; x is fp32 [4, 8, 16, 16]. The last release
// is that of the arriving gradient.
#include <doctest/doctest.h>

#include "planner/semantics/concat.h"
#include "planner/semantics/view.h"
#include "tests/support/recording_memory.h"

namespace vramplan {
namespace {

TEST_CASE("upsampling keeps nothing") {
  for (const char* op : {"upsample_nearest2d", "upsample_bilinear2d", "upsample_bicubic2d"}) {
    CAPTURE(op);
    OperatorBench bench;
    const auto x = bench.Parameter({4, 8, 16, 16});
    const auto y = bench.Run(op, {x}, {4, 8, 32, 32});
    CHECK(bench.Take() == "+131072");
    bench.Backward(y);
    CHECK(bench.Take() == "+131072 +32768 -131072");
  }
}

TEST_CASE("the output lies like the input") {
  OperatorBench bench;
  const auto made = bench.Constant({4, 8, 16, 16});
  const auto x = bench.eager.AsStrided(made, made->sizes, eager::ChannelsLastStrides(made->lengths));
  const auto y = bench.Run("upsample_bilinear2d", {x}, {4, 8, 32, 32});
  CHECK(y->strides == eager::ChannelsLastStrides(y->lengths));
}

TEST_CASE(
    "a strided input is copied for the nearest kernel, a strided gradient for all (truth/events smp_unet_resnet34)") {
  OperatorBench bench;
  const auto x = Transpose(bench.eager, bench.Constant({4, 8, 16, 16}), 2, 3);
  const auto nearest = bench.Run("upsample_nearest2d", {x}, {4, 8, 32, 32});
  CHECK(bench.Take() == "+131072 +32768 -32768");
  const auto bilinear = bench.Run("upsample_bilinear2d", {x}, {4, 8, 32, 32});
  CHECK(bench.Take() == "+131072");
}

TEST_CASE("a gradient that is a part of a concatenation is copied") {
  OperatorBench bench;
  const auto x = bench.Parameter({4, 8, 16, 16});
  const auto y = bench.Run("upsample_bilinear2d", {x}, {4, 8, 32, 32});
  const auto skip = bench.Constant({4, 8, 32, 32});
  bench.Take();
  const auto joined = eager::Cat(bench.eager, {y, skip}, 1);
  bench.Take();
  bench.Backward(joined);
  CHECK(bench.Take() == "+262144 +32768 +131072 -131072 -262144");
}

TEST_CASE("grid_sample keeps both; the gradient of the grid is made, wanted or not") {
  OperatorBench bench;
  const auto x = bench.Parameter({4, 8, 16, 16}), grid = bench.Parameter({4, 20, 20, 2});
  auto y = bench.Run("grid_sample", {x, grid}, {4, 8, 20, 20});
  CHECK(bench.Take() == "+51200");
  bench.Backward(y);
  CHECK(bench.Take() == "+51200 +32768 +12800 -51200");
  const auto fixed = bench.Constant({4, 20, 20, 2});
  const auto z = bench.Parameter({4, 8, 16, 16});
  y = bench.Run("grid_sample", {z, fixed}, {4, 8, 20, 20});
  bench.Take();
  bench.Backward(y);
  CHECK(bench.Take() == "+51200 +32768 +12800 -12800 -51200");
}

}  // namespace
}  // namespace vramplan
