#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("elementwise: shapes and types") {
  CheckNodes({
      {"Relu", "", "f[B,3,4]", "f[B,3,4]"},
      {"Gelu", "approximate=tanh", "h[B,7]", "h[B,7]"},
      {"Softmax", "axis=1", "f[B,7]", "f[B,7]"},
      {"Sigmoid", "", "f", "f"},
      {"Add", "", "f[B,1,8] f[5,1]", "f[B,5,8]"},
      {"Add", "", "f[B,1,8] f", "f"},
      {"Add", "", "f[B,?,8] f[1,4,1]", "f[B,4,8]"},
      {"Add", "", "f[B,?] f[1,1]", "f[B,?]"},
      {"Add", "", "f[2,3] f[2,4]", "error: the shapes [2, 3] and [2, 4] do not broadcast"},
      {"Add", "opset=6 broadcast=1", "f[2,3,4] f[3]", "f[2,3,4]"},
      {"Mul", "", "f[B,1] f[1,2*B]", "f[B,2*B]"},
      {"Pow", "", "f[B,3] f[]", "f[B,3]"},
      {"Equal", "", "f[B,1] f[3]", "b[B,3]"},
      {"And", "", "b[B] b[]", "b[B]"},
      {"Not", "", "b[B]", "b[B]"},
      {"IsNaN", "", "f[B,2]", "b[B,2]"},
      {"Max", "", "f[B,1] f[1,3] f[1,1]", "f[B,3]"},
      {"Sum", "", "f[B,1] f[1,3] f[]", "f[B,3]"},
      {"Where", "", "b[B,1] f[1,3] f[]", "f[B,3]"},
      {"Clip", "", "f[B,3] f[] -", "f[B,3]"},
      {"PRelu", "", "f[B,16,4,4] f[16,1,1]", "f[B,16,4,4]"},
      {"Cast", "to=1", "i[B,3]", "f[B,3]"},
      {"Cast", "to=99", "i[B,3]", "error: its attribute \"to\" names no type: 99"},
      {"CastLike", "", "f[B,3] h[1]", "h[B,3]"},
      {"Dropout", "", "f[B,3] f[] b[]", "f[B,3] b[B,3]"},
      {"Dropout", "opset=7", "f[B,3]", "f[B,3] f[B,3]"},
      {"Identity", "", "i[2]=B,3", "i[2]=B,3"},
  });
}

TEST_CASE("elementwise: contents of small tensors, with the batch inside") {
  CheckNodes({
      {"Add", "", "i[2]=B,3 i[]=1", "i[2]=B+1,4"},
      {"Sub", "", "i[]=5 i[2]=B,?", "i[2]=-1*B+5,?"},
      {"Mul", "", "i[1]=B i[1]=12", "i[1]=12*B"},
      {"Mul", "", "i[1]=? i[1]=0", "i[1]=0"},
      {"Div", "", "i[2]=12*B,7 i[]=4", "i[2]=3*B,1"},
      {"Div", "", "i[1]=-7 i[1]=2", "i[1]=-3"},      // integers divide toward zero
      {"Div", "", "i[1]=B i[1]=2", "i[1]=?"},        // no polynomial
      {"Div", "", "i[1]=12*B+5 i[1]=12", "i[1]=B"},  // the rest never reaches the next whole
      {"Div", "", "f[]=1 f[]=4", "f[]=0.25"},
      {"Div", "", "i[1]=9 i[1]=0", "i[1]=?"},
      {"Mod", "", "i[3]=7,-7,4*B i[]=4", "i[3]=3,1,0"},  // the sign of the divisor
      {"Mod", "", "i[1]=B i[1]=4", "i[1]=?"},
      {"Pow", "", "i[1]=3 i[1]=2", "i[1]=9"},
      {"Neg", "", "i[1]=B", "i[1]=-1*B"},
      {"Abs", "", "i[2]=-3,B", "i[2]=3,B"},
      {"Min", "", "i[2]=B,2 i[]=0", "i[2]=0,0"},
      {"Max", "", "i[2]=B,B i[2]=1,2", "i[2]=B,?"},  // B is at least 1; whether it is at least 2 is not known
      {"Equal", "", "i[4]=B,B,2,-1 i[4]=-1,B,2,?", "b[4]=0,1,1,?"},
      {"Equal", "", "i[1]=B i[1]=1", "b[1]=?"},
      {"Less", "", "i[2]=0,3 i[2]=B,3", "b[2]=1,0"},
      {"LessOrEqual", "", "i[1]=1 i[1]=B", "b[1]=1"},
      {"Greater", "", "f[]=2.5 f[]=1.5", "b[]=1"},
      {"Or", "", "b[3]=0,1,0 b[3]=0,?,?", "b[3]=0,1,?"},
      {"Not", "", "b[2]=0,1", "b[2]=1,0"},
      {"Where", "", "b[3]=1,0,? i[3]=7,7,7 i[3]=8,8,7", "i[3]=7,8,7"},
      {"Cast", "to=1", "i[1]=B", "f[1]=B"},  // whole reals keep the batch
      {"Cast", "to=7", "f[2]=2.9,-2.9", "i[2]=2,-2"},
      {"Cast", "to=9", "i[3]=0,5,B", "b[3]=0,1,1"},
      {"Floor", "", "f[1]=2.5", "f[1]=2"},
      {"Sqrt", "", "f[]=64", "f[]=8"},
      {"Clip", "", "i[2]=-1,B i[]=0 -", "i[2]=0,B"},
      {"Clip", "", "f[2]=-1,3 f[]=0 -", "f[2]=0,3"},
  });
}

TEST_CASE("elementwise: contents longer than 64 are not computed") {
  CheckNodes({{"Add", "", "i[8,8] i[]", "i[8,8]=unknown"}});
}

}  // namespace
}  // namespace vramplan::testing
