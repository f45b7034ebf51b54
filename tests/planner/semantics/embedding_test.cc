// Lists of requests and releases as PyTorch 2.10 made them on pretend cards.
#include "planner/semantics/embedding.h"

#include <doctest/doctest.h>

#include "planner/semantics/sort_scratch.h"
#include "planner/semantics/view.h"
#include "tests/support/recording_memory.h"

namespace vramplan {
namespace {

TEST_CASE("up to 3072 numbers: a dense gradient and nothing else") {
  OperatorBench bench;
  const auto table = bench.Parameter({1000, 64});
  const auto numbers = bench.Constant({4, 128}, DType::kInt64);
  const auto y = eager::Embedding(bench.eager, table, numbers);
  CHECK(bench.Take() == "+131072");
  bench.Backward(y);
  CHECK(bench.Take() == "+131072 +256000 -131072");
}

TEST_CASE("broadcast numbers are copied, each way") {
  OperatorBench bench;
  const auto table = bench.Parameter({1000, 64});
  const auto numbers = Expand(bench.eager, bench.Constant({1, 128}, DType::kInt64), Shape{4, 128});
  const auto y = eager::Embedding(bench.eager, table, numbers);
  CHECK(bench.Take() == "+4096 +131072 -4096");
  bench.Backward(y);
  CHECK(bench.Take() == "+131072 +4096 +256000 -4096 -131072");
}

TEST_CASE("more numbers are sorted; a segment of equal ones is summed in runs of ten") {
  OperatorBench bench;
  const auto table = bench.Parameter({50257, 64});
  const auto numbers = bench.Constant({16384}, DType::kInt64);
  const auto y = eager::Embedding(bench.eager, table, numbers);
  CHECK(bench.Take() == "+4194304");
  bench.Backward(y);
  CHECK(bench.Take() ==
        "+4194304 +131072 +131072 +131072 +285183 -285183 -131072 +12865792 +131072 +8 +131072 +1791 -1791 -131072 "
        "+131072 +131072 +1279 -1279 +8 +144176 +4613632 -4613632 -144176 -8 -131072 -131072 -8 -131072 -131072 "
        "-131072 -4194304");
}

TEST_CASE("halves are summed in fp32") {
  OperatorBench bench;
  const auto table = bench.Parameter({1000, 64}, DType::kFloat16);
  const auto numbers = bench.Constant({5000}, DType::kInt64);
  const auto y = eager::Embedding(bench.eager, table, numbers);
  bench.Take();
  bench.Backward(y);
  CHECK(
      bench.Take() ==
      "+640000 +40000 +40000 +40000 +99327 -99327 -40000 +128000 +40000 +8 +40000 +1023 -1023 -40000 +8000 +8000 +1023 "
      "-1023 +8 +12000 +384000 -384000 -12000 -8 -8000 -8000 -8 -40000 -40000 -40000 -640000");
}

struct SortRow {
  Capability card;
  int64_t items;
  int64_t radix, unique;
};
constexpr Capability kT4{7, 5}, kA100{8, 0}, kRtx3060{8, 6}, kH100{9, 0};
const SortRow kSortRows[] = {
    {kT4, 3073, 68607, 1023},          {kT4, 4096, 84479, 1023},          {kT4, 5000, 99327, 1023},
    {kT4, 65536, 1090047, 4095},       {kT4, 100000, 1653759, 5887},      {kT4, 1048576, 17176063, 53247},
    {kA100, 3073, 67583, 1023},        {kA100, 16384, 284159, 1023},      {kA100, 100000, 1644543, 1791},
    {kA100, 1048576, 17074687, 10239}, {kRtx3060, 100000, 1644543, 5887}, {kRtx3060, 1048576, 17074687, 53247},
    {kH100, 100000, 1639423, 1279},    {kH100, 1048576, 17027583, 4607},
};

TEST_CASE("scratch of CUB's sort and unique, to the byte") {
  for (const SortRow& row : kSortRows) {
    CAPTURE(ToString(row.card));
    CAPTURE(row.items);
    CHECK(eager::RadixSortScratch(row.card, row.items, 8, 8, 64) == Bytes::Of(row.radix));
    CHECK(eager::UniqueByKeyScratch(row.card, row.items) == Bytes::Of(row.unique));
  }
  CHECK(eager::ExclusiveSumScratch(1000) == Bytes::Of(1023));
  CHECK(eager::ExclusiveSumScratch(16384) == Bytes::Of(1279));
  CHECK(eager::ExclusiveSumScratch(50257) == Bytes::Of(1791));
  CHECK(eager::BitsOf(169) == 8);
  CHECK(eager::BitsOf(1600) == 11);
}

}  // namespace
}  // namespace vramplan
