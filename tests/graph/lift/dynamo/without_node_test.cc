#include "graph/lift/dynamo/without_node.h"

#include <doctest/doctest.h>

#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

TEST_CASE("an activation that two blocks compute of one tensor ran in each") {
  // F.silu(t): the second one's node was merged into the first, its name is left in linear_1's text.
  CHECK(ToText(LayersFromText(
            R"(g (float[batch, 8] t) => (float[batch, 4] a, float[batch, 4] b) <float[4, 8] w, float[4, 8] v> {
    # signature: p_w: PARAMETER target='w'
    # signature: p_v: PARAMETER target='v'
    # signature: t: USER_INPUT
    s = Sigmoid (t)
      # fx_node: %silu : [num_users=1] = call_function[target=torch.ops.aten.silu.default](args = (%t,), kwargs = {})
      # name_scopes: ['', 'b0', 'silu']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'aten.silu.default']
    silu = Mul (t, s)
      # fx_node: %silu : [num_users=1] = call_function[target=torch.ops.aten.silu.default](args = (%t,), kwargs = {})
      # name_scopes: ['', 'b0', 'silu']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'aten.silu.default']
    a = Gemm <transB = 1> (silu, w)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%silu, %p_w), kwargs = {})
      # name_scopes: ['', 'b0', 'b0.fc', 'linear']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'torch.nn.modules.linear.Linear', 'aten.linear.default']
    b = Gemm <transB = 1> (silu, v)
      # fx_node: %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%silu_1, %p_v), kwargs = {})
      # name_scopes: ['', 'b1', 'b1.fc', 'linear_1']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'torch.nn.modules.linear.Linear', 'aten.linear.default']
  })")) == R"(
silu silu @b0 (t) -> silu [B, 8]
linear linear @b0.fc (silu, w) -> a [B, 4]
silu silu_1 @b1 (t) -> silu_1 [B, 8]
linear linear_1 @b1.fc (silu_1, v) -> b [B, 4]
)");
}

TEST_CASE("of two products with one that the exporter dropped each stands for its own operand") {
  // transformers, modeling_granite_swa.py: embeds * 1.0 is named by a norm first, then beside attention * 1.0
  CHECK(ToText(LayersFromText(
            R"(g (float[batch, 8] x) => (float[batch, 8] y) <float[8, 8] w> {
    # signature: p_w: PARAMETER target='w'
    # signature: x: USER_INPUT
    e = Abs (x)
      # fx_node: %e : [num_users=1] = call_function[target=torch.ops.aten.abs.default](args = (%x,), kwargs = {})
    n = Neg (e)
      # fx_node: %n : [num_users=1] = call_function[target=torch.ops.aten.neg.default](args = (%mul_2,), kwargs = {})
    a = Gemm <transB = 1> (n, w)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%n, %p_w), kwargs = {})
    y = Add (e, a)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul_2, %mul_20), kwargs = {})
  })")) == R"(
abs e (x) -> e [B, 8]
mul mul_2 (e) -> mul_2 [B, 8] {scalar=1.0}
neg n (mul_2) -> n [B, 8]
linear linear (n, w) -> a [B, 8]
mul mul_20 (a) -> mul_20 [B, 8] {scalar=1.0}
add add (mul_2, mul_20) -> y [B, 8]
)");
}

TEST_CASE("an equality that was merged into the inner part of its opposite ran") {
  // Swin's mask: mask.masked_fill(mask != 0, -100.0).masked_fill(mask == 0, 0.0)
  CHECK(ToText(LayersFromText(
            R"(g (float[batch, 8] x) => (float[batch, 8] y) <float[2, 8] m, float n> {
    # signature: x: USER_INPUT
    val_1 = Equal (m, n)
      # fx_node: %ne : [num_users=1] = call_function[target=torch.ops.aten.ne.Tensor](args = (%m, %n), kwargs = {})
    ne = Not (val_1)
      # fx_node: %ne : [num_users=1] = call_function[target=torch.ops.aten.ne.Tensor](args = (%m, %n), kwargs = {})
    a = Where (ne, n, m)
      # fx_node: %masked_fill : [num_users=1] = call_function[target=torch.ops.aten.masked_fill.Scalar](args = (%m, %ne, -100.0), kwargs = {})
    b = Where (val_1, n, a)
      # fx_node: %masked_fill_1 : [num_users=1] = call_function[target=torch.ops.aten.masked_fill.Scalar](args = (%masked_fill, %eq_8, 0.0), kwargs = {})
    y = Add (x, b)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %masked_fill_1), kwargs = {})
  })")) == R"(
arange m () -> m [2, 8]
ne ne (m) -> ne [2, 8] bool {scalar=1.0}
masked_fill masked_fill (m, ne) -> a [2, 8]
eq eq_8 (m) -> eq_8 [2, 8] bool {scalar=1.0}
masked_fill masked_fill_1 (a, eq_8) -> b [2, 8]
add add (x, b) -> y [B, 8]
)");
}

TEST_CASE("a merged norm comes back with the parameters that no other node names") {
  const Layers layers = LayersFromText(
      R"(g (float[batch, 8] x) => (float[batch, 4] a, float[batch, 4] b) <float[8] `h.0.ln1.weight`, float[8] `h.0.ln1.bias`, float[4, 8] w, float[4, 8] v> {
    # signature: p_1w: PARAMETER target='h.0.ln1.weight'
    # signature: p_1b: PARAMETER target='h.0.ln1.bias'
    # signature: p_2w: PARAMETER target='h.0.ln2.weight'
    # signature: p_2b: PARAMETER target='h.0.ln2.bias'
    # signature: p_w: PARAMETER target='w'
    # signature: p_v: PARAMETER target='v'
    # signature: x: USER_INPUT
    layer_norm = LayerNormalization (x, `h.0.ln1.weight`, `h.0.ln1.bias`)
      # fx_node: %layer_norm : [num_users=1] = call_function[target=torch.ops.aten.layer_norm.default](args = (%x, [8], %p_1w, %p_1b, 1e-06), kwargs = {})
      # name_scopes: ['', 'h.0', 'h.0.ln1', 'layer_norm']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'torch.nn.modules.normalization.LayerNorm', 'aten.layer_norm.default']
    a = Gemm <transB = 1> (layer_norm, w)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%layer_norm, %p_w), kwargs = {})
    b = Gemm <transB = 1> (layer_norm, v)
      # fx_node: %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%layer_norm_1, %p_v), kwargs = {})
  })");
  CHECK(ToText(layers) == R"(
layer_norm layer_norm @h.0.ln1 (x, h.0.ln1.weight, h.0.ln1.bias) -> layer_norm [B, 8] {normalized_axes=1}
linear linear (layer_norm, w) -> a [B, 4]
layer_norm layer_norm_1 @h.0.ln2 (x, h.0.ln2.weight, h.0.ln2.bias) -> layer_norm_1 [B, 8] {normalized_axes=1}
linear linear_1 (layer_norm_1, v) -> b [B, 4]
)");
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"h.0.ln1.weight [8]", "h.0.ln1.bias [8]",
                                                                      "h.0.ln2.weight [8]", "h.0.ln2.bias [8]",
                                                                      "w [4, 8]", "v [4, 8]"});
}

TEST_CASE("of several norms that lost their node that one ran which is nearest to the reader") {
  // TNT's blocks norm the pixels last, and the next block norms the same pixels first (timm/models/tnt.py 1.0, Block).
  CHECK(
      ToText(LayersFromText(
          R"(g (float[batch, 8] x) => (float[batch, 4] a, float[batch, 4] b) <float[8] `h.1.last.weight`, float[4, 8] w, float[4, 8] v> {
    # signature: p_1last: PARAMETER target='h.1.last.weight'
    # signature: p_10first: PARAMETER target='h.10.first.weight'
    # signature: p_2first: PARAMETER target='h.2.first.weight'
    # signature: p_w: PARAMETER target='w'
    # signature: p_v: PARAMETER target='v'
    # signature: x: USER_INPUT
    layer_norm = LayerNormalization (x, `h.1.last.weight`)
      # fx_node: %layer_norm : [num_users=1] = call_function[target=torch.ops.aten.layer_norm.default](args = (%x, [8], %p_1last), kwargs = {})
      # name_scopes: ['', 'h.1', 'h.1.last', 'layer_norm']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'torch.nn.modules.normalization.LayerNorm', 'aten.layer_norm.default']
    a = Gemm <transB = 1> (layer_norm, w)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%layer_norm, %p_w), kwargs = {})
    b = Gemm <transB = 1> (layer_norm, v)
      # fx_node: %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%layer_norm_1, %p_v), kwargs = {})
      # name_scopes: ['', 'h.2', 'h.2.fc', 'linear_1']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'torch.nn.modules.linear.Linear', 'aten.linear.default']
  })")) == R"(
layer_norm layer_norm @h.1.last (x, h.1.last.weight) -> layer_norm [B, 8] {normalized_axes=1}
linear linear (layer_norm, w) -> a [B, 4]
layer_norm layer_norm_1 @h.2.first (x, h.2.first.weight) -> layer_norm_1 [B, 8] {normalized_axes=1}
linear linear_1 @h.2.fc (layer_norm_1, v) -> b [B, 4]
)");
}

TEST_CASE("norm and activation of a block come back in front of its folded convolution") {
  // Pre-activation: two convolutions of one tensor, each with a norm of its own, merged; the second convolution's node
  // has the text of the norm behind it.
  const Layers layers = LayersFromText(
      R"(g (float[batch, 2, 4, 4] x) => (float[batch, 2, 4, 4] a, float[batch, 2, 4, 4] b) <float[2] `s.bn.weight`, float[2] mean, float[2, 2, 1, 1] `s.conv.weight`, float[2, 2, 1, 1] `m.conv.weight`, float[2] merged> {
    # signature: p_sw: PARAMETER target='s.bn.weight'
    # signature: p_sc: PARAMETER target='s.conv.weight'
    # signature: p_mw: PARAMETER target='m.bn.weight'
    # signature: p_mc: PARAMETER target='m.conv.weight'
    # signature: p_nw: PARAMETER target='n.bn.weight'
    # signature: x: USER_INPUT
    getitem, i, j = BatchNormalization <training_mode = 1> (x, `s.bn.weight`, mean, mean, mean)
      # fx_node: %bn : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%x, %p_sw, None, None, None, True, 0.1, 1e-05), kwargs = {})
      # name_scopes: ['', 's', 's.bn', 'bn']
      # class_hierarchy: ['mine.Net', 'mine.Stem', 'torch.nn.modules.batchnorm.BatchNorm2d', 'aten._native_batch_norm_legit_functional.default']
    relu = Relu (getitem)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%getitem,), kwargs = {})
      # name_scopes: ['', 's', 's.act', 'relu']
      # class_hierarchy: ['mine.Net', 'mine.Stem', 'torch.nn.modules.activation.ReLU', 'aten.relu.default']
    a = Conv (relu, `s.conv.weight`)
      # fx_node: %conv2d : [num_users=1] = call_function[target=torch.ops.aten.conv2d.default](args = (%relu, %p_sc), kwargs = {})
      # name_scopes: ['', 's', 's.conv', 'conv2d']
      # class_hierarchy: ['mine.Net', 'mine.Stem', 'torch.nn.modules.conv.Conv2d', 'aten.conv2d.default']
    b = Conv (relu, `m.conv.weight`, merged)
      # fx_node: %bn_2 : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%conv2d_1, %p_nw, None, None, None, True, 0.1, 1e-05), kwargs = {})
      # name_scopes: ['', 'n', 'n.bn', 'bn_2']
      # class_hierarchy: ['mine.Net', 'mine.Stem', 'torch.nn.modules.batchnorm.BatchNorm2d', 'aten._native_batch_norm_legit_functional.default']
      # rule_name: FuseBatchNormIntoConv
  })");
  CHECK(ToText(layers) == R"(
batch_norm bn @s.bn (x, s.bn.weight) -> getitem [B, 2, 4, 4] {training=1}
relu relu @s.act (getitem) -> relu [B, 2, 4, 4] {inplace=1}
conv2d conv2d @s.conv (relu, s.conv.weight) -> a [B, 2, 4, 4] {dilation=[1, 1], groups=1, kernel_size=[1, 1], padding=[0, 0], stride=[1, 1]}
batch_norm bn.again @m.bn (x, m.bn.weight) -> bn.again [B, 2, 4, 4] {training=1}
relu relu.again (bn.again) -> relu.again [B, 2, 4, 4] {inplace=1}
conv2d conv2d_1 @m.conv (relu.again, m.conv.weight) -> conv2d_1 [B, 2, 4, 4] {dilation=[1, 1], groups=1, kernel_size=[1, 1], padding=[0, 0], stride=[1, 1]}
batch_norm bn_2 @n.bn (conv2d_1, n.bn.weight) -> b [B, 2, 4, 4] {training=1}
)");
}

TEST_CASE("a convolution's own bias is no twin of the norm's in front of it") {
  // m.conv.bias is named nowhere, being folded; the norm in front of it is s.bn, which ran once.
  const Layers layers = LayersFromText(
      R"(g (float[batch, 2, 4, 4] x) => (float[batch, 2, 4, 4] b) <float[2] `s.bn.weight`, float[2] mean, float[2, 2, 1, 1] `m.conv.weight`, float[2] merged> {
    # signature: p_sw: PARAMETER target='s.bn.weight'
    # signature: p_sb: PARAMETER target='s.bn.bias'
    # signature: p_mw: PARAMETER target='m.conv.weight'
    # signature: p_mb: PARAMETER target='m.conv.bias'
    # signature: p_nw: PARAMETER target='n.bn.weight'
    # signature: x: USER_INPUT
    getitem, i, j = BatchNormalization <training_mode = 1> (x, `s.bn.weight`, mean, mean, mean)
      # fx_node: %bn : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%x, %p_sw, %p_sb, None, None, True, 0.1, 1e-05), kwargs = {})
    b = Conv (getitem, `m.conv.weight`, merged)
      # fx_node: %bn_2 : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%conv2d_1, %p_nw, None, None, None, True, 0.1, 1e-05), kwargs = {})
      # rule_name: FuseBatchNormIntoConv
  })");
  CHECK(layers.layers.size() == 3);
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"s.bn.weight [2]", "s.bn.bias [2]",
                                                                      "m.conv.weight [2, 2, 1, 1]", "m.conv.bias [2]",
                                                                      "n.bn.weight [2]"});
}

TEST_CASE("arithmetic that changes no number ran") {
  CHECK(ToText(LayersFromText(R"(g (float[batch, 8] x) => (float[batch, 8] y) <float[8] `e`> {
    # signature: p_e: PARAMETER target='e'
    # signature: x: USER_INPUT
    relu = Relu (x)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
    y = Add (relu, `e`)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%mul_3, %p_e), kwargs = {})
  })")) == R"(
relu relu (x) -> relu [B, 8]
mul mul_3 (relu) -> mul_3 [B, 8] {scalar=1.0}
add add (mul_3, e) -> y [B, 8]
)");
}

TEST_CASE("a sum that begins with 0 is the caller's, where its first summand is there") {
  // timm's fastvit: out = conv_scale(x) + 0; out += conv(x)
  CHECK(
      ToText(LayersFromText(
          R"(g (float[batch, 2, 4, 4] x) => (float[batch, 2, 4, 4] y) <float[2, 2, 1, 1] `b.s.weight`, float[2, 2, 1, 1] `b.c.weight`> {
    # signature: p_s: PARAMETER target='b.s.weight'
    # signature: p_c: PARAMETER target='b.c.weight'
    # signature: x: USER_INPUT
    s = Conv (x, `b.s.weight`)
      # fx_node: %conv2d : [num_users=1] = call_function[target=torch.ops.aten.conv2d.default](args = (%x, %p_s), kwargs = {})
      # name_scopes: ['', 'b', 'b.s', 'conv2d']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'mine.Conv', 'aten.conv2d.default']
    c = Conv (x, `b.c.weight`)
      # fx_node: %conv2d_1 : [num_users=1] = call_function[target=torch.ops.aten.conv2d.default](args = (%x, %p_c), kwargs = {})
      # name_scopes: ['', 'b', 'b.c', 'conv2d_1']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'mine.Conv', 'aten.conv2d.default']
    y = Add (s, c)
      # fx_node: %add_38 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%add_11, %conv2d_1), kwargs = {})
      # name_scopes: ['', 'b', 'add_38']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'aten.add.Tensor']
  })")) == R"(
conv2d conv2d @b.s (x, b.s.weight) -> s [B, 2, 4, 4] {dilation=[1, 1], groups=1, kernel_size=[1, 1], padding=[0, 0], stride=[1, 1]}
add add_11 @b (s) -> add_11 [B, 2, 4, 4] {scalar=0.0}
conv2d conv2d_1 @b.c (x, b.c.weight) -> c [B, 2, 4, 4] {dilation=[1, 1], groups=1, kernel_size=[1, 1], padding=[0, 0], stride=[1, 1]}
add add_38 @b (add_11, c) -> y [B, 2, 4, 4]
)");
}

TEST_CASE("a sum with 0 of what another module made is where its user runs") {
  // transformers' BART: the decoder's positions, arange(...) + past_key_values_length, are the encoder's since the
  // export.
  CHECK(ToText(LayersFromText(R"(g (float[batch, 8] x) => (float[batch, 8] y) {
    # signature: x: USER_INPUT
    a = Relu (x)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
      # name_scopes: ['', 'e', 'e.p', 'relu']
      # class_hierarchy: ['mine.Net', 'mine.Encoder', 'mine.Positions', 'aten.relu.default']
    b = Exp (a)
      # fx_node: %exp : [num_users=1] = call_function[target=torch.ops.aten.exp.default](args = (%relu,), kwargs = {})
      # name_scopes: ['', 'e', 'exp']
      # class_hierarchy: ['mine.Net', 'mine.Encoder', 'aten.exp.default']
    y = Sub (a, b)
      # fx_node: %sub : [num_users=1] = call_function[target=torch.ops.aten.sub.Tensor](args = (%add_1, %exp), kwargs = {})
      # name_scopes: ['', 'd', 'd.p', 'sub']
      # class_hierarchy: ['mine.Net', 'mine.Decoder', 'mine.Positions', 'aten.sub.Tensor']
  })")) == R"(
relu relu @e.p (x) -> a [B, 8]
exp exp @e (a) -> b [B, 8]
add add_1 @d.p (a) -> add_1 [B, 8] {scalar=0.0}
sub sub @d.p (add_1, b) -> y [B, 8]
)");
}

TEST_CASE("a difference that was merged into a variance ran where its user is") {
  // var = x.var(1); return (x - x.mean(1)) / var, in a norm behind another module of the model's own (vit-pytorch's CvT)
  CHECK(ToText(LayersFromText(R"(g (float[batch, 8] x) => (float[batch, 8] y) {
    # signature: x: USER_INPUT
    a = Relu (x)
      # fx_node: %relu : [num_users=2] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
      # name_scopes: ['', 'e', 'relu']
      # class_hierarchy: ['mine.Net', 'mine.Embedding', 'aten.relu.default']
    m = ReduceMean <axes = [1], keepdims = 1> (a)
      # fx_node: %var : [num_users=1] = call_function[target=torch.ops.prims.var.default](args = (%relu, [1], 0.0), kwargs = {})
      # name_scopes: ['', 'n', 'var']
      # class_hierarchy: ['mine.Net', 'mine.Norm', 'prims.var.default']
    d = Sub (a, m)
      # fx_node: %var : [num_users=1] = call_function[target=torch.ops.prims.var.default](args = (%relu, [1], 0.0), kwargs = {})
      # name_scopes: ['', 'n', 'var']
      # class_hierarchy: ['mine.Net', 'mine.Norm', 'prims.var.default']
    q = Mul (d, d)
      # fx_node: %var : [num_users=1] = call_function[target=torch.ops.prims.var.default](args = (%relu, [1], 0.0), kwargs = {})
      # name_scopes: ['', 'n', 'var']
      # class_hierarchy: ['mine.Net', 'mine.Norm', 'prims.var.default']
    v = ReduceMean <axes = [1], keepdims = 1> (q)
      # fx_node: %var : [num_users=1] = call_function[target=torch.ops.prims.var.default](args = (%relu, [1], 0.0), kwargs = {})
      # name_scopes: ['', 'n', 'var']
      # class_hierarchy: ['mine.Net', 'mine.Norm', 'prims.var.default']
    y = Div (d, v)
      # fx_node: %div : [num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%sub, %var), kwargs = {})
      # name_scopes: ['', 'n', 'div']
      # class_hierarchy: ['mine.Net', 'mine.Norm', 'aten.div.Tensor']
  })")) == R"(
relu relu @e (x) -> a [B, 8]
var var @n (a) -> v [B, 1] {dim=[1]}
sub sub @n (a) -> sub [B, 8] {scalar=0.0}
div div @n (sub, v) -> y [B, 8]
)");
}

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

TEST_CASE("what einsum gave is put in order where it was made, whoever reads it") {
  // x1 = nconv(x, a); x2 = nconv(x1, a); cat([x, x1, x2]), nconv: return einsum(...).contiguous() (Graph WaveNet)
  const std::string in_nconv = R"(
      # name_scopes: ['', 'nconv', 'einsum']
      # class_hierarchy: ['mine.Net', 'mine.nconv', 'aten.einsum.default'])";
  CHECK(ToText(LayersFromText(R"(g (float[batch, 2, 4] x, float[4, 4] a) => (float[batch, 6, 4] y) {
    # signature: x: USER_INPUT
    # signature: a: USER_INPUT
    e = Einsum <equation = "ncv,vw->ncw"> (x, a)
      # fx_node: %einsum : [num_users=1] = call_function[target=torch.ops.aten.einsum.default](args = (ncv,vw->ncw, [%x, %a]), kwargs = {}))" +
                              in_nconv + R"(
    f = Einsum <equation = "ncv,vw->ncw"> (e, a)
      # fx_node: %einsum_1 : [num_users=1] = call_function[target=torch.ops.aten.einsum.default](args = (ncv,vw->ncw, [%clone, %a]), kwargs = {}))" +
                              in_nconv + R"(
    y = Concat <axis = 1> (x, e, f)
      # fx_node: %cat : [num_users=1] = call_function[target=torch.ops.aten.cat.default](args = ([%x, %clone, %clone_1], 1), kwargs = {})
  })")) == R"(
einsum einsum @nconv (x, a) -> e [B, 2, 4] {equation=ncv,vw->ncw}
contiguous clone @nconv (e) -> clone [B, 2, 4]
einsum einsum_1 @nconv (clone, a) -> f [B, 2, 4] {equation=ncv,vw->ncw}
contiguous clone_1 @nconv (f) -> clone_1 [B, 2, 4]
cat cat (x, clone, clone_1) -> y [B, 6, 4] {dim=1}
)");
}

TEST_CASE("a pad that was merged into its convolution made a tensor") {
  // F.conv2d(F.pad(x, [0, 1, 0, 1]), w, stride=2), "same" as TensorFlow pads
  CHECK(
      ToText(LayersFromText(R"(g (float[batch, 2, 8, 8] x) => (float[batch, 4, 4, 4] y) <float[4, 2, 3, 3] `c.weight`> {
    # signature: p_w: PARAMETER target='c.weight'
    # signature: x: USER_INPUT
    y = Conv <pads = [0, 0, 1, 1], strides = [2, 2]> (x, `c.weight`)
      # fx_node: %conv2d : [num_users=1] = call_function[target=torch.ops.aten.conv2d.default](args = (%pad, %p_w, None, [2, 2]), kwargs = {})
      # name_scopes: ['', 'c', 'conv2d']
      # class_hierarchy: ['mine.Net', 'timm.layers.conv2d_same.Conv2dSame', 'aten.conv2d.default']
      # rule_name: FuseConvPad
  })")) == R"(
pad Conv_0.pad @c (x) -> Conv_0.pad [B, 2, 9, 9] {mode=constant, pad=[0, 1, 0, 1]}
conv2d conv2d @c (Conv_0.pad, c.weight) -> y [B, 4, 4, 4] {dilation=[1, 1], groups=1, kernel_size=[3, 3], padding=[0, 0], stride=[2, 2]}
)");
}

TEST_CASE("a pad that was merged into two convolutions is one tensor, which their caller made") {
  // p = F.pad(x, (1, 0)); self.f(p), self.g(p), as WaveNets gate
  const auto convolution = [](const std::string& name, const std::string& of) {
    return "    " + name + " = Conv <pads = [1, 0]> (x, `" + of + ".weight`)\n      # fx_node: %" + name +
           " : [num_users=1] = call_function[target=torch.ops.aten.conv1d.default](args = (%pad, %p_" + of +
           "), kwargs = {})\n      # name_scopes: ['', '" + of + "', '" + name + "']\n" +
           "      # class_hierarchy: ['mine.Net', 'torch.nn.modules.conv.Conv1d', 'aten.conv1d.default']\n"
           "      # rule_name: FuseConvPad\n";
  };
  CHECK(ToText(LayersFromText(
            "g (float[batch, 2, 8] x) => (float[batch, 4, 8] y) <float[4, 2, 2] `f.weight`, float[4, 2, 2] "
            "`g.weight`> {\n    # signature: p_f: PARAMETER target='f.weight'\n    # signature: p_g: PARAMETER "
            "target='g.weight'\n    # signature: x: USER_INPUT\n" +
            convolution("conv1d", "f") + convolution("conv1d_1", "g") + R"(    y = Mul (conv1d, conv1d_1)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%conv1d, %conv1d_1), kwargs = {})
  })")) == R"(
pad Conv_0.pad (x) -> Conv_0.pad [B, 2, 9] {mode=constant, pad=[1, 0]}
conv1d conv1d @f (Conv_0.pad, f.weight) -> conv1d [B, 4, 8] {dilation=[1], groups=1, kernel_size=[2], padding=[0], stride=[1]}
conv1d conv1d_1 @g (Conv_0.pad, g.weight) -> conv1d_1 [B, 4, 8] {dilation=[1], groups=1, kernel_size=[2], padding=[0], stride=[1]}
mul mul (conv1d, conv1d_1) -> y [B, 4, 8]
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

// (weight - weight.mean(1)) * weight.var(1).rsqrt(): the difference stands in the variance alone.
TEST_CASE("a weight that is centred twice makes a tensor of its own") {
  CHECK(ToText(LayersFromText(
            R"(g (float[batch, 8] x) => (float[batch, 4] y) <float[4, 8] `fc.weight`, int64[1] one = {1}> {
    # signature: p_weight: PARAMETER target='fc.weight'
    # signature: x: USER_INPUT
    mean = ReduceMean (`fc.weight`, one)
      # fx_node: %mean : [num_users=1] = call_function[target=torch.ops.aten.mean.dim](args = (%p_weight, [1], True), kwargs = {})
      # name_scopes: ['', 'fc', 'mean']
    val_20 = Sub (`fc.weight`, mean)
      # fx_node: %var : [num_users=1] = call_function[target=torch.ops.aten.var.correction](args = (%p_weight, [1]), kwargs = {keepdim: True})
      # name_scopes: ['', 'fc', 'var']
    val_21 = Mul (val_20, val_20)
      # fx_node: %var : [num_users=1] = call_function[target=torch.ops.aten.var.correction](args = (%p_weight, [1]), kwargs = {keepdim: True})
      # name_scopes: ['', 'fc', 'var']
    var = ReduceMean (val_21, one)
      # fx_node: %var : [num_users=1] = call_function[target=torch.ops.aten.var.correction](args = (%p_weight, [1]), kwargs = {keepdim: True})
      # name_scopes: ['', 'fc', 'var']
    mul = Mul (val_20, var)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%sub, %var), kwargs = {})
      # name_scopes: ['', 'fc', 'mul']
    y = Gemm <transB = 1> (x, mul)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %mul), kwargs = {})
      # name_scopes: ['', 'fc', 'linear']
  })")) == R"(
mean mean @fc (fc.weight) -> mean [4, 1] {dim=[1], keepdim=1}
var var @fc (fc.weight) -> var [4, 1] {dim=[1], keepdim=1}
sub sub @fc (fc.weight) -> sub [4, 8] {scalar=0.0}
mul mul @fc (sub, var) -> mul [4, 8]
linear linear @fc (x, mul) -> y [B, 4]
)");
}

}  // namespace
}  // namespace vramplan
