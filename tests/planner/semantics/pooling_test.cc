#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

TEST_CASE("pooling") {
  CheckOperators({
      // alexnet features.2, "+2402304 +3538944": values and int64 indices; both and the input live until the backward.
      {"max_pool2d", "", "x:f[2,4,8,8]", "f[2,4,4,4]", "1+512 2+1024", "x 2", "3+2048 g- x- 2- 3-"},
      {"adaptive_max_pool2d", "", "x:f[2,4,8,8]", "f[2,4,1,1]", "1+32 2+64", "x 2", "3+2048 g- x- 2- 3-"},
      {"max_pool2d", "", "x:f[2,4,8,8]", "f[2,4,4,4]", "1+512 2+1024 2-", "", "", "infer"},
      // densenet121 transition1.pool; AvgPool2DBackward0 "+1804288 -gradient -saved": the input is kept.
      {"avg_pool2d", "", "x:f[2,4,8,8]", "f[2,4,4,4]", "1+512", "x", "2+2048 g- x- 2-"},
      // alexnet avgpool (6x6): AdaptiveAvgPool2DBackward0 "+294912 -gradient -saved".
      {"adaptive_avg_pool2d", "", "x:f[2,4,8,8]", "f[2,4,2,2]", "1+128", "x", "2+2048 g- x- 2-"},
      // convnext_tiny avgpool, adaptive_avg_pool2d/mean: nothing is kept; MeanBackward1 "+602112 div -gradient".
      {"adaptive_avg_pool2d", "", "x:f[2,4,8,8]", "f[2,4,1,1]", "1+32", "", "2+2048 g- 2-"},
      // swin_t avgpool, behind permute(0, 3, 1, 2): AsStridedBackward1 "+12288 new_zeros -gradient", MeanBackward1.
      {"adaptive_avg_pool2d", "", "x:f[2,4,8,8]@0,2,3,1", "f[2,4,1,1]", "1+32", "", "2+32 g- 3+2048 2- 3-"},
  });
}

}  // namespace
}  // namespace vramplan::testing
