#include "graph/lift/dynamo/provenance.h"

#include <doctest/doctest.h>

#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

TEST_CASE("nodes of one fx node are one layer") {
  CHECK(ToText(LayersFromText(R"(g (float[batch, 8] x) => (float[batch, 4] y) <float[8, 4] val_1, float[4] `fc.bias`> {
    # signature: p_fc_weight: PARAMETER target='fc.weight'
    # signature: p_fc_bias: PARAMETER target='fc.bias'
    # signature: x: USER_INPUT
    s = Sigmoid (x)
      # fx_node: %silu : [num_users=1] = call_function[target=torch.ops.aten.silu.default](args = (%x,), kwargs = {})
      # name_scopes: ['', 'act', 'silu']
    silu = Mul (x, s)
      # fx_node: %silu : [num_users=1] = call_function[target=torch.ops.aten.silu.default](args = (%x,), kwargs = {})
      # name_scopes: ['', 'act', 'silu']
    m = MatMul (silu, val_1)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%silu, %p_fc_weight, %p_fc_bias), kwargs = {})
      # name_scopes: ['', 'fc', 'linear']
    y = Add (m, `fc.bias`)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%silu, %p_fc_weight, %p_fc_bias), kwargs = {})
      # name_scopes: ['', 'fc', 'linear']
  })")) == R"(
silu silu @act (x) -> silu [B, 8]
linear linear @fc (silu, fc.weight, fc.bias) -> y [B, 4]
)");
}

TEST_CASE("PyTorch 2.6 makes a sequence of what split and unbind give, and takes its pieces one by one") {
  CHECK(ToText(LayersFromText(R"(g (float[batch, 3, 8] x) => (float[batch, 8] y) {
    # signature: x: USER_INPUT
    i0 = Constant <value = int64 {0}> ()
      # fx_node: %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%unbind, 0), kwargs = {})
    i2 = Constant <value = int64 {2}> ()
      # fx_node: %getitem_2 : [num_users=1] = call_function[target=operator.getitem](args = (%unbind, 2), kwargs = {})
    one = Constant <value = int64 {1}> ()
      # fx_node: %unbind : [num_users=3] = call_function[target=torch.ops.aten.unbind.int](args = (%x, 1), kwargs = {})
    unbind = SplitToSequence <axis = 1, keepdims = 0> (x, one)
      # fx_node: %unbind : [num_users=3] = call_function[target=torch.ops.aten.unbind.int](args = (%x, 1), kwargs = {})
      # name_scopes: ['', 'unbind']
    getitem = SequenceAt (unbind, i0)
      # fx_node: %getitem : [num_users=1] = call_function[target=operator.getitem](args = (%unbind, 0), kwargs = {})
    getitem_2 = SequenceAt (unbind, i2)
      # fx_node: %getitem_2 : [num_users=1] = call_function[target=operator.getitem](args = (%unbind, 2), kwargs = {})
    y = Mul (getitem, getitem_2)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%getitem, %getitem_2), kwargs = {})
  })")) == R"(
unbind unbind (x) -> getitem [B, 8] getitem_2 [B, 8] {dim=1}
mul mul (getitem, getitem_2) -> y [B, 8]
)");
}

TEST_CASE("a batch norm folded into its convolution comes back") {
  Notes notes;
  const Layers layers = LayersFromText(
      R"(g (float[batch, 3, 8, 8] x) => (float[batch, 4, 4, 4] relu) <float[4, 3, 3, 3] `stem.conv.weight`, float[4] merged> {
    # signature: p_conv_weight: PARAMETER target='stem.conv.weight'
    # signature: p_conv_bias: PARAMETER target='stem.conv.bias'
    # signature: p_bn_weight: PARAMETER target='stem.bn.weight'
    # signature: p_bn_bias: PARAMETER target='stem.bn.bias'
    # signature: b_mean: BUFFER target='stem.bn.running_mean' persistent=True
    # signature: b_var: BUFFER target='stem.bn.running_var' persistent=True
    # signature: b_count: BUFFER target='stem.bn.num_batches_tracked' persistent=True
    # signature: x: USER_INPUT
    getitem = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], dilations = [1, 1], group = 1> (x, `stem.conv.weight`, merged)
      # fx_node: %bn : [num_users=3] = call_function[target=torch.ops.aten._native_batch_norm_legit_functional.default](args = (%conv2d, %p_bn_weight, %p_bn_bias, %b_mean, %b_var, True, 0.1, 1e-05), kwargs = {})
      # name_scopes: ['', 'stem', 'stem.bn', 'bn']
      # class_hierarchy: ['mine.Net', 'mine.Stem', 'torch.nn.modules.batchnorm.BatchNorm2d', 'aten._native_batch_norm_legit_functional.default']
      # rule_name: RemoveOptionalBiasFromConv, FuseBatchNormIntoConv
    relu = Relu (getitem)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%getitem,), kwargs = {})
      # name_scopes: ['', 'stem', 'stem.relu', 'relu']
      # class_hierarchy: ['mine.Net', 'mine.Stem', 'torch.nn.modules.activation.ReLU', 'aten.relu.default']
  })",
      &notes);
  CHECK(ToText(layers) == R"(
conv2d conv2d @stem.conv (x, stem.conv.weight, stem.conv.bias) -> conv2d [B, 4, 4, 4] {dilation=[1, 1], groups=1, kernel_size=[3, 3], padding=[1, 1], stride=[2, 2]}
batch_norm bn @stem.bn (conv2d, stem.bn.weight, stem.bn.bias, stem.bn.running_mean, stem.bn.running_var) -> getitem [B, 4, 4, 4] {training=1}
relu relu @stem.relu (getitem) -> relu [B, 4, 4, 4] {inplace=1}
)");
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"stem.conv.weight [4, 3, 3, 3]",
                                                                      "stem.conv.bias [4]", "stem.bn.weight [4]",
                                                                      "stem.bn.bias [4]"});
  CHECK(ToText(layers, layers.buffers) == std::vector<std::string>{"stem.bn.running_mean [4]",
                                                                   "stem.bn.running_var [4]",
                                                                   "stem.bn.num_batches_tracked [] int64"});
  CHECK(notes.Has("assumed-inplace"));
  std::string calls;
  for (const Module& module : layers.modules) calls += module.path + ":" + module.class_name + " ";
  CHECK(
      calls ==
      ":mine.Net stem:mine.Stem stem.conv:torch.nn.modules.conv.Conv2d stem.bn:torch.nn.modules.batchnorm.BatchNorm2d "
      "stem.relu:torch.nn.modules.activation.ReLU ");
}

TEST_CASE("initializers of equal contents are merged, parameters are not") {
  // Both biases are zeros, so the exporter kept one; the second layer's is dropped altogether.
  const Layers layers = LayersFromText(
      R"(g (float[batch, 8] x) => (float[batch, 8] y) <float[8, 8] `a.weight`, float[8] `a.bias`, float[8, 8] val_2> {
    # signature: p_a_weight: PARAMETER target='a.weight'
    # signature: p_a_bias: PARAMETER target='a.bias'
    # signature: p_b_weight: PARAMETER target='b.weight'
    # signature: p_b_bias: PARAMETER target='b.bias'
    # signature: p_norm_weight: PARAMETER target='norm.weight'
    # signature: p_norm_bias: PARAMETER target='norm.bias'
    # signature: p_scale: PARAMETER target='scale'
    linear = Gemm <transB = 1> (x, `a.weight`, `a.bias`)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %p_a_weight, %p_a_bias), kwargs = {})
    linear_1 = Gemm <transB = 1> (linear, val_2)
      # fx_node: %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%linear, %p_b_weight, %p_b_bias), kwargs = {})
    layer_norm = LayerNormalization (linear_1, `a.bias`, `a.bias`)
      # fx_node: %layer_norm : [num_users=1] = call_function[target=torch.ops.aten.layer_norm.default](args = (%linear_1, [8], %p_norm_weight, %p_norm_bias, 1e-06), kwargs = {})
    y = Mul (layer_norm, `a.bias`)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%p_scale, %layer_norm), kwargs = {})
  })");
  CHECK(ToText(layers) == R"(
linear linear (x, a.weight, a.bias) -> linear [B, 8]
linear linear_1 (linear, b.weight, b.bias) -> linear_1 [B, 8]
layer_norm layer_norm (linear_1, norm.weight, norm.bias) -> layer_norm [B, 8] {normalized_axes=1}
mul mul (scale, layer_norm) -> y [B, 8]
)");
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"a.weight [8, 8]", "a.bias [8]",
                                                                      "b.weight [8, 8]", "b.bias [8]",
                                                                      "norm.weight [8]", "norm.bias [8]", "scale [8]"});
}

TEST_CASE("tied parameters are one, a parameter that nothing tells of is told") {
  Notes notes;
  const Layers layers = LayersFromText(
      R"(g (int64[batch, 5] ids) => (float[batch, 5, 16] y) <float[16, 4] `head.weight`, float[4, 16] val_1> {
    # signature: p_wte_weight: PARAMETER target='wte.weight'
    # signature: p_lost_weight: PARAMETER target='lost.weight'
    # signature: p_head_weight: PARAMETER target='head.weight'
    # signature: a_0: USER_INPUT
    embedding = Gather (`head.weight`, ids)
      # fx_node: %embedding : [num_users=1] = call_function[target=torch.ops.aten.embedding.default](args = (%p_head_weight, %a_0), kwargs = {})
      # name_scopes: ['', 'wte', 'embedding']
    y = MatMul (embedding, val_1)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%embedding, %p_head_weight), kwargs = {})
      # name_scopes: ['', 'head', 'linear']
  })",
      &notes);
  CHECK(ToText(layers) == R"(
embedding embedding @wte (wte.weight, ids) -> embedding [B, 5, 4]
linear linear @head (embedding, wte.weight) -> y [B, 5, 16]
)");
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"wte.weight [16, 4]", "lost.weight [0]"});
  REQUIRE(notes.all().size() == 1);
  CHECK(notes.all()[0].code == "unknown-parameter");
  CHECK(notes.all()[0].subject == "lost.weight");
}

TEST_CASE("a parameter that is one number is found where the export merged it with another") {
  Notes notes;
  const Layers layers = LayersFromText(R"(g (float[batch, 8] x) => (float[batch, 8] y) <float `a.step` = {0.1}> {
    # signature: p_a_step: PARAMETER target='a.step'
    # signature: p_b_step: PARAMETER target='b.step'
    # signature: p_c_step: PARAMETER target='c.step'
    # signature: x: USER_INPUT
    div = Div (x, `a.step`)
      # fx_node: %div : [num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%x, %p_a_step), kwargs = {})
    div_1 = Div (div, `a.step`)
      # fx_node: %div_1 : [num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%div, %p_b_step), kwargs = {})
    y = Identity (div_1)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%div_1, %p_c_step), kwargs = {})
  })",
                                       &notes);
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"a.step []", "b.step []", "c.step []"});
  REQUIRE(notes.all().size() == 1);  // c.step is used, and nothing tells its shape: one number
  CHECK(notes.all()[0].subject == "c.step");
}

TEST_CASE("numbers are attributes, and names that left no node are found through the data") {
  // view (%add_1 = %x + 0, %view_1 between) and an eval dropout (%clone) are gone from the file.
  CHECK(ToText(LayersFromText(
            R"(g (float[batch, 6] x) => (float[batch, 2, 3] y) <float half = {0.5}, int64[3] sizes = {-1, 2, 3}> {
    # signature: x: USER_INPUT
    mul = Mul (x, half)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add_1, 0.5), kwargs = {})
    sub = Sub (half, mul)
      # fx_node: %rsub : [num_users=1] = call_function[target=torch.ops.aten.rsub.Scalar](args = (%clone, 0.5), kwargs = {})
    y = Reshape (sub, sizes)
      # fx_node: %view_2 : [num_users=1] = call_function[target=torch.ops.aten.view.default](args = (%view_1, [-1, 2, 3]), kwargs = {})
  })")) == R"(
mul mul (x) -> mul [B, 6] {scalar=0.5}
rsub rsub (mul) -> sub [B, 6] {scalar=0.5}
reshape view_2 (sub) -> y [B, 2, 3]
)");
}

TEST_CASE("a dropped contiguous() between a transpose and a view made a copy") {
  CHECK(ToText(LayersFromText(R"(g (float[batch, 4, 6] x) => (float[batch, 4] y) <int64 one = {1}> {
    # signature: x: USER_INPUT
    transpose = Transpose <perm = [0, 2, 1]> (x)
      # fx_node: %transpose : [num_users=1] = call_function[target=torch.ops.aten.transpose.int](args = (%x, -1, -2), kwargs = {})
    y = Gather <axis = 1> (transpose, one)
      # fx_node: %select : [num_users=1] = call_function[target=torch.ops.aten.select.int](args = (%clone_1, 1, 1), kwargs = {})
  })")) == R"(
transpose transpose (x) -> transpose [B, 6, 4] {dim0=2, dim1=1}
contiguous clone_1 (transpose) -> clone_1 [B, 6, 4]
select select (clone_1) -> y [B, 4] {dim=1, index=1}
)");
}

TEST_CASE("random: noise with a Cast of nobody's, dropout, and dropout that does nothing") {
  CHECK(ToText(LayersFromText(R"(g (float[batch, 6] x) => (float[batch, 6] y)
      <float p = {0.8}, float[1] ones = {1.0}, float ratio = {0.1}, bool yes = {1}> {
    # signature: x: USER_INPUT
    rands = RandomUniformLike (x)
      # fx_node: %bernoulli : [num_users=1] = call_function[target=torch.ops.aten.bernoulli.p](args = (%empty, 0.8), kwargs = {})
      # name_scopes: ['', 'sd', 'bernoulli']
    sampled = Less (rands, p)
      # fx_node: %bernoulli : [num_users=1] = call_function[target=torch.ops.aten.bernoulli.p](args = (%empty, 0.8), kwargs = {})
      # name_scopes: ['', 'sd', 'bernoulli']
    bernoulli = Cast <to = 1> (sampled)
    div = Div (bernoulli, p)
      # fx_node: %div : [num_users=1] = call_function[target=torch.ops.aten.div.Tensor](args = (%bernoulli, 0.8), kwargs = {})
      # name_scopes: ['', 'sd', 'div']
      # class_hierarchy: ['mine.Net', 'torchvision.ops.stochastic_depth.StochasticDepth', 'aten.div.Tensor']
    mul = Mul (x, div)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%x, %div), kwargs = {})
      # name_scopes: ['', 'sd', 'mul']
    getitem = Dropout (mul, ratio, yes)
      # fx_node: %native_dropout : [num_users=1] = call_function[target=torch.ops.aten.native_dropout.default](args = (%mul, 0.1, True), kwargs = {})
      # name_scopes: ['', 'drop', 'native_dropout']
    getitem_2 = Dropout (getitem, ratio, yes)
      # fx_node: %native_dropout_1 : [num_users=1] = call_function[target=torch.ops.aten.native_dropout.default](args = (%getitem, 0.0, True), kwargs = {})
    y = Neg (getitem_2)
      # fx_node: %neg : [num_users=1] = call_function[target=torch.ops.aten.neg.default](args = (%getitem_2,), kwargs = {})
  })")) == R"(
bernoulli bernoulli @sd (-, x) -> bernoulli [B, 6] {p=0.8}
div div @sd (bernoulli) -> div [B, 6] {inplace=1, scalar=0.8}
mul mul @sd (x, div) -> mul [B, 6]
dropout native_dropout @drop (mul) -> getitem [B, 6] {p=0.1}
neg neg (getitem) -> y [B, 6]
)");
}

TEST_CASE("a Split that a rewrite made stands in the module of its users") {
  CHECK(ToText(LayersFromText(R"(g (float[batch, 6] x) => (float[batch, 2] y) {
    # signature: x: USER_INPUT
    a, b, c = Split <axis = -1, num_outputs = 3> (x)
      # name: node_Split_7
    add = Add (a, b)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%getitem, %getitem_1), kwargs = {})
      # name_scopes: ['', 'attn', 'add']
    y = Add (add, c)
      # fx_node: %add_1 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%add, %getitem_2), kwargs = {})
      # name_scopes: ['', 'attn', 'attn.sum', 'add_1']
  })")) == R"(
split node_Split_7 @attn (x) -> a [B, 2] b [B, 2] c [B, 2] {dim=1}
add add @attn (a, b) -> add [B, 2]
add add_1 @attn.sum (add, c) -> y [B, 2]
)");
}

TEST_CASE("a Split of which a block returns a part stands in the block") {
  // y, skip = self.conv(x).chunk(2, 1); return y + x, skip
  CHECK(ToText(LayersFromText(R"(g (float[batch, 6] x) => (float[batch, 3] z) {
    # signature: x: USER_INPUT
    conv = Neg (x)
      # fx_node: %neg : [num_users=1] = call_function[target=torch.ops.aten.neg.default](args = (%x,), kwargs = {})
      # name_scopes: ['', 'block', 'block.conv', 'neg']
    a, b = Split <axis = -1, num_outputs = 2> (conv)
      # name: node_Split_7
    y = Abs (a)
      # fx_node: %abs_1 : [num_users=1] = call_function[target=torch.ops.aten.abs.default](args = (%getitem,), kwargs = {})
      # name_scopes: ['', 'block', 'abs_1']
    z = Add (y, b)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%abs_1, %getitem_1), kwargs = {})
      # name_scopes: ['', 'add']
  })")) == R"(
neg neg @block.conv (x) -> conv [B, 6]
split node_Split_7 @block (conv) -> a [B, 3] b [B, 3] {dim=1}
abs abs_1 @block (a) -> y [B, 3]
add add (y, b) -> z [B, 3]
)");
}

TEST_CASE("a window attention's folded position bias comes from its table") {
  const Layers layers =
      LayersFromText(R"(g (float[batch, 2, 4, 4] x) => (float[batch, 2, 4, 4] y) <float[1, 2, 4, 4] unsqueeze> {
    # signature: p_table: PARAMETER target='attn.relative_position_bias_table'
    # signature: b_index: BUFFER target='attn.relative_position_index' persistent=True
    # signature: x: USER_INPUT
    y = Add (x, unsqueeze)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %unsqueeze), kwargs = {})
      # name_scopes: ['', 'attn', 'add']
  })");
  CHECK(ToText(layers) == R"(
index unsqueeze.index @attn (attn.relative_position_bias_table, attn.relative_position_index) -> unsqueeze.index [16, 2]
reshape unsqueeze.reshape @attn (unsqueeze.index) -> unsqueeze.reshape [4, 4, 2]
permute unsqueeze.permute @attn (unsqueeze.reshape) -> unsqueeze.permute [2, 4, 4] {dims=[2, 0, 1]}
contiguous unsqueeze.contiguous @attn (unsqueeze.permute) -> unsqueeze.contiguous [2, 4, 4]
unsqueeze unsqueeze.unsqueeze @attn (unsqueeze.contiguous) -> unsqueeze.unsqueeze [1, 2, 4, 4] {dim=0}
add add @attn (x, unsqueeze.unsqueeze) -> y [B, 2, 4, 4]
)");
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"attn.relative_position_bias_table [9, 2]"});
  CHECK(ToText(layers, layers.buffers) == std::vector<std::string>{"attn.relative_position_index [16] int64"});
}

TEST_CASE("a folded difference of windows is their mask, not the position bias of the attention within") {
  // transformers 5, modeling_donut_swin.py: get_attn_mask of the layer; the table is in its attention.
  const Layers layers =
      LayersFromText(R"(g (float[batch, 16, 4, 4] x) => (float[batch, 16, 4, 4] y) <float[16, 4, 4] sub_3> {
    # signature: p_table: PARAMETER target='attn.relative_position_bias_table'
    # signature: b_index: BUFFER target='attn.relative_position_index' persistent=True
    # signature: x: USER_INPUT
    y = Add (x, sub_3)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %sub_3), kwargs = {})
      # name_scopes: ['', 'attn', 'add']
  })");
  CHECK(ToText(layers).find("index") == std::string::npos);
  CHECK(ToText(layers).find("add add @attn (x, sub_3)") != std::string::npos);
}

TEST_CASE("nodes without provenance in a file that has some go to the patterns") {
  CHECK(ToText(LayersFromText(R"(g (float[batch, 6] x) => (float[batch, 6] y) {
    # signature: x: USER_INPUT
    exp = Exp (x)
      # fx_node: %exp : [num_users=1] = call_function[target=torch.ops.aten.exp.default](args = (%x,), kwargs = {})
    h = Relu (exp)
      # name: /act/Relu
    y = Neg (h)
      # fx_node: %neg : [num_users=1] = call_function[target=torch.ops.aten.neg.default](args = (%relu,), kwargs = {})
  })")) == R"(
exp exp (x) -> exp [B, 6]
relu /act/Relu @act (exp) -> h [B, 6]
neg neg (h) -> y [B, 6]
)");
}

TEST_CASE("an operator without a rule keeps its name and its operands") {
  CHECK(ToText(LayersFromText(R"(g (float[batch, 6] x) => (float[batch, 6] y) {
    # signature: x: USER_INPUT
    y = Gammaln (x)
      # fx_node: %igamma : [num_users=1] = call_function[target=torch.ops.aten.igamma.default](args = (%x,), kwargs = {})
  })")) == "\naten::igamma igamma (x) -> y [B, 6]\n");
}

TEST_CASE("attention's operands are found by their part where their names are gone") {
  // q, k, v went through contiguous(), which left no node: the names %clone.. say nothing.
  const std::string fx =
      "      # fx_node: %sdpa : [num_users=1] = "
      "call_function[target=torch.ops.aten.scaled_dot_product_attention.default]"
      "(args = (%clone_1, %clone_2, %clone_3, %clone), kwargs = {})\n      # name_scopes: ['', 'attn', 'sdpa']\n";
  const auto from = [](const char* name, const char* op, const char* of) {
    return std::string("      # fx_node: %") + name + " : [num_users=1] = call_function[target=torch.ops.aten." + op +
           ".default](args = (%" + of + ",), kwargs = {})\n      # name_scopes: ['', 'attn', '" + name + "']\n";
  };
  const std::string text = R"(g (float[batch, 2, 6, 8] a, float[batch, 2, 6, 8] b, float[batch, 2, 6, 8] c,
    float[1, 2, 6, 6] m) => (float[batch, 2, 6, 8] sdpa) {
    # signature: a: USER_INPUT
    # signature: b: USER_INPUT
    # signature: c: USER_INPUT
    # signature: m: USER_INPUT
    value = Relu (c)
)" + from("value", "relu", "c") +
                           "    key = Relu (b)\n" + from("key", "relu", "b") + "    query = Relu (a)\n" +
                           from("query", "relu", "a") + "    kt = Transpose <perm = [0, 1, 3, 2]> (key)\n" + fx +
                           "    s = MatMul (query, kt)\n" + fx + "    sm = Add (s, m)\n" + fx +
                           "    p = Softmax <axis = -1> (sm)\n" + fx + "    sdpa = MatMul (p, value)\n" + fx + "  }";
  const Layers layers = LayersFromText(text);
  const Layer& call = layers.layers.back();
  REQUIRE(call.op == "scaled_dot_product_attention");
  std::string operands;
  for (const ValueId id : call.inputs) operands += layers[id].name + " ";
  CHECK(operands == "query key value m ");
}

TEST_CASE("keys whose view as heads was merged away are viewed again") {
  // nn.MultiheadAttention: the exporter turns keys by way of [N * heads, length, width], which they had before the view.
  const auto from = [](const char* name, const char* call) {
    return std::string("      # fx_node: %") + name + " : [num_users=1] = call_function[target=torch.ops.aten." + call +
           ", kwargs = {})\n";
  };
  const std::string sdpa = from("sdpa", "scaled_dot_product_attention.default](args = (%q, %view_5, %v)");
  CHECK(ToText(LayersFromText(
            R"(g (float[batch, 8, 61, 24] q, float[batch, 488, 24] k, float[batch, 8, 61, 24] v) =>
    (float[batch, 8, 61, 24] sdpa) <int64[3] three = {-1, 61, 24}, int64[4] four = {-1, 8, 24, 61}> {
    # signature: q: USER_INPUT
    # signature: k: USER_INPUT
    # signature: v: USER_INPUT
    view = Reshape (k, three)
)" + from("view", "view.default](args = (%k, [%n, 61, 24])") +
            "    turned = Transpose <perm = [0, 2, 1]> (view)\n" + sdpa + "    kt = Reshape (turned, four)\n" + sdpa +
            "    s = MatMul (q, kt)\n" + sdpa + "    p = Softmax <axis = -1> (s)\n" + sdpa +
            "    sdpa = MatMul (p, v)\n" + sdpa + "  }")) == R"(
reshape view (k) -> view [8*B, 61, 24]
reshape view_5 (view) -> view_5 [B, 8, 61, 24]
scaled_dot_product_attention sdpa (q, view_5, v) -> sdpa [B, 8, 61, 24]
)");
}

TEST_CASE("transposes that the exporter merged are what is left of them") {
  // k.view(26, b, 16).transpose(0, 1).transpose(-2, -1), as nn.MultiheadAttention with weights multiplies q by it
  CHECK(ToText(LayersFromText(R"(g (float[26, batch, 16] view_2) => (float[batch, 16, 26] y) {
    # signature: view_2: USER_INPUT
    y = Transpose <perm = [1, 2, 0]> (view_2)
      # fx_node: %transpose_5 : [num_users=1] = call_function[target=torch.ops.aten.transpose.int](args = (%transpose_3, -2, -1), kwargs = {})
  })")) == R"(
permute transpose_5 (view_2) -> y [B, 16, 26] {dims=[1, 2, 0]}
)");
}

}  // namespace
}  // namespace vramplan
