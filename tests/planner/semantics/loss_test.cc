// Lists of requests and releases as PyTorch 2.10 made them on a pretend T4.
#include "planner/semantics/loss.h"

#include <doctest/doctest.h>

#include "tests/support/recording_memory.h"

namespace vramplan {
namespace {

using LossFunction = eager::Tensor (*)(eager::Eager&, const eager::Tensor&, const eager::Tensor&);

struct LossRow {
  const char* what;
  LossFunction loss;
  Precision precision;
  DType input;
  Shape sizes, target_sizes;
  DType target;
  const char* forward;
  const char* backward;  // from the gradient of the loss on
};

constexpr DType kF32 = DType::kFloat32, kF16 = DType::kFloat16, kLabels = DType::kInt64;
const LossRow kRows[] = {
    {"mse",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::MseLoss(e, a, b); },
     Precision::kFp32,
     kF32,
     {64, 1000},
     {64, 1000},
     kF32,
     "+256000 +256000 -256000",
     "+4 +256000 -4"},
    {"mse of much",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::MseLoss(e, a, b); },
     Precision::kFp32,
     kF32,
     {64, 100000},
     {64, 100000},
     kF32,
     "+25600000 +25600000 +320 +4 -4 -320 -25600000",
     "+4 +25600000 -4"},
    {"smooth l1",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::SmoothL1(e, a, b); },
     Precision::kFp32,
     kF32,
     {64, 1000},
     {64, 1000},
     kF32,
     "+256000 +256000 -256000",
     "+4 +256000 -4"},
    {"l1",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::L1(e, a, b); },
     Precision::kFp32,
     kF32,
     {64, 1000},
     {64, 1000},
     kF32,
     "+256000 +256000 +4 -256000",
     "+4 +256000 +256000 +256000 -256000 -256000 -256000 -4"},
    {"bce",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::Bce(e, a, b); },
     Precision::kFp32,
     kF32,
     {64, 1000},
     {64, 1000},
     kF32,
     "+256000 +4 -4",
     "+4 +256000 -4"},
    {"bce with logits",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::BceLogits(e, a, b); },
     Precision::kFp32,
     kF32,
     {64, 1000},
     {64, 1000},
     kF32,
     "+256000 +256000 +4 -256000 -256000",
     "+4 +256000 -4"},
    {"kl div",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::KlDiv(e, a, b); },
     Precision::kFp32,
     kF32,
     {64, 1000},
     {64, 1000},
     kF32,
     "+256000 +256000 +256000 -256000 -256000 +4 -256000",
     "+4 +256000 +256000 -256000 +256000 -256000 -4"},
    {"nll",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::Nll(e, a, b); },
     Precision::kFp32,
     kF32,
     {64, 1000},
     {64},
     kLabels,
     "+4 +4",
     "+4 +256000 -4 -4"},
    {"cross entropy",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::CrossEntropy(e, a, b); },
     Precision::kFp32,
     kF32,
     {64, 1000},
     {64},
     kLabels,
     "+256000 +4 +4",
     "+4 +256000 -4 +256000 -256000 -256000 -4"},
    {"cross entropy over images",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::CrossEntropy(e, a, b); },
     Precision::kFp32,
     kF32,
     {4, 21, 100, 100},
     {4, 100, 100},
     kLabels,
     "+3360000 +4 +4",
     "+4 +3360000 -4 +3360000 -3360000 -3360000 -4"},
    {"cross entropy over volumes",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::CrossEntropy(e, a, b); },
     Precision::kFp32,
     kF32,
     {2, 3, 10, 10, 10},
     {2, 10, 10, 10},
     kLabels,
     "+24000 +4 +4",
     "+4 +24000 -4 +24000 -24000 -24000 -4"},
    {"autocast: mse",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::MseLoss(e, a, b); },
     Precision::kAmpFp16,
     kF16,
     {64, 1000},
     {64, 1000},
     kF32,
     "+256000 +256000 +256000 -256000",
     "+4 +256000 -256000 +128000 -256000 -4"},
    {"autocast: cross entropy takes the logarithm in half",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::CrossEntropy(e, a, b); },
     Precision::kAmpFp16,
     kF16,
     {64, 1000},
     {64},
     kLabels,
     "+128000 +256000 +4 +4",
     "+4 +256000 -256000 -4 +128000 -256000 +128000 -128000 -128000 -4"},
    {"pure half: cross entropy",
     [](eager::Eager& e, const eager::Tensor& a, const eager::Tensor& b) { return eager::CrossEntropy(e, a, b); },
     Precision::kFp16,
     kF16,
     {64, 1000},
     {64},
     kLabels,
     "+128000 +2 +2",
     "+2 +128000 -2 +128000 -128000 -128000 -2"},
};

TEST_CASE("losses: forward and backward, event by event") {
  for (const LossRow& row : kRows) {
    CAPTURE(row.what);
    OperatorBench bench({}, row.precision);
    const auto input = bench.Parameter(row.sizes, row.input);
    const auto target = bench.Constant(row.target_sizes, row.target);
    const auto loss = row.loss(bench.eager, input, target);
    CHECK(bench.Take() == row.forward);
    bench.Backward(loss);
    CHECK(bench.Take() == row.backward);
  }
}

TEST_CASE("the scalar of mse_loss holds a whole tensor") {
  OperatorBench bench;
  const auto input = bench.Parameter({64, 1000});
  auto loss = eager::MseLoss(bench.eager, input, bench.Constant({64, 1000}));
  bench.Take();
  CHECK(loss->dim() == 0);
  loss = eager::Tensor();
  CHECK(bench.Take() == "-256000 -256000");  // the loss, and the target that only it kept
}

}  // namespace
}  // namespace vramplan
