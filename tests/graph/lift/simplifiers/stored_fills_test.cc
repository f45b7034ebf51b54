#include <doctest/doctest.h>

#include "graph/lift/simplifiers/passes.h"
#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

TEST_CASE("weights that a light file fills with a number are parameters; PyTorch's torch.full is none") {
  // onnx/backend/test/data/light/light_resnet50.onnx of ONNX 1.23: 25,557,032 parameters with its stored ones.
  const char* const file = R"(
    agraph (float[batch, 3, 8, 8] x) => (float[batch, 4, 8, 8] y) <
      int64[4] size = {4, 3, 1, 1}, int64[1] one = {1}, float[4] bias> {
      w = ConstantOfShape <value = float[1] {0.02}> (size)
      h = Conv (x, w, bias)
      s = ConstantOfShape <value = float[1] {2.0}> (one)
      y = Mul (h, s)
    })";
  const Layers light = testing::Lifted(file, nullptr, "onnx-caffe2");
  REQUIRE(light.parameters.size() == 2);
  int64_t elements = 0;
  for (const ValueId id : light.parameters) elements += light[id].shape.Elements().c0();
  CHECK(elements == 16);
  CHECK(testing::Lifted(file).parameters.size() == 1);
}

}  // namespace
}  // namespace vramplan
