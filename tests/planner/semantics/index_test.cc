// Lists of requests and releases as PyTorch 2.10 made them on a pretend T4; x is fp32 [16, 100, 64] unless said. The
// last release is that of the arriving gradient, which backward() holds to the end.
#include <doctest/doctest.h>

#include "planner/semantics/view.h"
#include "tests/support/recording_memory.h"

namespace vramplan {
namespace {

constexpr DType kI64 = DType::kInt64;

Attributes Along(int64_t axis) {
  Attributes attributes;
  attributes.Set("dim", axis);
  return attributes;
}

TEST_CASE("reading by number: the gradient is a tensor of the whole") {
  OperatorBench bench;
  const auto x = bench.Parameter({16, 100, 64});
  const auto y = bench.Run("gather", {x, bench.Constant({16, 10, 64}, kI64)}, {16, 10, 64}, Along(1));
  CHECK(bench.Take() == "+40960");
  bench.Backward(y);
  CHECK(bench.Take() == "+40960 +409600 -81920 -40960");  // the numbers go with the tape

  OperatorBench other;
  const auto z = other.Parameter({16, 100, 64});
  const auto selected = other.Run("index_select", {z, other.Constant({30}, kI64)}, {16, 30, 64}, Along(1));
  CHECK(other.Take() == "+122880");
  other.Backward(selected);
  CHECK(other.Take() == "+122880 +409600 -240 -122880");
}

TEST_CASE("index: the numbers are made linear and sorted in backward") {
  // truth/events swin_t, IndexBackward0: the table of relative positions, 49 * 49 numbers.
  OperatorBench bench;
  const auto table = bench.Parameter({169, 3});
  const auto numbers = bench.Constant({2401}, kI64);
  const auto y = bench.Run("index", {table, numbers}, {2401, 3});
  CHECK(bench.Take() == "+28812");
  bench.Backward(y);
  CHECK(bench.Take() ==
        "+28812 +2028 +19208 +19208 -19208 +19208 +19208 +19208 +3583 -3583 -19208 -19208 -19208 -19208 -28812");
}

TEST_CASE("index: numbers that broadcast are copied, and each adds to the linear one") {
  OperatorBench bench;
  const auto x = bench.Parameter({16, 100, 64});
  const auto rows = bench.Constant({16, 1}, kI64), columns = bench.Constant({1, 30}, kI64);
  const auto y = bench.Run("index", {x, rows, columns}, {16, 30, 64});
  CHECK(bench.Take() == "+3840 +3840 +122880 -3840 -3840");
  bench.Backward(y);
  CHECK(bench.Take() ==
        "+122880 +409600 +3840 +3840 -3840 +3840 +3840 -3840 -3840 +3840 +3840 +3840 +1 -1 -3840 -3840 -3840 -3840 "
        "-122880");
}

TEST_CASE("writing by number") {
  OperatorBench bench;
  const auto x = bench.Parameter({16, 100, 64}), source = bench.Parameter({16, 10, 64});
  const auto numbers = bench.Constant({16, 10, 64}, kI64);
  const auto y = bench.Run("scatter", {x, numbers, source}, {16, 100, 64}, Along(1));
  CHECK(bench.Take() == "+409600");
  bench.Backward(y);
  CHECK(bench.Take() == "+409600 +409600 +40960 -409600");
}

TEST_CASE("scatter_ and index_put_ write into what is there") {
  Attributes in_place = Along(1);
  in_place.Set("inplace", int64_t{1});
  OperatorBench bench;
  const auto zeros = bench.Constant({16, 100, 64}), numbers = bench.Constant({16, 10, 64}, kI64);
  const auto y = bench.Run("scatter", {zeros, numbers}, {16, 100, 64}, in_place);
  CHECK(bench.Take() == "");
  const auto mask = bench.Constant({16, 100, 64}, DType::kBool);
  const auto z = bench.Run("index_put", {zeros, mask, eager::Tensor()}, {16, 100, 64}, in_place);
  CHECK(bench.Take() == "");
}

TEST_CASE("cummax: values and int64 places; the operand is kept; zeros of the whole in backward") {
  OperatorBench bench;
  const auto x = bench.Parameter({16, 100, 64});
  const auto y = bench.Run("cummax", {x}, {16, 100, 64}, Along(1), 2);
  CHECK(bench.Take() == "+409600 +819200");
  bench.Backward(y);
  CHECK(bench.Take() == "+409600 +409600 -409600");
}

TEST_CASE("slice_scatter: a copy each way; the gradient of the part is a view, copied for a parameter") {
  OperatorBench bench;
  const auto x = bench.Parameter({16, 100, 64}), source = bench.Parameter({16, 20, 64});
  const auto y = bench.Run("slice_scatter", {x, source}, {16, 100, 64});
  CHECK(bench.Take() == "+409600");
  bench.Backward(y);
  CHECK(bench.Take() == "+409600 +81920 +409600 -81920 +81920 -409600");
}

TEST_CASE("topk and sort: values and int64 places; zeros of the whole in backward") {
  OperatorBench bench;
  const auto x = bench.Parameter({16, 100, 64});
  const auto y = bench.Run("topk", {x}, {16, 100, 5}, Along(-1), 2);
  CHECK(bench.Take() == "+32000 +64000");
  bench.Backward(y);
  CHECK(bench.Take() == "+32000 +409600 -32000");

  OperatorBench sorting;
  const auto z = sorting.Run("sort", {sorting.Constant({16, 100, 64})}, {16, 100, 64}, Along(1), 2);
  CHECK(sorting.Take() == "+409600 +819200 +800 -800 -409600");  // at last the operand, which only the call held
  // Rows of more than 4096: everything sorted by value, then by row.
  const auto rows = sorting.Constant({16, 5000});
  const auto sorted = sorting.Run("sort", {rows}, {16, 5000}, Along(-1), 2);
  CHECK(sorting.Take() ==
        "+320000 +640000 +640000 +640000 +320000 +998399 -998399 -320000 +32255 -32255 -640000 -640000 -819200");
}

TEST_CASE("one_hot and flip") {
  OperatorBench bench;
  const auto numbers = bench.Constant({64}, kI64);
  const auto y = bench.Run("one_hot", {numbers}, {64, 10});
  CHECK(bench.Take() == "+5120");
  const auto x = bench.Parameter({16, 100, 64});
  const auto flipped = bench.Run("flip", {x});
  CHECK(bench.Take() == "+409600");
  bench.Backward(flipped);
  CHECK(bench.Take() == "+409600 +409600 -409600");
}

}  // namespace
}  // namespace vramplan
