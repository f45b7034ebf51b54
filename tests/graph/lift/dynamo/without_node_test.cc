#include "graph/lift/dynamo/without_node.h"

#include <doctest/doctest.h>

#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

TEST_CASE("a copy of what was turned around, in front of a convolution") {
  // x.transpose(1, 2).reshape(b, 8, 3, 3).contiguous(), torchvision's MViT pools
  CHECK(ToText(LayersFromText(R"(g (float[batch, 9, 8] x) => (float[batch, 8, 3, 3] y) <float[8, 8, 1, 1] `c.weight`> {
    # signature: p_w: PARAMETER target='c.weight'
    # signature: x: USER_INPUT
    transpose = Transpose <perm = [0, 2, 1]> (x)
      # fx_node: %transpose : [num_users=1] = call_function[target=torch.ops.aten.transpose.int](args = (%x, 1, 2), kwargs = {})
    sizes = Constant <value = int64[4] {-1, 8, 3, 3}> ()
    view = Reshape (transpose, sizes)
      # fx_node: %view : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%transpose, [%b, 8, 3, 3]), kwargs = {})
    y = Conv (view, `c.weight`)
      # fx_node: %conv2d : [num_users=1] = call_function[target=torch.ops.aten.conv2d.default](args = (%clone, %p_w), kwargs = {})
      # name_scopes: ['', 'c', 'conv2d']
      # class_hierarchy: ['mine.Net', 'torch.nn.modules.conv.Conv2d', 'aten.conv2d.default']
  })")) == R"(
transpose transpose (x) -> transpose [B, 8, 9] {dim0=1, dim1=2}
reshape view (transpose) -> view [B, 8, 3, 3]
contiguous clone @c (view) -> clone [B, 8, 3, 3]
conv2d conv2d @c (clone, c.weight) -> y [B, 8, 3, 3] {dilation=[1, 1], groups=1, kernel_size=[1, 1], padding=[0, 0], stride=[1, 1]}
)");
}

TEST_CASE("detach leaves no node, and no gradient goes through it") {
  CHECK(ToText(LayersFromText(
            R"(g (float[batch, 8] x) => (float[batch, 8] y) {
    # signature: x: USER_INPUT
    sigmoid = Sigmoid (x)
      # fx_node: %sigmoid : [num_users=2] = call_function[target=torch.ops.aten.sigmoid.default](args = (%x,), kwargs = {})
    exp = Exp (sigmoid)
      # fx_node: %exp : [num_users=1] = call_function[target=torch.ops.aten.exp.default](args = (%detach,), kwargs = {})
    y = Mul (sigmoid, exp)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sigmoid, %exp), kwargs = {})
  })")) == R"(
sigmoid sigmoid (x) -> sigmoid [B, 8]
detach detach (sigmoid) -> detach [B, 8]
exp exp (detach) -> exp [B, 8]
mul mul (sigmoid, exp) -> y [B, 8]
)");
}

TEST_CASE("a detached buffer is the buffer, not the operand beside it") {
  // F.linear(x, self.queue.clone().detach())
  CHECK(ToText(LayersFromText(
            R"(g (float[batch, 8] x) => (float[batch, 16] y) <float[8, 16] queue> {
    # signature: b_queue: BUFFER target='queue'
    # signature: x: USER_INPUT
    y = MatMul (x, queue)
      # fx_node: %matmul : [num_users=1] = call_function[target=torch.ops.aten.matmul.default](args = (%x, %detach), kwargs = {})
  })")) == R"(
detach detach (queue) -> detach [8, 16]
matmul matmul (x, detach) -> y [B, 16]
)");
}

TEST_CASE("a join of one tensor in front of a module is its caller's") {
  CHECK(ToText(LayersFromText(
            R"(g (float[batch, 3, 8, 8] x) => (float[batch, 4, 8, 8] y) <float[4, 3, 1, 1] w> {
    # signature: p_w: PARAMETER target='b0.conv.weight'
    # signature: x: USER_INPUT
    y = Conv (x, w)
      # fx_node: %conv2d : [num_users=1] = call_function[target=torch.ops.aten.conv2d.default](args = (%cat, %p_w), kwargs = {})
      # name_scopes: ['', 'b0', 'b0.conv', 'conv2d']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'torch.nn.modules.conv.Conv2d', 'aten.conv2d.default']
  })")) == R"(
cat cat @b0 (x) -> cat [B, 3, 8, 8] {dim=1}
conv2d conv2d @b0.conv (cat, b0.conv.weight) -> y [B, 4, 8, 8] {dilation=[1, 1], groups=1, kernel_size=[1, 1], padding=[0, 0], stride=[1, 1]}
)");
}

}  // namespace
}  // namespace vramplan
