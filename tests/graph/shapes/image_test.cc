#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("Resize, Upsample") {
  CheckNodes({
      {"Resize", "", "f[B,64,16,16] - f[4]=1,1,2,2", "f[B,64,32,32]"},
      {"Resize", "", "f[B,64,15,15] - f[4]=1,1,0.5,1.5", "f[B,64,7,22]"},
      {"Resize", "", "f[B,64,16,16] - - i[4]=B,64,20,30", "f[B,64,20,30]"},
      {"Resize", "axes=[2,3]", "f[B,64,16,16] - - i[2]=20,30", "f[B,64,20,30]"},
      {"Resize", "axes=[2,3] keep_aspect_ratio_policy=not_larger", "f[B,64,10,20] - - i[2]=30,30", "f[B,64,15,30]"},
      {"Resize", "axes=[2,3] keep_aspect_ratio_policy=not_smaller", "f[B,64,10,20] - - i[2]=30,30", "f[B,64,30,60]"},
      {"Resize", "", "f[B,64,16,16] f[0] f[0] i[4]=B,64,8,8", "f[B,64,8,8]"},
      {"Resize", "opset=10", "f[B,64,16,16] f[4]=1,1,2,2", "f[B,64,32,32]"},
      {"Resize", "", "f[B,64,16,16] - f[4]", "f[?,?,?,?]"},
      {"Resize", "", "f[B,64,16,16] - f[2]=2,2", "error: it has 2 scales for in0 [B, 64, 16, 16]"},
      {"Upsample", "opset=7 scales=[1.0,1.0,2.0,2.0]", "f[B,64,16,16]", "f[B,64,32,32]"},
      {"Upsample", "opset=9", "f[B,64,16,16] f[4]=1,1,2,2", "f[B,64,32,32]"},
  });
}

TEST_CASE("other image operators") {
  CheckNodes({
      {"DepthToSpace", "blocksize=2", "f[B,64,16,16]", "f[B,16,32,32]"},
      {"DepthToSpace", "blocksize=2", "f[B,6,16,16]",
       "error: the channels of in0 [B, 6, 16, 16] are not a multiple of its block"},
      {"DepthToSpace", "blocksize=0", "f[B,6,16,16]", "error: it moves blocks of 0"},
      {"SpaceToDepth", "blocksize=2", "f[B,16,32,32]", "f[B,64,16,16]"},
      {"GridSample", "", "f[B,3,16,16] f[B,7,9,2]", "f[B,3,7,9]"},
      {"AffineGrid", "", "f[B,2,3] i[4]=B,3,7,9", "f[B,7,9,2]"},
      {"CenterCropPad", "axes=[2,3]", "f[B,3,16,16] i[2]=9,20", "f[B,3,9,20]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
