#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("Concat, Split, Tile, Pad") {
  CheckNodes({
      {"Concat", "axis=1", "f[B,3] f[B,4] f[B,?]", "f[B,?]"},
      {"Concat", "axis=-1", "f[B,3] f[?,4]", "f[B,7]"},
      {"Concat", "axis=0", "f[B,3] f[B,3]", "f[2*B,3]"},
      {"Concat", "axis=0", "i[1]=B i[2]=3,-1", "i[3]=B,3,-1"},
      {"Concat", "axis=0", "i[1]=B i[2]", "i[3]=B,?,?"},
      {"Concat", "axis=1", "i[2,1]=1,2 i[2,2]=3,4,5,6", "i[2,3]=1,3,4,2,5,6"},
      {"Concat", "axis=0", "f[2]=1,1 f[2]=0.5,2.5", "f[4]=1,1,0.5,2.5"},
      {"Concat", "axis=1", "f[2,3] f[3,3]", "error: in1 [3, 3] cannot be concatenated with in0 [2, 3]"},
      {"Concat", "axis=1", "f[2,3] f[2]", "error: in1 [2] cannot be concatenated with in0 [2, 3]"},
      {"Concat", "axis=2", "f[2,3]", "error: axis 2 is outside of a tensor of 2 axes"},
      {"Split", "axis=2 num_outputs=3", "f[B,5,12]", "f[B,5,4] f[B,5,4] f[B,5,4]"},
      {"Split", "num_outputs=3", "f[7]", "f[3] f[3] f[1]"},
      {"Split", "axis=1", "f[B,9] i[2]=2,7", "f[B,2] f[B,7]"},
      {"Split", "opset=11 axis=1 split=[2,7]", "f[B,9]", "f[B,2] f[B,7]"},
      {"Split", "axis=0", "f[2*B,9]", "f[B,9] f[B,9]"},
      {"Split", "axis=0", "f[2*B,9] i[2]=2,2", "f[B,9] f[B,9]"},  // of an export at batch 2
      {"Split", "axis=0", "f[3*B,9] i[2]=16,8", "f[2*B,9] f[B,9]"},
      {"Split", "axis=0", "f[2*B,9] i[1]=3", "error: its lengths do not add up to axis 0 of in0 [2*B, 9]"},
      {"Split", "axis=0", "i[2]=B,9", "i[1]=B i[1]=9"},
      {"Split", "axis=1", "f[B,9] i[2]", "f[B,?] f[B,?]"},
      {"Split", "opset=13", "f[7]", "f[7]"},
      {"Tile", "", "f[B,3] i[2]=1,4", "f[B,12]"},
      {"Tile", "", "f[1,3] i[2]=B,1", "f[B,3]"},
      {"Tile", "", "f[B,3] i[1]=4", "error: it does not have one repeat per axis of in0 [B, 3]"},
      {"Tile", "", "i[1]=B i[1]=3", "i[3]=B,B,B"},
      {"Pad", "", "f[B,3,8] i[6]=0,0,1,0,0,2", "f[B,3,11]"},
      {"Pad", "mode=reflect", "f[B,3,8] i[2]=1,-2 - i[1]=2", "f[B,3,7]"},
      {"Pad", "opset=2 pads=[0,1,0,1]", "f[B,3]", "f[B,5]"},
      {"Pad", "", "f[B,3] i[4]", "f[?,?]"},
      {"Pad", "", "f[B,3] i[2]=1,1", "error: it has 2 pads for 2 axes"},
      {"Pad", "", "f[3] i[2]=-2,-2", "error: tensor out0: its shape [-1] has a negative length"},
  });
}

}  // namespace
}  // namespace vramplan::testing
