#include <doctest/doctest.h>

#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

// x + a constant of this name, with a buffer [4, 2] beside it.
std::string Of(const std::string& name, const std::string& signature = "") {
  return ToText(
      LayersFromText("g (float[batch, 2, 4] x) => (float[batch, 2, 4] y) <float[2, 4] " + name +
                     ", float[4, 2] book> {\n    # signature: b_book: BUFFER target='book' persistent=True\n" +
                     signature + "    # signature: x: USER_INPUT\n    y = Add (x, " + name +
                     ")\n      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add."
                     "Tensor](args = (%x, %" +
                     name + "), kwargs = {})\n  }"));
}

TEST_CASE("a constant that the forward computes is made where it is read first") {
  const std::string made = "\narange cos () -> cos [2, 4]\nadd add (x, cos) -> y [B, 2, 4]\n";
  CHECK(Of("cos") == made);
}

TEST_CASE("what the module holds is there: listed constants, and views of buffers") {
  CHECK(Of("t") == "\nadd add (x, t) -> y [B, 2, 4]\n");
  CHECK(Of("lifted_tensor_0", "    # signature: c_lifted_tensor_0: CONSTANT_TENSOR target='lifted_tensor_0'\n") ==
        "\nadd add (x, lifted_tensor_0) -> y [B, 2, 4]\n");
}

}  // namespace
}  // namespace vramplan
