#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

TEST_CASE("views make no memory; where strides cannot say the sizes a copy is made") {
  CheckOperators({
      {"view", "", "x:f[2,8,16]", "f[16,16]", "", "", "g-"},
      {"permute", "dims=[0,2,1]", "x:f[2,8,16]", "f[2,16,8]", "", "", "g-"},
      {"transpose", "dim0=1 dim1=2", "x:f[2,8,16]", "f[2,16,8]", "", "", "g-"},
      {"squeeze", "", "x:f[2,1,16]", "f[2,16]", "", "", "g-"},
      {"unsqueeze", "", "x:f[2,16]", "f[2,1,16]", "", "", "g-"},
      // swin_t attention, "aten::reshape +4816896 empty".
      {"reshape", "", "x:f[2,8,16]@0,2,1", "f[16,16]", "1+1024", "", "g-"},
      {"reshape", "", "x:f[2,8,16]", "f[256]", "", "", "g-"},
      {"contiguous", "", "x:f[2,8,16]@0,2,1", "f[2,8,16]", "1+1024", "", "g-"},
      {"contiguous", "", "x:f[2,8,16]", "f[2,8,16]", "", "", "g-"},
      // deit_tiny class token, ExpandBackward0 "+1024 sum".
      {"expand", "", "x:f[1,16]", "f[8,16]", "", "", "1+64 g- 1-"},
      // bert_base pooler, SelectBackward0 "+1572864 -gradient": zeros of the whole.
      {"select", "dim=1 index=0", "x:f[2,8,16]", "f[2,16]", "", "", "1+1024 g- 1-"},
      // swin_t, SliceBackward0.
      {"slice", "dim=1 start=0 end=4", "x:f[2,8,16]", "f[2,4,16]", "", "", "1+1024 g- 1-"},
      // gpt2, SplitBackward0 "+2359296 cat -gradient -gradient -gradient".
      {"split", "dim=1", "x:f[2,12]", "f[2,4] f[2,4] f[2,4]", "", "", "1+96 g- g2- g3- 1-"},
      // deit_tiny, UnbindBackward0 "+3631104 stack/cat".
      {"unbind", "dim=0", "x:f[3,2,4]", "f[2,4] f[2,4] f[2,4]", "", "", "1+96 g- g2- g3- 1-"},
  });
}

TEST_CASE("as_strided that gives more than there is looks through windows that overlap") {
  // Recorded, PyTorch 2.10, x [4, 1024, 64] as [4, 2, 768, 64]: "+1048576 +2097152 +3145728 -3145728 -2097152", the
  // storage, places in it and those that the view sees.
  CheckOperators({
      {"as_strided", "", "x:f[2,8,4]", "f[2,2,6,4]", "", "", "1+256 2+512 3+768 3- 2- g- 1-"},
      {"as_strided", "", "x:f[2,4,4]", "f[2,7,4]", "", "", "1+128 2+256 3+448 3- 2- g- 1-"},
      {"as_strided", "", "x:f[2,8,4]", "f[2,4,8]", "", "", "1+256 g- 1-"},
  });
  for (const char* sizes : {"f[2,2,6,4]", "f[2,3,6,4]"}) {  // two windows of six in eight rows do not lie in a row
    Trial trial;
    const eager::Tensor x = trial.Given("x:f[2,8,4]", "x");
    const eager::Tensor windows = trial.Run1("as_strided", "", {x}, sizes);
    CHECK(windows->strides[1] == (windows->lengths[1] == 2 ? 8 : 4));
    trial.Events();
    const eager::Tensor flat = trial.Run1("reshape", "", {windows}, windows->lengths[1] == 2 ? "f[4,6,4]" : "f[6,6,4]");
    CHECK(trial.Events() != "");
  }
}

TEST_CASE("a part without a gradient is zeros in its split") {
  Trial trial;  // split_with_sizes_backward, FunctionsManual.cpp
  eager::Tensor x = trial.Given("x:f[2,12]", "x");
  std::vector<eager::Tensor> parts = trial.Run("split", "dim=1", {x}, "f[2,4] f[2,8]");
  eager::Tensor loss = trial.LossOf({parts[1]});
  parts.clear();
  x = eager::Tensor();
  trial.Events();
  CHECK(trial.Backward(loss) == "1+32 2+96 1- g- 2-");
}

TEST_CASE("a view pins the storage that it looks at") {
  Trial trial;
  eager::Tensor x = trial.Given("x:f[2,8,16]", "x");
  eager::Tensor first = trial.Run1("select", "dim=1 index=0", {x}, "f[2,16]");
  x = eager::Tensor();
  CHECK(trial.Events() == "");
  first = eager::Tensor();
  CHECK(trial.Events() == "x-");
}

}  // namespace
}  // namespace vramplan::testing
