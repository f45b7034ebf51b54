#include "graph/lift/dynamo/fx_groups.h"

#include <doctest/doctest.h>

#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

TEST_CASE("a part of a Sequential that is called is no module of its own") {
  CHECK(ToText(LayersFromText(R"(g (float[batch, 8] x) => (float[batch, 8] y) {
    # signature: x: USER_INPUT
    y = Relu (x)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
      # name_scopes: ['', 'features.slice(1, 4, None)', 'features.slice(1, 4, None).block', 'relu']
  })")) == R"(
relu relu @features.block (x) -> y [B, 8]
)");
}

}  // namespace
}  // namespace vramplan
