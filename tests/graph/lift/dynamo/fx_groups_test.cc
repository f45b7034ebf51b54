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

TEST_CASE("a ModuleList that is sliced numbers its modules anew, a Sequential keeps their names") {
  // for block in self.blocks[1:]: x = block(x); for layer in self.layers[1:]: x = layer(x)
  CHECK(ToText(LayersFromText(R"(g (float[batch, 8] x) => (float[batch, 8] y) {
    # signature: x: USER_INPUT
    relu = Relu (x)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
      # name_scopes: ['', 'blocks.slice(1, None, None).0', 'relu']
    relu_1 = Relu (relu)
      # fx_node: %relu_1 : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%relu,), kwargs = {})
      # name_scopes: ['', 'blocks.slice(1, None, None).1', 'blocks.slice(1, None, None).1.act', 'relu_1']
    relu_2 = Relu (relu_1)
      # fx_node: %relu_2 : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%relu_1,), kwargs = {})
      # name_scopes: ['', 'layers.slice(1, None, None).1', 'relu_2']
    y = Relu (relu_2)
      # fx_node: %relu_3 : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%relu_2,), kwargs = {})
      # name_scopes: ['', 'tail.slice(-2, None, None).0', 'relu_3']
  })")) == R"(
relu relu @blocks.1 (x) -> relu [B, 8]
relu relu_1 @blocks.2.act (relu) -> relu_1 [B, 8]
relu relu_2 @layers.1 (relu_1) -> relu_2 [B, 8]
relu relu_3 @tail.0 (relu_2) -> y [B, 8]
)");
}

}  // namespace
}  // namespace vramplan
