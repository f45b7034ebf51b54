#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("creation") {
  CheckNodes({
      {"Constant", "value_ints=[1,2]", "", "i[2]=1,2"},
      {"Constant", "value_float=0.5", "", "f[]=0.5"},
      {"ConstantOfShape", "", "i[2]=B,3", "f[B,3]"},
      {"ConstantOfShape", "", "i[1]=3", "f[3]=0,0,0"},
      {"ConstantOfShape", "", "i[1]=-3", "error: tensor out0: its shape [-3] has a negative length"},
      {"Shape", "", "f[B,3,?]", "i[3]=B,3,?"},
      {"Shape", "start=1", "f[B,3,4]", "i[2]=3,4"},
      {"Shape", "start=-2 end=-1", "f[B,3,4]", "i[1]=3"},
      {"Shape", "start=5 end=2", "f[B,3,4]", "i[0]="},
      {"Size", "", "f[B,3,4]", "i[]=12*B"},
      {"Range", "", "i[]=2 i[]=9 i[]=3", "i[3]=2,5,8"},
      {"Range", "", "i[]=0 i[]=B i[]=1", "i[B]"},
      {"Range", "", "i[]=5 i[]=0 i[]=-2", "i[3]=5,3,1"},
      {"Range", "", "i[]=5 i[]=0 i[]=1", "i[0]="},
      {"Range", "", "f[]=0.0 f[]=1.0 f[]=0.25", "f[4]"},
      {"Range", "", "i[] i[]=9 i[]=1", "i[?]"},
      {"Range", "", "i[]=0 i[]=9 i[]=0", "error: its step is 0"},
      {"Range", "", "i[]=-9223372036854775807 i[]=9223372036854775807 i[]=1",
       "error: the number of its elements overflows"},
      {"EyeLike", "dtype=1", "i[3,3]", "f[3,3]"},
      {"RandomUniformLike", "", "f[B,3]", "f[B,3]"},
      {"RandomNormalLike", "dtype=10", "f[B,3]", "h[B,3]"},
      {"RandomNormal", "shape=[2,3]", "", "f[2,3]"},
      {"Bernoulli", "", "f[B,3]", "f[B,3]"},
      {"Multinomial", "sample_size=5", "f[B,10]", "j[B,5]"},
      {"HannWindow", "", "i[]=400", "f[400]"},
  });
}

TEST_CASE("signals, quantization") {
  CheckNodes({
      {"DFT", "onesided=1", "f[B,400,1] - i[]=1", "f[B,201,2]"},
      {"DFT", "opset=17 axis=1", "f[B,400,1]", "f[B,400,2]"},
      {"DFT", "", "f[B,400,1] - i[]", "f[B,400,2]"},
      {"DFT", "onesided=1", "f[B,400,1] - i[]", "f[?,?,2]"},
      {"DFT", "onesided=1 inverse=1", "f[B,201,2] - i[]=1", "f[B,400,1]"},
      {"STFT", "", "f[B,16000,1] i[]=160 f[400]", "f[B,98,201,2]"},
      {"MelWeightMatrix", "", "i[]=80 i[]=400 i[]=16000 f[] f[]", "f[201,80]"},
      {"NonMaxSuppression", "", "f[1,100,4] f[1,1,100]", "i[0,3]"},
      {"QuantizeLinear", "", "f[B,3] f[]", "u[B,3]"},
      {"DequantizeLinear", "", "u[B,3] h[]", "h[B,3]"},
      {"DynamicQuantizeLinear", "", "f[B,3]", "u[B,3] f[] u[]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
