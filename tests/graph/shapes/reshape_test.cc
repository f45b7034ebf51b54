#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("Reshape") {
  CheckNodes({
      {"Reshape", "", "f[B,3,4] i[2]=0,-1", "f[B,12]"},
      {"Reshape", "", "f[B,3,4] i[2]=-1,4", "f[3*B,4]"},
      {"Reshape", "", "f[B,128,768] i[4]=B,128,12,-1", "f[B,128,12,64]"},
      {"Reshape", "", "f[12*B,128,64] i[4]=-1,12,128,64", "f[B,12,128,64]"},
      {"Reshape", "", "f[B,6] i[3]=?,2,3", "f[B,2,3]"},  // a single unknown length follows
      {"Reshape", "", "f[B,6] i[3]=?,?,3", "f[?,?,3]"},
      {"Reshape", "", "f[B,6] i[3]", "f[?,?,?]"},
      {"Reshape", "", "f[B,6] i", "f"},
      {"Reshape", "", "f i[2]=3,-1", "f[3,?]"},
      {"Reshape", "allowzero=1", "f[0,3] i[2]=3,0", "f[3,0]"},
      {"Reshape", "opset=1 shape=[0,-1]", "f[B,2,2]", "f[B,4]"},
      {"Reshape", "", "i[2]=B,3 i[2]=1,2", "i[1,2]=B,3"},
      {"Reshape", "", "f[] i[1]=1", "f[1]"},
      {"Reshape", "", "f[2,3] i[2]=4,2", "error: in0 [2, 3] cannot become [4, 2]"},
      {"Reshape", "", "f[2,3] i[2]=4,-1", "error: in0 [2, 3] cannot become [4, -1]"},
      {"Reshape", "", "f[2,3] i[2]=-1,-1", "error: its shape [-1, -1] has -1 twice"},
      {"Reshape", "", "f[2,3] i[2]=-2,3", "error: its shape [-2, 3] has a negative length"},
      {"Reshape", "", "f[2,3] i[3]=2,3,0", "error: it copies axis 2 of in0 [2, 3]"},
      {"Reshape", "", "f[B,4611686018427387904] i[1]=-1",
       "error: tensor out0: its shape [4611686018427387904*B] is overflowing"},
      {"Reshape", "", "f[4] i[9]=1,1,1,1,1,1,1,1,4", "error: it asks for 9 axes; at most 8 are understood"},
  });
}

TEST_CASE("Flatten, Squeeze, Unsqueeze, Transpose, Expand") {
  CheckNodes({
      {"Flatten", "", "f[B,3,4]", "f[B,12]"},
      {"Flatten", "axis=0", "f[B,3,4]", "f[1,12*B]"},
      {"Flatten", "axis=-1", "f[B,3,4]", "f[3*B,4]"},
      {"Flatten", "axis=3", "f[B,3,4]", "f[12*B,1]"},
      {"Flatten", "axis=4", "f[B,3,4]", "error: axis 4 is outside of in0 [B, 3, 4]"},
      {"Squeeze", "", "f[B,1,4] i[1]=1", "f[B,4]"},
      {"Squeeze", "opset=11 axes=[-2]", "f[B,1,4]", "f[B,4]"},
      {"Squeeze", "", "f[B,1,4,1]", "f[B,4]"},
      {"Squeeze", "", "f[B,?]", "f"},
      {"Squeeze", "", "f[B,4] i[1]=1", "error: it removes axis 1 of in0 [B, 4], whose length is not 1"},
      {"Squeeze", "", "f[B,4] i[1]=0", "error: it removes axis 0 of in0 [B, 4], whose length is the batch"},
      {"Squeeze", "", "i[1]=B i[1]=0", "i[]=B"},
      {"Unsqueeze", "", "f[B,4] i[2]=0,-1", "f[1,B,4,1]"},
      {"Unsqueeze", "opset=11 axes=[1]", "f[B,4]", "f[B,1,4]"},
      {"Unsqueeze", "", "i[]=B i[1]=0", "i[1]=B"},
      {"Unsqueeze", "", "f[4] i[2]=0,0", "error: its axes repeat"},
      {"Unsqueeze", "", "f[4] i[1]=2", "error: axis 2 is outside of a tensor of 2 axes"},
      {"Unsqueeze", "", "f[1,1,1,1,1,1,1,1] i[1]=0", "error: its output has 9 axes; at most 8 are understood"},
      {"Transpose", "perm=[0,2,1]", "f[B,3,4]", "f[B,4,3]"},
      {"Transpose", "", "f[B,3,4]", "f[4,3,B]"},
      {"Transpose", "", "i[2,3]=1,2,3,4,5,6", "i[3,2]=1,4,2,5,3,6"},
      {"Transpose", "perm=[0,0]", "f[2,3]", "error: its perm is not a permutation of the axes of in0 [2, 3]"},
      {"Expand", "", "f[1,3] i[3]=B,5,1", "f[B,5,3]"},
      {"Expand", "", "f[B,3] i[1]=1", "f[B,3]"},
      {"Expand", "", "i[1]=B i[1]=2", "i[2]=B,B"},
      {"Expand", "", "f[3] i[1]=4", "error: the shapes [3] and [4] do not broadcast"},
      {"Expand", "", "f[1] i[1]=-4", "error: its shape has a negative length"},
  });
}

}  // namespace
}  // namespace vramplan::testing
