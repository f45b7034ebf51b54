// Lists of requests and releases as PyTorch 2.10 made them on a pretend T4; x is [8, 12, 197, 197].
#include "planner/semantics/softmax.h"

#include <doctest/doctest.h>

#include "planner/semantics/view.h"
#include "tests/support/recording_memory.h"

namespace vramplan {
namespace {

struct SoftmaxRow {
  const char* op;
  Precision precision;
  DType type;
  const char* forward;
  const char* backward;
};

const SoftmaxRow kSoftmaxRows[] = {
    {"softmax", Precision::kFp32, DType::kFloat32, "+14902656",
     "+14902656 +14902656 +14902656 -14902656 -14902656 -14902656"},
    {"log_softmax", Precision::kFp32, DType::kFloat32, "+14902656", "+14902656 +14902656 -14902656 -14902656"},
    {"softmax", Precision::kFp16, DType::kFloat16, "+7451328", "+7451328 +7451328 +7451328 -7451328 -7451328 -7451328"},
    // Autocast: fp16 is converted by the kernel, bfloat16 by a copy.
    {"softmax", Precision::kAmpFp16, DType::kFloat16, "+14902656",
     "+14902656 +7451328 +14902656 -14902656 -14902656 -14902656"},
    {"log_softmax", Precision::kAmpFp16, DType::kFloat16, "+14902656", "+14902656 +7451328 -14902656 -14902656"},
    {"softmax", Precision::kAmpBf16, DType::kBFloat16, "+14902656 +14902656 -14902656",
     "+14902656 +14902656 +14902656 -14902656 +7451328 -14902656 -14902656 -14902656"},
};

TEST_CASE("softmax: forward and backward, event by event") {
  for (const SoftmaxRow& row : kSoftmaxRows) {
    CAPTURE(row.op);
    CAPTURE(static_cast<int>(row.precision));
    OperatorBench bench({}, row.precision);
    const auto x = bench.Parameter({8, 12, 197, 197}, row.type);
    auto y = bench.Run(row.op, {x});
    CHECK(bench.Take() == row.forward);
    bench.Backward(y);
    y = eager::Tensor();
    CHECK(bench.Take() == row.backward);
  }
}

TEST_CASE("a strided input is copied for the kernel") {
  OperatorBench bench;
  const auto x = Transpose(bench.eager, bench.Constant({8, 12, 19, 19}), 1, 2);
  const auto y = bench.Run("softmax", {x});
  CHECK(bench.Take() == "+138624 +138624 -138624");
}

}  // namespace
}  // namespace vramplan
