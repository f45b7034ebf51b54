#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("normalization") {
  CheckNodes({
      {"BatchNormalization", "training_mode=1", "f[B,64,8,8] f[64] f[64] f[64] f[64]", "f[B,64,8,8] f[64] f[64]"},
      {"BatchNormalization", "", "h[B,64] f[64] f[64] f[64] f[64]", "h[B,64]"},
      {"BatchNormalization", "", "f[B,64,8] f[32] f[32] f[32] f[32]",
       "error: in1 [32] does not fit the channels of in0 [B, 64, 8]"},
      {"LayerNormalization", "axis=-1", "h[B,128,768] h[768]", "h[B,128,768] f[B,128,1] f[B,128,1]"},
      {"LayerNormalization", "axis=1", "f[B,128,768] f[128,768]", "f[B,128,768] f[B,1,1]"},
      {"LayerNormalization", "axis=3", "f[B,128,768] f[768]", "error: axis 3 is outside of a tensor of 3 axes"},
      {"InstanceNormalization", "", "f[B,64,8,8] f[64] f[64]", "f[B,64,8,8]"},
      {"GroupNormalization", "num_groups=8", "f[B,64,8,8] f[64] f[64]", "f[B,64,8,8]"},
      {"RMSNormalization", "", "f[B,128,768] f[768]", "f[B,128,768]"},
      {"LRN", "size=5", "f[B,64,8,8]", "f[B,64,8,8]"},
  });
}

TEST_CASE("reductions") {
  CheckNodes({
      {"ReduceMean", "", "f[B,512,7,7] i[2]=2,3", "f[B,512,1,1]"},
      {"ReduceMean", "opset=13 axes=[-1] keepdims=0", "f[B,512,7]", "f[B,512]"},
      {"ReduceSum", "keepdims=0", "f[B,512]", "f[]"},
      {"ReduceSum", "noop_with_empty_axes=1", "f[B,512]", "f[B,512]"},
      {"ReduceMax", "", "f[B,512] i[1]", "f[?,?]"},
      {"ReduceMax", "keepdims=0", "f[B,512] i[1]", "f"},
      {"ReduceProd", "keepdims=0", "i[3]=B,3,4", "i[]=12*B"},
      {"ReduceMax", "keepdims=0", "i[3]=1,7,4", "i[]=7"},
      {"ReduceMax", "keepdims=0", "f[3]=1,7,4", "f[]=7"},
      {"ReduceMax", "keepdims=0", "f[2]=1.5,7", "f[]"},
      {"ReduceMean", "", "f[B,512] i[1]=2", "error: axis 2 is outside of a tensor of 2 axes"},
      {"ArgMax", "axis=1 keepdims=0", "f[B,512]", "i[B]"},
      {"ArgMin", "axis=-1", "f[B,512]", "i[B,1]"},
  });
}

TEST_CASE("losses") {
  CheckNodes({
      {"SoftmaxCrossEntropyLoss", "", "f[B,10] i[B]", "f[] f[B,10]"},
      {"SoftmaxCrossEntropyLoss", "reduction=none", "f[B,10,5] i[B,5]", "f[B,5]"},
      {"SoftmaxCrossEntropyLoss", "", "f[10] i[5]", "error: its scores are in0 [10]"},
      {"NegativeLogLikelihoodLoss", "reduction=sum", "f[B,10] i[B]", "f[]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
