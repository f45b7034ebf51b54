#include <doctest/doctest.h>

#include "tests/support/one_node.h"

namespace vramplan::testing {
namespace {

TEST_CASE("ai.onnx.preview.training") {
  CheckNodes({
      {"ai.onnx.preview.training:Adagrad", "", "f[] i[] f[4,3] f[4,3] f[4,3]", "f[4,3] f[4,3]"},
      {"ai.onnx.preview.training:Adagrad", "", "f[] i[] f[4] h[5] f[4] h[5] f[4] f[5]", "f[4] h[5] f[4] f[5]"},
      {"ai.onnx.preview.training:Adam", "", "f[] i[] f[4] h[5] f[4] h[5] f[4] f[5] f[4] f[5]",
       "f[4] h[5] f[4] f[5] f[4] f[5]"},
      {"ai.onnx.preview.training:Momentum", "", "f[] i[] f[4,3] f[4,3] f[4,3]", "f[4,3] f[4,3]"},
      {"ai.onnx.preview.training:Adam", "", "f[] i[] f[4] f[4] f[4]", "error: its inputs are not 4 a tensor"},
      {"ai.onnx.preview.training:Gradient", "xs=[a,b] y=c", "f[B,3] h[3]", "f[B,3] h[3]"},
  });
}

}  // namespace
}  // namespace vramplan::testing
