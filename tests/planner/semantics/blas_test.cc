#include <doctest/doctest.h>

#include "tests/support/one_operator.h"
#include "tests/support/recording_memory.h"

namespace vramplan::testing {
namespace {

TEST_CASE("linear") {
  CheckOperators({
      // mlp stream, layer 0: addmm; backward: mm to the input, mm to the weight, sum to the bias. 2: cuBLAS, 3:
      // cuBLASLt, 5: cuBLAS of the
      // autograd thread (CUDABlas.cpp, handles by thread).
      {"linear", "", "x:f[64,100] p:f[200,100] p:f[200]", "f[64,200]", "1+51200 2+8519680 3+1048576", "x 2 3",
       "4+25600 5+8519680 6+80000 7+800 g- x- 7=.grad 6=.grad 4-"},
      // One row: cuBLAS in 2.10 (peak of F.linear on [1, 8]: 8'519'680 B beside its result), cuBLASLt in 2.6 and 2.15.
      {"linear", "", "c:f[1,100] p:f[200,100] p:f[200]", "f[1,200]", "1+800 2+8519680", "c 2",
       "3+80000 4+8519680 5+800 g- c- 5=.grad 3=.grad"},
      {"linear", "", "c:f[1,100] p:f[200,100] p:f[200]", "f[1,200]", "1+800 2+8519680 3+1048576 3-", "2", "",
       "infer pytorch@2.6"},
      {"linear", "", "c:f[1,100] p:f[200,100] p:f[200]", "f[1,200]", "1+800 2+1048576 2-", "", "",
       "infer pytorch@2.15"},
      // vit, swin: [B, n, k] contiguous runs as [B*n, k]: the same blocks (Linear.cpp _flatten_nd_linear).
      {"linear", "", "x:f[2,8,16] p:f[4,16] p:f[4]", "f[2,8,4]", "1+256 2+8519680 3+1048576", "x 2 3",
       "4+1024 5+8519680 6+256 7+16 g- x- 7=.grad 6=.grad 4-"},
      // mixer_b16 mlp_tokens.fc1: copy of the transposed input, mm, add_; AddBackward0 sums the bias first, then
      // MmBackward0.
      {"linear", "", "x:f[2,8,16]@0,2,1 p:f[4,16] p:f[4]", "f[2,8,4]", "1+1024 2+256 3+8519680", "1 3",
       "4+16 4=.grad 5+256 6+8519680 7+1024 g- 1- 5=.grad 7-"},
      // gpt2 lm_head: no bias: mm; MmBackward0 "+155189248 mm +786432 mm": the weight first.
      {"linear", "", "x:f[2,8,16] p:f[4,16] -", "f[2,8,4]", "1+256 2+8519680", "x 2",
       "3+256 4+8519680 5+1024 g- x- 3=.grad 5-"},
      // The first layer: no gradient of the input (mlp stream: +8000000 mm, +8192 sum).
      {"linear", "", "c:f[64,100] p:f[200,100] p:f[200]", "f[64,200]", "1+51200 2+8519680 3+1048576", "c 2 3",
       "4+80000 5+8519680 6+800 g- c- 6=.grad 4=.grad"},
      {"linear", "", "x:f[64,100] p:f[200,100] p:f[200]", "f[64,200]", "1+51200 2+8519680 3+1048576", "2 3", "",
       "infer"},
  });
}

TEST_CASE("matrix products") {
  CheckOperators({
      // gpt2 Conv1D: addmm with a weight [in, out]: T(a) @ grad lies like the weight and is taken over.
      {"addmm", "", "p:f[4] x:f[16,8] p:f[8,4]", "f[16,4]", "1+256 2+8519680 3+1048576", "x 2 3",
       "4+512 5+8519680 6+128 7+16 g- x- 7=.grad 6=.grad 4-"},
      // Blas.cpp: cuBLASLt's bias epilogue not where a side of the weight is 1.
      {"addmm", "", "p:f[1] x:f[16,8] p:f[8,1]", "f[16,1]", "1+64 2+8519680", "x 2",
       "3+512 4+8519680 5+32 6+4 g- x- 6=.grad 5=.grad 3-"},
      {"mm", "", "x:f[16,8] x:f[8,4]", "f[16,4]", "1+256 2+8519680", "x y 2", "3+128 4+8519680 5+512 g- y- x- 3- 5-"},
      {"bmm", "", "x:f[2,8,16] x:f[2,16,4]", "f[2,8,4]", "1+256 2+8519680", "x y 2",
       "3+512 4+8519680 5+1024 g- y- x- 3- 5-"},
      // Recorded with 2.10: batch1's gradient, the workspace, batch2's, then the sum over the bias that was broadcast.
      {"baddbmm", "", "p:f[2,1,4] x:f[2,8,16] x:f[2,16,4]", "f[2,8,4]", "1+256 2+8519680", "x y 2",
       "3+1024 4+8519680 5+512 6+32 g- x- y- 6=.grad 5- 3-"},
      // Only one side has a gradient: only the other is kept.
      {"bmm", "", "x:f[2,8,16] c:f[2,16,4]", "f[2,8,4]", "1+256 2+8519680", "c 2", "3+1024 4+8519680 g- c- 3-"},
      // swin_t attention, "aten::matmul +empty +empty +bmm": operands whose batch and head axes cannot be folded are
      // copied, and the copies kept.
      {"matmul", "", "x:f[2,4,8,16]@0,2,1,3 x:f[2,4,16,8]@0,3,1,2", "f[2,4,8,8]", "1+4096 2+4096 3+2048 4+8519680",
       "1 2 4", "5+4096 6+8519680 7+4096 g- 2- 1- 5- 7-"},
      // Contiguous: folded by views.
      {"matmul", "", "x:f[2,4,8,16] x:f[2,4,16,8]", "f[2,4,8,8]", "1+2048 2+8519680", "x y 2",
       "3+4096 4+8519680 5+4096 g- y- x- 3- 5-"},
  });
}

TEST_CASE("workspaces of cuBLAS: by thread, capability and version") {
  const char* const inputs = "x:f[64,100] p:f[200,100] p:f[200]";
  CheckOperators({
      // CublasHandlePool.cpp: 32 MiB at capability 9.0.
      {"linear", "", inputs, "f[64,200]", "1+51200 2+33554432 3+1048576", "x 2 3",
       "4+25600 5+33554432 6+80000 7+800 g- x- 7=.grad 6=.grad 4-", "cc9.0"},
      {"linear", "", inputs, "f[64,200]", "1+51200 2+8519680 3+1048576", "x 2 3",
       "4+25600 5+8519680 6+80000 7+800 g- x- 7=.grad 6=.grad 4-", "cc8.6"},
      // 2.6: cuBLASLt's is let go after each call.
      {"linear", "", inputs, "f[64,200]", "1+51200 2+8519680 3+1048576 3-", "x 2",
       "4+25600 5+8519680 6+80000 7+800 g- x- 7=.grad 6=.grad 4-", "pytorch@2.6"},
      // 2.15: both are let go after each call.
      {"linear", "", inputs, "f[64,200]", "1+51200 2+1048576 2-", "x",
       "3+25600 4+8519680 4- 5+80000 6+8519680 6- 7+800 g- x- 7=.grad 5=.grad 3-", "pytorch@2.15"},
  });
  // Kept ones are made once: a second product of the same thread asks for its output alone.
  Trial trial;
  const eager::Tensor x = trial.Given("x:f[16,8]", "x"), y = trial.Given("x:f[8,4]", "y");
  trial.Run("mm", "", {x, y}, "f[16,4]");
  CHECK(trial.Events() == "1+256 2+8519680 1-");
  trial.Run("mm", "", {x, y}, "f[16,4]");
  CHECK(trial.Events() == "3+256 3-");
}

TEST_CASE("einsum: operands change places where the result then has its axes in order") {
  Attributes by;
  by.Set("equation", std::string("bts,bcs->bct"));
  OperatorBench bench;
  const auto a = bench.Parameter({4, 64, 64}), v = bench.Parameter({4, 8, 64});
  const auto y = bench.Run("einsum", {a, v}, {4, 8, 64}, by);
  CHECK(bench.Take() == "+8192 +8519680");
  bench.Backward(y);
  // bmm(v, a transposed): the gradient of a is that of its transposed, and a parameter's is copied to be as it is.
  CHECK(bench.Take() == "+8192 +65536 +8519680 +8192 +65536 -65536 -8192");
}

TEST_CASE("einsum of three: from the left, or in the order that opt_einsum finds cheapest") {
  // Measured with PyTorch 2.10 and opt_einsum 3.4: the product of the first and the last operand, without n, comes first.
  for (const bool cheapest : {false, true}) {
    Attributes by;
    by.Set("equation", std::string("bld,bln,bld->bldn"));
    if (cheapest) by.Set("cheapest_order", int64_t{1});
    OperatorBench bench;
    const auto delta = bench.Parameter({2, 64, 32}), b = bench.Parameter({2, 64, 16}), u = bench.Parameter({2, 64, 32});
    const auto y = bench.Run("einsum", {delta, b, u}, {2, 64, 32, 16}, by);
    CHECK(bench.Take() == (cheapest ? "+16384 +262144" : "+262144 +262144"));
  }
}

TEST_CASE("einsum of three: the first product lives beside its copy until the second is there") {
  // As PyTorch 2.10 asks under no_grad, with the workspace of its first product.
  Attributes by;
  by.Set("equation", std::string("bxi,oij,byj->boxy"));
  OperatorBench bench;
  const auto x = bench.Constant({2, 16, 33}), weight = bench.Constant({3, 33, 33}), y = bench.Constant({2, 16, 33});
  const auto scores = bench.Run("einsum", {x, weight, y}, {2, 3, 16, 16}, by);
  CHECK(bench.Take() == "+13068 +12672 +8519680 -13068 +12672 +6144 -12672 -12672");
}

TEST_CASE("baddbmm without a bias, which the export folded: beta = 0") {
  OperatorBench bench;
  const auto a = bench.Parameter({4, 8, 16}), b = bench.Parameter({4, 16, 8});
  const auto y = bench.Run("baddbmm", {{}, a, b}, {4, 8, 8});
  CHECK(bench.Take() == "+1024 +8519680");
  bench.Backward(y);
  CHECK(bench.Take().find("+2048") != std::string::npos);
}

}  // namespace
}  // namespace vramplan::testing
