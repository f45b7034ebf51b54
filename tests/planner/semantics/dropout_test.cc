#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

TEST_CASE("dropout") {
  CheckOperators({
      // alexnet classifier.0, "+73728 +294912": the mask of a byte per element first; NativeDropoutBackward0 "+131072
      // -gradient -mask".
      {"dropout", "p=0.5", "x:f[8,64]", "f[8,64]", "1+512 2+2048", "1", "3+2048 g- 1- 3-"},
      {"dropout", "p=0.5", "x:h[8,64]", "h[8,64]", "1+512 2+1024", "1", "3+1024 g- 1- 3-"},
      {"dropout", "p=0.5", "x:f[8,64]", "f[8,64]", "", "", "", "infer"},
      {"dropout", "p=0.0", "x:f[8,64]", "f[8,64]", "", "", "g-"},
      // efficientnet_b0 classifier.0, dropout_ "+40960 empty_strided": noise of the activation's type; its result takes
      // over the input.
      {"dropout", "p=0.2 inplace=1", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-"},
      // Dropout.cpp feature_dropout: noise by sample and channel, then mul.
      {"feature_dropout", "p=0.5", "x:f[2,4,8,8]", "f[2,4,8,8]", "1+32 2+2048", "1", "3+2048 g- 1- 3-"},
      {"bernoulli", "", "-", "f[2,1,1,1]", "1+8", "", ""},
  });
}

}  // namespace
}  // namespace vramplan::testing
