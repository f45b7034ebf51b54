// Lists of requests and releases as PyTorch 2.10 made them on a pretend T4; x is fp32 [16, 100, 64] unless said.
#include "planner/semantics/reduction.h"

#include <doctest/doctest.h>

#include "tests/support/recording_memory.h"

namespace vramplan {
namespace {

struct ReductionRow {
  const char* op;
  std::vector<int64_t> dim;
  Shape output;
  const char* forward;
  const char* backward;  // without the arriving gradient
};

// The last release is that of the arriving gradient, which backward() holds to the end.
const ReductionRow kRows[] = {
    {"mean", {1, 2}, {16}, "+64", "+409600 -64"},
    {"mean", {-1}, {16, 100}, "+6400", "+409600 -6400"},
    {"amax", {1, 2}, {16}, "+64", "+102400 +128 +819200 -819200 +64 +409600 -64 -128 -102400 -64"},
    {"max", {1}, {16, 64}, "+4096 +8192", "+409600 -8192 -4096"},
    {"var", {-1}, {16, 100}, "+6400", "+6400 +409600 +6400 +409600 -6400 -409600 -6400 -6400"},
    {"std",
     {1},
     {16, 64},
     "+4096",
     "+4096 +4096 +1024 -1024 -4096 +4096 +409600 +4096 +409600 -4096 -409600 -4096 -4096 -4096"},
    {"norm", {-1}, {16, 100}, "+6400", "+409600 +1600 +409600 -1600 -409600 -6400"},
    {"logsumexp",
     {-1},
     {16, 100},
     "+6400 +6400 +1600 -1600 -6400 +409600 +6400 -409600 -6400",
     "+409600 +409600 +409600 -409600 -409600 -6400"},
    {"prod",
     {-1},
     {16, 100},
     "+6400",
     "+102400 +12800 +819200 -819200 +8 -8 +409600 +409600 -409600 -12800 -102400 -6400"},
    {"argmax", {-1}, {16, 100}, "+12800", nullptr},
};

TEST_CASE("reductions: forward and backward, event by event") {
  for (const ReductionRow& row : kRows) {
    CAPTURE(row.op);
    OperatorBench bench;
    const auto x = bench.Parameter({16, 100, 64});
    Attributes attributes;
    attributes.Set("dim", row.dim);
    const auto y = bench.Run(row.op, {x}, row.output, attributes);
    CHECK(bench.Take() == row.forward);
    if (row.backward == nullptr) continue;
    bench.Backward(y);
    // The arriving gradient is the first request, and the last release.
    const std::string events = bench.Take();
    const std::string arriving = "+" + std::to_string(y->numel() * 4) + " ";
    REQUIRE(events.substr(0, arriving.size()) == arriving);
    CHECK(events.substr(arriving.size()) == row.backward);
  }
}

TEST_CASE("sum: its gradient is a view; a parameter gets a copy of it") {
  OperatorBench bench;
  const auto x = bench.Parameter({16, 100, 64});
  Attributes attributes;
  attributes.Set("dim", std::vector<int64_t>{1});
  const auto y = bench.Run("sum", {x}, {16, 64}, attributes);
  CHECK(bench.Take() == "+4096");
  bench.Backward(y);
  CHECK(bench.Take() == "+4096 +409600 -4096");
}

TEST_CASE("autocast sums halves into fp32 while reading; the gradient is converted") {
  OperatorBench bench({}, Precision::kAmpFp16);
  const auto x = bench.Parameter({4, 8, 16, 16}, DType::kFloat16);
  Attributes attributes;
  attributes.Set("dim", std::vector<int64_t>{1});
  const auto y = bench.Run("sum", {x}, {4, 16, 16}, attributes);
  CHECK(bench.Take() == "+4096");
  bench.Backward(y);
  CHECK(bench.Take() == "+4096 +16384 -4096");
}

TEST_CASE("sum of a mask converts it to int64 first (truth/events textcnn, AmaxBackward0)") {
  OperatorBench bench;
  const auto mask = bench.Constant({16, 100, 124}, DType::kBool);
  const auto count = eager::SumKernel(bench.eager, mask, {2}, true);
  CHECK(bench.Take() == "+12800 +1587200 -1587200");
}

TEST_CASE("sum of rows: output, partial results, semaphores; released the other way round (truth/events deit_tiny)") {
  OperatorBench bench;
  const auto grad = bench.Constant({1576, 192});
  const auto sum = eager::SumKernel(bench.eager, grad, {0}, false);
  CHECK(bench.Take() == "+768 +2457600 +8 -8 -2457600");
}

}  // namespace
}  // namespace vramplan
