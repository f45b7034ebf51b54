#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("Gather and its kin") {
  CheckNodes({
      {"Gather", "", "f[30522,768] i[B,128]", "f[B,128,768]"},
      {"Gather", "axis=1", "f[B,197,768] i[]=0", "f[B,768]"},
      {"Gather", "axis=-1", "f[B,4] i[2]", "f[B,2]"},
      {"Gather", "", "i[3]=B,128,768 i[]=-1", "i[]=768"},
      {"Gather", "", "i[3]=B,128,768 i[2]=0,2", "i[2]=B,768"},
      {"Gather", "axis=1", "i[2,2]=1,2,3,4 i[]=1", "i[2]=2,4"},
      {"Gather", "", "i[3]=B,128,768 i[]=3", "error: its index 3 is outside of in0 [3]"},
      {"Gather", "axis=3", "f[B,4] i[]", "error: axis 3 is outside of a tensor of 2 axes"},
      {"Gather", "", "f[1,2,3,4,5] i[1,2,3,4,5]", "error: its output has 9 axes; at most 8 are understood"},
      {"GatherElements", "axis=1", "f[B,9] i[B,3]", "f[B,3]"},
      {"GatherND", "", "f[B,4,5] i[7,2]", "f[7,5]"},
      {"GatherND", "batch_dims=1", "f[B,4,5] i[B,7,1]", "f[B,7,5]"},
      {"GatherND", "", "f[B,4] i[7,3]", "error: in1 [7, 3] cannot index in0 [B, 4]"},
  });
}

TEST_CASE("Slice") {
  CheckNodes({
      {"Slice", "", "f[B,10] i[1]=2 i[1]=5 i[1]=1", "f[B,3]"},
      {"Slice", "", "f[B,10] i[1]=-3 i[1]=9223372036854775807 i[1]=1", "f[B,3]"},
      {"Slice", "", "f[B,10] i[1]=0 i[1]=2147483647 i[1]=0", "f[B,10]"},
      {"Slice", "", "f[B,10] i[1]=0 i[1]=-1 i[1]=1", "f[B,9]"},
      {"Slice", "", "f[B,10] i[1]=0 i[1]=10 i[1]=1 i[1]=3", "f[B,4]"},
      {"Slice", "", "f[B,10] i[1]=-1 i[1]=-9223372036854775807 i[1]=1 i[1]=-1", "f[B,10]"},
      {"Slice", "", "f[B,10] i[1]=7 i[1]=2 i[1]=1 i[1]=-2", "f[B,3]"},
      {"Slice", "", "f[B,10] i[1]=8 i[1]=2 i[1]=1", "f[B,0]"},
      {"Slice", "", "f[B,10] i[1]=0 i[1]=1 i[1]=0", "f[1,10]"},  // the batch is at least 1
      {"Slice", "", "f[B,10] i[1]=0 i[1]=2 i[1]=0", "f[?,10]"},
      {"Slice", "", "f[2*B,10] i[1]=B i[1]=2*B i[1]=0", "f[B,10]"},
      {"Slice", "", "f[B,10] i[1] i[1] i[1]=1", "f[B,?]"},
      {"Slice", "", "f[B,10] i[1] i[1] i[1]", "f[?,?]"},
      {"Slice", "opset=9 starts=[1,2] ends=[3,4] axes=[1,2]", "f[B,10,10]", "f[B,2,2]"},
      {"Slice", "", "i[4]=B,3,224,224 i[1]=2 i[1]=4 i[1]=0", "i[2]=224,224"},
      {"Slice", "", "i[3]=1,2,3 i[1]=-1 i[1]=-9223372036854775807 i[1]=0 i[1]=-1", "i[3]=3,2,1"},
      {"Slice", "", "f[B,10] i[1]=0 i[1]=1 i[1]=1 i[1]=0", "error: its step is 0"},
      {"Slice", "", "f[B,10] i[2]=0,0 i[1]=1 i[2]=0,1", "error: it does not have as many starts as ends"},
      {"Slice", "", "f[B,10] i[1]=0 i[1]=1 i[1]=2", "error: axis 2 is outside of a tensor of 2 axes"},
  });
}

TEST_CASE("Scatter, TopK, NonZero, OneHot and the rest") {
  CheckNodes({
      {"ScatterND", "", "f[B,9] i[3,2] f[3]", "f[B,9]"},
      {"ScatterElements", "", "f[B,9] i[B,1] f[B,1]", "f[B,9]"},
      {"ScatterElements", "", "i[3]=B,64,64 i[1]=-2 i[1]=8", "i[3]=B,8,64"},
      {"ScatterElements", "", "i[3]=B,64,64 i[1]=3 i[1]=8", "i[3]"},
      {"Trilu", "", "f[8,8] i[]", "f[8,8]"},
      {"CumSum", "", "f[B,9] i[]", "f[B,9]"},
      {"TopK", "", "f[B,100] i[1]=5", "f[B,5] i[B,5]"},
      {"TopK", "opset=1 k=3 axis=0", "f[100]", "f[3] i[3]"},
      {"TopK", "", "f[B,100] i[1]", "f[B,?] i[B,?]"},
      {"NonZero", "", "f[B,9]", "i[2,?]"},
      {"NonZero", "", "i[4]=1,0,B,2", "i[1,3]"},
      {"NonZero", "", "i[4]=1,0,3,2", "i[1,3]=0,2,3"},
      {"OneHot", "", "i[B,7] i[]=10 f[2]", "f[B,7,10]"},
      {"OneHot", "axis=1", "i[B,7] f[1]=10 f[2]", "f[B,10,7]"},
      {"OneHot", "", "i[1]=1 i[]=4 i[2]=1,64", "i[1,4]=1,64,1,1"},  // repeats of torch.repeat_interleave(64, dim=0)
      {"OneHot", "", "i[1]=-1 i[]=3 i[2]=1,B", "i[1,3]=1,1,B"},
      {"OneHot", "", "i[1]=7 i[]=3 i[2]=1,2", "i[1,3]=1,1,1"},
      {"Compress", "axis=1", "f[B,7] b[7]", "f[B,?]"},
      {"Compress", "", "f[B,7] b[7]", "f[?]"},
      {"Compress", "axis=1", "f[B,7] b[4]=1,0,1,1", "f[B,3]"},
      {"Unique", "", "f[B,7]", "f[?] i[?] i[7*B] i[?]"},
      {"Unique", "axis=1", "f[B,1]", "f[B,1] i[1] i[1] i[1]"},
      {"ReverseSequence", "", "f[9,B] i[B]", "f[9,B]"},
  });
}

TEST_CASE("what data decides, at most") {
  CheckNodes({
      {"NonZero", "bounds=1", "f[B,9]", "i[2,9*B]"},
      {"Compress", "axis=1 bounds=1", "f[B,7] b[5]", "f[B,5]"},
      {"Compress", "bounds=1", "f[B,7] b[?]", "f[7*B]"},
      {"Unique", "bounds=1", "f[B,7]", "f[7*B] i[7*B] i[7*B] i[7*B]"},
      {"Unique", "axis=0 bounds=1", "f[B,7]", "f[B,7] i[B] i[B] i[B]"},
      {"TopK", "bounds=1", "f[B,100] i[1]", "f[B,100] i[B,100]"},
      {"Slice", "bounds=1", "f[B,10] i[1] i[1] i[1]=1", "f[B,10]"},
      {"Slice", "bounds=1", "f[B,10] i[1] i[1] i[1]", "f[B,10]"},
      {"Split", "axis=1 bounds=1", "f[B,10] i[2]", "f[B,10] f[B,10]"},
      {"NonMaxSuppression", "", "f[B,100,4] f[B,80,100] i[1]=20", "i[?,3]"},
      {"NonMaxSuppression", "", "f[B,100,4] f[B,80,100]", "i[0,3]"},
      {"NonMaxSuppression", "bounds=1", "f[B,100,4] f[B,80,100] i[1]=20", "i[1600*B,3]"},
      {"NonMaxSuppression", "bounds=1", "f[B,100,4] f[B,80,100] i[1]=500", "i[8000*B,3]"},
      {"NonMaxSuppression", "bounds=1", "f[B,100,4] f[B,80,100] i[1]", "i[8000*B,3]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
