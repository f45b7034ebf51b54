#include <doctest/doctest.h>

#include "graph/lift/dynamo/passes.h"
#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

// A layer of Keras 3.12 with the PyTorch backend, model.export(format="onnx"); `weight` is what its operator names.
Layers Exported(const std::string& weight) {
  return testing::Lifted(R"(
    # signature: p_kernel: PARAMETER target='_torch_params.dense/kernel'
    # signature: c_lifted_tensor_8: CONSTANT_TENSOR target='lifted_tensor_8'
    # signature: args_0: USER_INPUT
    agraph (float[batch, 32] x) => (float[batch, 10] y) <float[32, 10] lifted_tensor_8> {
      y = MatMul (x, lifted_tensor_8)
        # fx_node: %matmul : [num_users=1] = call_function[target=torch.ops.aten.matmul.default](args = (%args_0, %)" +
                         weight + R"(), kwargs = {})
    })");
}

TEST_CASE("parameters that no operator names leave the constants that are used") {
  const Layers layers = Exported("c_lifted_tensor_8");
  CHECK(testing::LinesOf(layers) == std::vector<std::string>{"linear(x, lifted_tensor_8, -) -> [B, 10]"});
  REQUIRE(layers.parameters.size() == 1);
  CHECK(ToString(layers[layers.parameters[0]].shape) == "[10, 32]");
}

TEST_CASE("one parameter that is named, and the signature says what it says") {
  CHECK(testing::LinesOf(Exported("p_kernel"))[0].find("matmul(") == 0);
}

}  // namespace
}  // namespace vramplan
