#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

TEST_CASE("binary operators") {
  CheckOperators({
      // derivatives.yaml add: grad to both: no block at all; neither operand is kept.
      {"add", "", "x:f[8,64] x:f[8,64]", "f[8,64]", "1+2048", "", "g-"},
      {"add", "", "x:f[8,64] -", "f[8,64]", "1+2048", "", "g-"},
      {"add", "inplace=1", "x:f[8,64] x:f[8,64]", "f[8,64]", "", "", "g-"},
      // bert_base, AddBackward0 "+393216 sum": a broadcast operand's gradient is summed by validate_outputs.
      {"add", "", "x:f[8,64] p:f[64]", "f[8,64]", "1+2048", "", "2+256 2=.grad g-"},
      {"sub", "", "x:f[8,64] x:f[8,64]", "f[8,64]", "1+2048", "", "2+2048 2- g-"},
      // gpt2, MulBackward0 "+3145728 +3145728 -gradient -saved -saved".
      {"mul", "", "x:f[8,64] x:f[8,64]", "f[8,64]", "1+2048", "x y", "2+2048 3+2048 g- y- x- 2- 3-"},
      {"mul", "", "x:f[8,64] c:f[8,64]", "f[8,64]", "1+2048", "c", "2+2048 g- c- 2-"},
      {"mul", "", "x:f[8,64] -", "f[8,64]", "1+2048", "", "2+2048 g- 2-"},
      // convnext_tiny layer_scale, MulBackward0 "+mul +mul +sum -full -gradient -saved": other's gradient comes first,
      // the full product dies when it is summed.
      {"mul", "", "p:f[64] x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 3+2048 4+256 3- g- x- 4=.grad 2-"},
      {"div", "", "x:f[8,64] -", "f[8,64]", "1+2048", "", "2+2048 g- 2-"},
      // div_tensor_other_grad, FunctionsManual.cpp: -grad * ((self / other) / other).
      {"div", "", "x:f[8,64] x:f[8,64]", "f[8,64]", "1+2048", "x y",
       "2+2048 3+2048 4+2048 5+2048 4- 3- 2- 6+2048 g- y- x- 5- 6-"},
      {"rsub", "", "x:f[8,64] -", "f[8,64]", "1+2048", "", "2+2048 g- 2-"},
      {"rsub", "scalar=1.0", "x:i[8,64] -", "f[8,64]", "1+2048", "", ""},
      // Mixed types: the wider one; the gradient goes back in the operand's own.
      {"add", "", "x:h[8,64] x:f[8,64]", "f[8,64]", "1+2048", "", "2+1024 g- 2-"},
      // Comparisons are not on the tape.
      {"eq", "", "x:f[8,64] x:f[8,64]", "b[8,64]", "1+512", "", ""},
      // derivatives.yaml maximum: masks and halves of the output's size.
      {"where", "", "c:b[8,64] x:f[8,64] x:f[8,64]", "f[8,64]", "1+2048", "c",
       "2+4 3+2048 2- 4+4 5+2048 4- g- c- 3- 5-"},
      {"masked_fill", "", "x:f[8,64] c:b[8,64]", "f[8,64]", "1+2048", "c", "2+2048 g- c- 2-"},
  });
}

TEST_CASE("unary operators keep what their formula names") {
  CheckOperators({
      {"neg", "", "x:f[8,64]", "f[8,64]", "1+2048", "", "2+2048 g- 2-"},
      {"exp", "", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-"},
      {"log", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"abs", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 3+2048 2- g- x- 3-"},
      {"sqrt", "", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 3+2048 2- g- 1- 3-"},
      // llama_160m, RsqrtBackward0 "+pow +mul +mul -mul -pow -gradient -saved".
      {"rsqrt", "", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 3+2048 4+2048 3- 2- g- 1- 4-"},
      {"sin", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 3+2048 2- g- x- 3-"},
      {"cos", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 3+2048 4+2048 3- 2- g- x- 4-"},
      // gpt2 mlp.act, PowBackward0 "+pow +mul +mul -mul -pow -gradient -saved".
      {"pow", "scalar=3.0", "x:f[8,64] -", "f[8,64]", "1+2048", "x", "2+2048 3+2048 4+2048 3- 2- g- x- 4-"},
      {"floor", "", "x:f[8,64]", "f[8,64]", "1+2048", "", "2+2048 g- 2-"},
      {"cumsum", "", "c:i[8,64]", "i[8,64]", "1+4096", "", ""},
  });
}

TEST_CASE("a running sum reads rows: what does not lie so is copied for the kernel") {
  // cumsum of an einsum's permuted result, PyTorch 2.10: the result, the copy, and the copy goes.
  Trial trial;
  const eager::Tensor x = trial.Given("x:f[8,64]", "x");
  const eager::Tensor turned = trial.Run1("transpose", "dim0=0 dim1=1", {x}, "f[64,8]");
  CHECK(trial.Events().empty());
  const eager::Tensor sum = trial.Run1("cumsum", "dim=0", {turned}, "f[64,8]");
  CHECK(trial.Events() == "1+2048 2+2048 2-");
  CHECK(eager::IsContiguous(*sum));
}

TEST_CASE("residual addition: one gradient for both ways, met in place") {
  // resnet18 and vit streams: AddBackward0 has no block; the branch's gradient meets the shared one.
  Trial trial;
  eager::Tensor x = trial.Given("x:f[8,64]", "x");
  eager::Tensor y = trial.Run1("gelu", "", {x}, "f[8,64]");
  eager::Tensor sum = trial.Run1("add", "", {x, y}, "f[8,64]");
  CHECK(trial.Events() == "1+2048 2+2048");
  eager::Tensor loss = trial.LossOf({sum});
  x = y = sum = eager::Tensor();
  trial.Events();
  CHECK(trial.log.Alive() == "x");
  // g waits at x and is used by gelu; gelu lets go of it, then its result is added into g.
  CHECK(trial.Backward(loss) == "3+2048 x- 3- g-");
}

}  // namespace
}  // namespace vramplan::testing
