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
      // Recorded, PyTorch 2.10: a permuted sequence is channels-last to pooling over one axis, and so is what comes
      // out.
      {"avg_pool1d", "", "x:f[2,8,16]@0,2,1", "f[2,8,8]", "1+512", "x", "2+1024 g- x- 2-"},
      {"max_pool1d", "", "x:f[2,8,16]@0,2,1", "f[2,8,8]", "1+512 2+1024", "x 2", "3+1024 g- x- 2- 3-"},
      {"adaptive_avg_pool1d", "", "x:f[2,8,16]@0,2,1", "f[2,8,4]", "1+256", "x", "2+1024 g- x- 2-"},
      // What lies otherwise is copied for as long as the operator runs: avg_pool2d also in the backward.
      {"avg_pool2d", "", "x:f[2,8,16,16]@0,1,3,2", "f[2,8,8,8]", "1+4096 2+16384 2-", "x",
       "3+16384 4+16384 4- g- x- 3-"},
      {"avg_pool3d", "", "x:f[2,8,8,8,8]@0,1,4,3,2", "f[2,8,4,4,4]", "1+4096 2+32768 2-", "x", "3+32768 g- x- 3-"},
      {"adaptive_avg_pool2d", "", "x:f[2,8,16,16]@0,1,3,2", "f[2,8,4,4]", "1+16384 2+1024 1-", "x", "3+16384 g- x- 3-"},
      // swin_t avgpool, behind permute(0, 3, 1, 2): AsStridedBackward1 "+12288 new_zeros -gradient", MeanBackward1.
      {"adaptive_avg_pool2d", "", "x:f[2,4,8,8]@0,2,3,1", "f[2,4,1,1]", "1+32", "", "2+32 g- 3+2048 2- 3-"},
  });
}

}  // namespace
}  // namespace vramplan::testing
