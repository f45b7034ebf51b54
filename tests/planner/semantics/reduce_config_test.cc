#include "planner/semantics/reduce_config.h"

#include <doctest/doctest.h>

#include <initializer_list>

namespace vramplan::eager {
namespace {

Ints Of(std::initializer_list<int64_t> values) {
  Ints ints;
  for (int64_t value : values) ints[ints.n++] = value;
  return ints;
}

constexpr ReduceKernel kFp32Sum{};
constexpr ReduceKernel kFp16Sum{2, 2, 4, 4, false};
constexpr ReduceKernel kBFloat16Max{2, 2, 2, 4, false};
constexpr ReduceKernel kFp16Variance{2, 2, 16, 2, false};
constexpr ReduceKernel kFp32Argmax{4, 8, 16, 4, true};

struct ConfigRow {
  const char* what;
  ReduceCard card;
  ReduceKernel kernel;
  Ints lengths, strides;
  std::vector<int> axes;
  int64_t partial, semaphores;
};

// Each row: what PyTorch 2.10 asked its allocator for, on a pretend card of that capability and size.
const ConfigRow kRows[] = {
    {"bias gradient of linear, truth/events deit_tiny: 192 outputs",
     {40, 1024},
     kFp32Sum,
     Of({1576, 192}),
     Of({192, 1}),
     {0},
     2457600,
     8},
    {"as many rows, 768 outputs", {40, 1024}, kFp32Sum, Of({1576, 768}), Of({768, 1}), {0}, 9830400, 24},
    {"everything, contiguous: one output", {40, 1024}, kFp32Sum, Of({1210368}), Of({1}), {}, 320, 4},
    {"too few inputs for two blocks", {40, 1024}, kFp32Sum, Of({64, 1000}), Of({1000, 1}), {}, 0, 0},
    {"bfloat16 maxes stay 2 bytes, T4",
     {40, 1024},
     kBFloat16Max,
     Of({25128, 2, 16}),
     Of({1, 25128, 50256}),
     {0, 1, 2},
     160,
     4},
    {"the same on an A100", {108, 2048}, kBFloat16Max, Of({197, 256, 128}), Of({256, 1, 50432}), {2, 0}, 25821184, 8},
    {"the same on an RTX 3060", {28, 1536}, kBFloat16Max, Of({512, 512}), Of({512, 1}), {0, 1}, 64, 4},
    {"half sums are kept in fp32", {40, 1024}, kFp16Sum, Of({1210368}), Of({1}), {}, 320, 4},
};

TEST_CASE("scratch of a reduction: partial results and semaphores") {
  for (const ConfigRow& row : kRows) {
    CAPTURE(row.what);
    const ReduceBlocks blocks = ConfigureReduction(row.lengths, row.strides, row.axes, row.kernel, row.card);
    CHECK(blocks == ReduceBlocks{Bytes(), Bytes::Of(row.partial), Bytes::Of(row.semaphores)});
  }
}

TEST_CASE("threads of a multiprocessor by capability") {
  const auto threads = [](int major, int minor) {
    TrainingSpec spec;
    spec.capability = {major, minor};
    return CardOf(spec).threads_per_multiprocessor;
  };
  CHECK(threads(7, 0) == 2048);
  CHECK(threads(7, 5) == 1024);
  CHECK(threads(8, 0) == 2048);
  CHECK(threads(8, 6) == 1536);
  CHECK(threads(8, 9) == 1536);
  CHECK(threads(9, 0) == 2048);
  CHECK(threads(12, 0) == 1536);
}

TEST_CASE("an operand beyond 32-bit offsets is reduced in parts, with an accumulator for halves") {
  const Ints lengths = Of({3, int64_t{1} << 30}), strides = Of({int64_t{1} << 30, 1});
  const ReduceBlocks halves = ConfigureReduction(lengths, strides, {0}, kFp16Sum, {40, 1024});
  CHECK(halves.accumulation == Bytes::Of((int64_t{1} << 30) * 4));
  CHECK(ConfigureReduction(lengths, strides, {0}, kFp32Sum, {40, 1024}).accumulation == Bytes());
}

TEST_CASE("nothing to reduce, nothing asked for") {
  CHECK(ConfigureReduction(Of({0, 8}), Of({8, 1}), {0}, kFp32Sum, {40, 1024}) == ReduceBlocks{});
  CHECK(ConfigureReduction(Of({}), Of({}), {}, kFp32Argmax, {40, 1024}) == ReduceBlocks{});
  CHECK(ConfigureReduction(Of({8, 8}), Of({8, 1}), {1}, kFp16Variance, {40, 1024}) == ReduceBlocks{});
}

}  // namespace
}  // namespace vramplan::eager
