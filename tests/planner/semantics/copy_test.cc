#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

TEST_CASE("concatenation and copies") {
  CheckOperators({
      // densenet121 CatBackward0: slices of the gradient, no block of their own; they pin it until the last is used.
      {"cat", "dim=1", "x:f[2,4] x:f[2,8]", "f[2,12]", "1+96", "", "g-"},
      {"stack", "dim=0", "x:f[2,4] x:f[2,4]", "f[2,2,4]", "1+64", "", "g-"},
      // swin_t: pad (constant) keeps nothing, ConstantPadNdBackward0 "+602112 -gradient"; reflection keeps its input
      // (derivatives.yaml).
      {"pad", "", "x:f[2,4,8,8]", "f[2,4,10,10]", "1+3200", "", "2+2048 g- 2-"},
      {"pad", "mode=reflect", "x:f[2,4,8,8]", "f[2,4,10,10]", "1+3200", "x", "2+2048 g- x- 2-"},
      // swin_t, roll of two axes "+4816896 +4816896", RollBackward0 "+1204224 +1204224 -first -gradient".
      {"roll", "shifts=[1,1] dims=[1,2]", "x:f[2,8,8]", "f[2,8,8]", "1+512 2+512 1-", "", "3+512 4+512 3- g- 4-"},
      // autoencoder dec.1: pixel_shuffle keeps nothing.
      {"pixel_shuffle", "", "x:f[2,4,8,8]", "f[2,1,16,16]", "1+2048", "", "2+2048 g- 2-"},
      {"repeat", "", "x:f[1,16]", "f[8,16]", "1+512", "", "2+64 g- 2-"},
      {"clone", "", "x:f[2,4]", "f[2,4]", "1+32", "", "g-"},
      {"to", "", "x:f[2,4]", "h[2,4]", "1+16", "", "2+32 g- 2-"},
      {"to", "", "x:f[2,4]", "f[2,4]", "", "", "g-"},
      // compute_output_memory_format: the layout that all parts share.
      {"cat", "dim=1", "x:f[2,4,8,8]@0,2,3,1 x:f[2,4,8,8]@0,2,3,1", "f[2,8,8,8]", "1+4096", "", "g-"},
  });
}

TEST_CASE("slices of a concatenation's gradient meet others out of place") {
  // densenet121, CatBackward0 "+401408 add +25088 add ...": a slice shares its storage, so nothing can be added into
  // it.
  Trial trial;
  eager::Tensor x = trial.Given("x:f[2,4]", "x");
  eager::Tensor y = trial.Run1("relu", "", {x}, "f[2,4]");
  eager::Tensor once = trial.Run1("cat", "dim=1", {y, x}, "f[2,8]");
  eager::Tensor twice = trial.Run1("cat", "dim=1", {y, once}, "f[2,12]");
  CHECK(trial.Events() == "1+32 2+64 3+96");
  eager::Tensor loss = trial.LossOf({twice});
  y = once = twice = x = eager::Tensor();
  trial.Events();
  // The second cat gives y and the first cat slices of g; the first cat gives y a second slice: a new tensor (4) takes
  // the sum. x holds a slice of g when relu's gradient (5) arrives: again a new tensor, then the slice dies, then what
  // arrived (monai_unet_3d: "+262144 add -524288 -262144").
  CHECK(trial.Backward(loss) == "4+32 5+32 4- 1- 6+32 g- 5- 6-");
}

TEST_CASE("a write into a part is nothing new; its gradient is copied whole and in part (CopySlices)") {
  // autograd/functions/tensor.cpp: result = new_empty_strided, grad_slice.clone(). The part is y's gradient.
  CheckOperators({
      {"slice_scatter", "inplace=1 dim=0 update=add", "x:f[8,64] y:f[4,64]", "f[8,64]", "", "",
       "1+2048 2+1024 2- g- 1-"},
      {"slice_scatter", "inplace=1 dim=0 update=fill", "x:f[8,64] -", "f[8,64]", "", "", "1+2048 g- 1-"},
  });
}

TEST_CASE("float and type_as: nothing where the type is the same") {
  CheckOperators({
      {"float", "", "x:f[8,64]", "f[8,64]", "", "", "g-"},
      {"float", "", "x:h[8,64]", "h[8,64]", "1+2048", "", "2+1024 g- 2-"},
      {"half", "", "x:f[8,64]", "f[8,64]", "", "", "g-"},
      {"type_as", "", "x:f[8,64] y:h[8,64]", "h[8,64]", "1+1024", "", "2+2048 g- 2-"},
      // t5_small in fp16, T5Block: isinf, any, where, -limit, clamp; keeps x and two limits of 4 B.
      {"clamp_inf", "", "x:f[8,64]", "f[8,64]", "", "", "g-"},
      {"clamp_inf", "", "x:h[8,64]", "h[8,64]", "1+1024 2+512 1- 3+1 2- 4+4 5+4 6+4 5- 4- 3- 7+4 8+1024", "x 6 7",
       "9+2 10+512 11+512 12+1024 11- 10- 9- g- 6- 7- x- 12-"},
  });
}

}  // namespace
}  // namespace vramplan::testing
