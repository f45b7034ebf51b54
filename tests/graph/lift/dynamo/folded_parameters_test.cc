#include <doctest/doctest.h>

#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

TEST_CASE("constants that were computed from parameters of the module come back") {
  struct Row {
    const char* why;
    std::string shape, signature, fx;  // of the constant; of the module's parameters; of its user
    std::string layers;
  };
  const Row rows[] = {
      {"1 + weight (gemma's norms)", "8", "p_w: PARAMETER target='n.weight'", "aten.mul.Tensor](args = (%x, %add_105)",
       "add add_105 @n (n.weight) -> add_105 [8] {scalar=1.0}\nmul user @n (x, add_105) -> y [B, 6, 8]\n"},
      {"zeros that the module makes, beside a buffer that nothing names (ConViT)", "8",
       "b_b: BUFFER target='n.rel' persistent=True", "aten.mul.Tensor](args = (%x, %zeros_1)",
       "arange val_7 @n () -> val_7 [8]\nmul user @n (x, val_7) -> y [B, 6, 8]\n"},
      {"three biases as one (BEiT), one of them a buffer", "9 ",
       "p_q: PARAMETER target='n.q_bias'\n    # signature: p_v: PARAMETER target='n.v_bias'\n    # signature: b_k: "
       "BUFFER target='n.k_bias' persistent=False",
       "aten.add.Tensor](args = (%x, %cat_1)",
       "cat cat_1 @n (n.q_bias, n.v_bias, n.k_bias) -> cat_1 [9] {dim=0}\nadd user @n (x, cat_1) -> y [B, 6, 9]\n"},
      {"x @ self.lora_A.T", "3, 6", "p_a: PARAMETER target='n.lora_A'",
       "aten.matmul.default](args = (%x, %transpose_3)",
       "transpose transpose_3 @n (n.lora_A) -> transpose_3 [3, 6] {dim0=0, dim1=1}\nmatmul user @n (x, transpose_3) -> "
       "y "
       "[B, 2, 3, 6]\n"},
      {"biases at the offsets of query and key (LeViT)", "2, 3, 6",
       "p_b: PARAMETER target='n.attention_biases'\n    # signature: b_i: BUFFER target='n.attention_bias_idxs' "
       "persistent=False",
       "aten.add.Tensor](args = (%x, %index_5)",
       "index index_5 @n (n.attention_biases, n.attention_bias_idxs) -> index_5 [2, 3, 6]\nadd user @n (x, index_5) -> "
       "y "
       "[B, 2, 3, 6]\n"},
      {"relative positions of 2 queries and 3 keys (MViT)", "2, 3, 6",
       "p_h: PARAMETER target='n.rel_pos_h'\n    # signature: p_w: PARAMETER target='n.rel_pos_w'",
       "aten.add.Tensor](args = (%x, %index_5)",
       "arange index_5.distances @n () -> index_5.distances [2, 3] int64\n"
       "index index_5 @n (n.rel_pos_h, index_5.distances) -> index_5 [2, 3, 6]\nadd user @n (x, index_5) -> y "
       "[B, 2, 3, 6]\n"},
      {"the same, swapped where it is multiplied", "2, 3, 6", "p_t: PARAMETER target='n.rel_pos_t'",
       "aten.add.Tensor](args = (%x, %transpose_9)",
       "arange transpose_9.distances @n () -> transpose_9.distances [2, 6] int64\n"
       "index transpose_9.index @n (n.rel_pos_t, transpose_9.distances) -> transpose_9.index [2, 6, 3]\ntranspose "
       "transpose_9 @n (transpose_9.index) -> transpose_9 [2, 3, 6] {dim0=1, dim1=2}\nadd user @n (x, transpose_9) -> "
       "y [B, 2, 3, 6]\n"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.why);
    const std::string last = row.shape.substr(row.shape.size() - (row.shape.back() == ' ' ? 2 : 1), 1);
    const std::string x = row.shape.size() > 2 ? "batch, 2, 3, 6" : "batch, 6, " + last;
    const std::string target = row.fx.substr(0, row.fx.find(']'));
    const Layers layers = LayersFromText("g (float[" + x + "] x) => (float[" + x + "] y) <float[" + row.shape +
                                         "] val_7> {\n    # signature: " + row.signature +
                                         "\n    # signature: x: USER_INPUT\n    y = Add (x, val_7)\n      # fx_node: "
                                         "%user : [num_users=1] = call_function[target=torch.ops." +
                                         row.fx +
                                         ", kwargs = {})\n      # name_scopes: ['', 'n', 'user']\n      # "
                                         "class_hierarchy: ['mine.Net', 'mine.Block', '" +
                                         target + "']\n  }");
    CHECK(ToText(layers) == "\n" + row.layers);
  }
}

TEST_CASE("what the optimizer says it folded is behind a constant that no rule knows") {
  const auto lifted = [](const std::string& folded_from, const std::string& name) {
    Notes notes;
    const Layers layers = LayersFromText(
        "g (float[batch, 5, 3, 4] x) => (float[batch, 5, 3, 4] y) <float[5, 3, 4] val_7, float[4] `n.bias`> {\n"
        "    # signature: p_c: PARAMETER target='learner.context'\n"
        "    # signature: p_o: PARAMETER target='other'\n"
        "    # signature: p_b: PARAMETER target='n.bias'\n"
        "    # signature: x: USER_INPUT\n"
        "    # folded_from: val_7 " +
            folded_from + R"(
    a = Add (x, val_7)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %)" +
            name + R"(), kwargs = {})
      # name_scopes: ['', 'n', 'add']
      # class_hierarchy: ['mine.Net', 'mine.Text', 'aten.add.Tensor']
    y = Add (a, `n.bias`)
      # fx_node: %add_1 : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%add, %p_b), kwargs = {})
      # name_scopes: ['', 'n', 'add_1']
      # class_hierarchy: ['mine.Net', 'mine.Text', 'aten.add.Tensor']
  })",
        &notes);
    return ToText(layers).substr(0, ToText(layers).find("add add @n"));
  };
  CHECK(lifted("['learner.context', 'unsqueeze_8', 'val_2']", "expand") ==
        "\nexpand expand @n (learner.context) -> expand [5, 3, 4]\n");
  CHECK(lifted("['learner.context']", "mul_3") == "\nmul mul_3 @n (learner.context) -> mul_3 [5, 3, 4] {scalar=1.0}\n");
  CHECK(lifted("['learner.context']", "permute_1") ==
        "\nreshape permute_1 @n (learner.context) -> permute_1 [5, 3, 4]\n");
  CHECK(lifted("['learner.context', 'arange']", "embedding_1").find("learner.context") == std::string::npos);
  // Which of two it is, a name does not say; one that an operator names is not folded away.
  CHECK(lifted("['learner.context', 'other']", "mul_3").find("learner.context") == std::string::npos);
  CHECK(lifted("['n.bias']", "mul_3").find("n.bias") == std::string::npos);
  CHECK(lifted("not a list", "mul_3").find("learner.context") == std::string::npos);
}

TEST_CASE("a view of zeros that became another module's parameter, being equal, is its module's own again") {
  // NAFNet's LayerNorm2d: weight.view(1, C, 1, 1) * y + bias.view(1, C, 1, 1), beside the block's beta [1, C, 1, 1]
  const Layers layers = LayersFromText(
      R"(g (float[batch, 2, 4, 4] y) => (float[batch, 2, 4, 4] z) <float[1, 2, 1, 1] beta> {
    # signature: p_bias: PARAMETER target='norm.bias'
    # signature: p_beta: PARAMETER target='beta'
    # signature: y: USER_INPUT
    a = Add (y, beta)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%y, %view_1), kwargs = {})
      # name_scopes: ['', 'norm', 'add']
      # class_hierarchy: ['mine.Net', 'mine.LayerNorm2d', 'aten.add.Tensor']
    z = Mul (a, beta)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%add, %p_beta), kwargs = {})
  })");
  CHECK(ToText(layers) == R"(
reshape norm.view_1 @norm (norm.bias) -> view_1 [1, 2, 1, 1]
add add @norm (y, view_1) -> a [B, 2, 4, 4]
mul mul (a, beta) -> z [B, 2, 4, 4]
)");
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"norm.bias [2]", "beta [1, 2, 1, 1]"});
}

TEST_CASE("a table of relative positions has every distance of an axis") {
  // torchvision's MViT: 2 * max(2, 3) - 1 rows of 5; the table that nothing was picked from stays unknown
  Notes notes;
  const Layers layers = LayersFromText(
      R"(g (float[batch, 2, 3, 5] x) => (float[batch, 2, 3, 5] y) <float[2, 3, 5] val_7> {
    # signature: p_h: PARAMETER target='n.rel_pos_h'
    # signature: x: USER_INPUT
    y = Add (x, val_7)
      # fx_node: %user : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %index_5), kwargs = {})
      # name_scopes: ['', 'n', 'user']
      # class_hierarchy: ['mine.Net', 'mine.Block', 'aten.add.Tensor']
  })",
      &notes);
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"n.rel_pos_h [5, 5]"});
}

TEST_CASE("a table that went through a linear is as wide as its weight; Swin's coordinates are pairs") {
  const auto linear = [](const std::string& weight, const std::string& table) {
    const Layers layers =
        LayersFromText("g (float[batch, 7] x) => (float[batch, 7] y) <float[1, 3, 3, 7] val_1" + weight +
                       R"(, float[7] `l.bias`> {
    # signature: p_w: PARAMETER target='l.weight'
    # signature: p_b: PARAMETER target='l.bias'
    # signature: b_t: BUFFER target=')" +
                       table + R"(' persistent=True
    # signature: x: USER_INPUT
    l = Add (val_1, `l.bias`)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%b_t, %p_w, %p_b), kwargs = {})
      # name_scopes: ['', 'l', 'linear']
      # class_hierarchy: ['mine.Net', 'torch.nn.modules.linear.Linear', 'aten.linear.default']
    y = Add (x, l)
      # fx_node: %add : [num_users=1] = call_function[target=torch.ops.aten.add.Tensor](args = (%x, %linear), kwargs = {})
  })");
    std::vector<std::string> sizes = ToText(layers, layers.parameters);
    for (const std::string& buffer : ToText(layers, layers.buffers)) sizes.push_back(buffer);
    return sizes;
  };
  using Sizes = std::vector<std::string>;
  CHECK(linear("", "a.relative_coords_table") ==
        Sizes{"l.weight [7, 2]", "l.bias [7]", "a.relative_coords_table [1, 3, 3, 2]"});
  CHECK(linear(", float[7, 4] `l.weight`", "a.table") ==
        Sizes{"l.weight [7, 4]", "l.bias [7]", "a.table [1, 3, 3, 4]"});
}

TEST_CASE("parameters that no operator uses are as large as modules tell") {
  // layer3 never runs; its convolution is to layer2's what that is to layer1's. The GRU's biases were merged away.
  Notes notes;
  const Layers layers = LayersFromText(
      R"(g (float[batch, 8] x) => (float[batch, 8] y) <float[4, 8, 3, 3] `layer1.0.conv1.weight`, float[8, 16, 3, 3] `layer2.0.conv1.weight`, float[12, 4] `r.weight_ih_l0`, float[1, 1, 6] `e.cls_token`> {
    # signature: p_1: PARAMETER target='layer1.0.conv1.weight'
    # signature: p_2: PARAMETER target='layer2.0.conv1.weight'
    # signature: p_3: PARAMETER target='layer3.0.conv1.weight'
    # signature: p_w: PARAMETER target='r.weight_ih_l0'
    # signature: p_b: PARAMETER target='r.bias_ih_l0'
    # signature: p_c: PARAMETER target='e.cls_token'
    # signature: p_m: PARAMETER target='e.mask_token'
    # signature: x: USER_INPUT
    y = Relu (x)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
  })",
      &notes);
  CHECK(ToText(layers, layers.parameters) ==
        std::vector<std::string>{"layer1.0.conv1.weight [4, 8, 3, 3]", "layer2.0.conv1.weight [8, 16, 3, 3]",
                                 "layer3.0.conv1.weight [16, 32, 3, 3]", "r.weight_ih_l0 [12, 4]", "r.bias_ih_l0 [12]",
                                 "e.cls_token [1, 1, 6]", "e.mask_token [1, 1, 6]"});
  REQUIRE(notes.all().size() == 1);
  CHECK(notes.all()[0].code == "assumed-shape");
  CHECK(notes.all()[0].subject == "layer3.0.conv1.weight");
}

TEST_CASE("buffers that no operator reads: by what stands beside them; of frequencies the number is a guess") {
  const Layers layers = LayersFromText(
      R"(g (float[batch, 8] x) => (float[batch, 8] y) <float[40, 6] `e.position_embeddings.weight`> {
    # signature: p_t: PARAMETER target='e.position_embeddings.weight'
    # signature: b_p: BUFFER target='e.position_ids' persistent=False
    # signature: b_i: BUFFER target='e.token_type_ids' persistent=False
    # signature: b_f: BUFFER target='r.inv_freq' persistent=False
    # signature: b_o: BUFFER target='r.original_inv_freq' persistent=False
    # signature: x: USER_INPUT
    y = Relu (x)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
  })");
  CHECK(ToText(layers, layers.buffers) == std::vector<std::string>{"e.position_ids [1, 40] int64",
                                                                   "e.token_type_ids [1, 40] int64", "r.inv_freq [64]",
                                                                   "r.original_inv_freq [64]"});
  CHECK(layers.guesses.assumed_shapes == std::vector<std::string>{"r.inv_freq"});
}

TEST_CASE("layers of a dense block that never run go on as the block before, one after another") {
  // torchvision's DenseNet cut by its user: bottlenecks stay, what they read grows, and a transition doubles.
  const Layers layers = LayersFromText(
      R"(g (float[batch, 8] x) => (float[batch, 8] y) <float[128, 64, 1, 1] `block1.layer1.conv1.weight`, float[128, 96, 1, 1] `block1.layer2.conv1.weight`, float[128, 128, 1, 1] `block2.layer1.conv1.weight`, float[128, 160, 1, 1] `block2.layer2.conv1.weight`, float[256] `transition1.norm.weight`, float[512] `transition2.norm.weight`, float[128, 256, 1, 1] `transition1.conv.weight`> {
    # signature: p_1: PARAMETER target='block1.layer1.conv1.weight'
    # signature: p_2: PARAMETER target='block1.layer2.conv1.weight'
    # signature: p_3: PARAMETER target='transition1.norm.weight'
    # signature: p_4: PARAMETER target='transition1.conv.weight'
    # signature: p_5: PARAMETER target='block2.layer1.conv1.weight'
    # signature: p_6: PARAMETER target='block2.layer2.conv1.weight'
    # signature: p_7: PARAMETER target='transition2.norm.weight'
    # signature: q_1: PARAMETER target='transition2.conv.weight'
    # signature: q_2: PARAMETER target='block3.layer1.conv1.weight'
    # signature: q_3: PARAMETER target='block3.layer2.conv1.weight'
    # signature: x: USER_INPUT
    y = Relu (x)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
  })");
  const std::vector<std::string> parameters = ToText(layers, layers.parameters);
  REQUIRE(parameters.size() == 10);
  CHECK(std::vector<std::string>(parameters.begin() + 7, parameters.end()) ==
        std::vector<std::string>{"transition2.conv.weight [256, 512, 1, 1]",
                                 "block3.layer1.conv1.weight [128, 256, 1, 1]",
                                 "block3.layer2.conv1.weight [128, 288, 1, 1]"});
  CHECK(layers.guesses.assumed_shapes.size() == 3);
}

TEST_CASE("linears and norms that never run are as large as those of the same name, where those agree") {
  // BartForCausalLM's encoder_attn, SiglipForImageClassification's head, and a convolution, whose kernel nobody knows.
  const Layers layers = LayersFromText(
      R"(g (float[batch, 8] x) => (float[batch, 8] y) <float[6, 8] `d.0.self_attn.k_proj.weight`, float[6] `d.0.self_attn.k_proj.bias`, float[8, 8] `d.0.self_attn.out_proj.weight`, float[5] `d.0.self_attn_layer_norm.weight`, float[3, 8] `d.0.b.fc.weight`, float[4, 8] `d.0.c.fc.weight`, float[4, 8, 3, 3] `d.0.b.conv.weight`> {
    # signature: p_1: PARAMETER target='d.0.self_attn.k_proj.weight'
    # signature: p_2: PARAMETER target='d.0.self_attn.k_proj.bias'
    # signature: p_3: PARAMETER target='d.0.self_attn.out_proj.weight'
    # signature: p_4: PARAMETER target='d.0.self_attn_layer_norm.weight'
    # signature: p_5: PARAMETER target='d.0.b.fc.weight'
    # signature: p_6: PARAMETER target='d.0.c.fc.weight'
    # signature: p_7: PARAMETER target='d.0.b.conv.weight'
    # signature: q_1: PARAMETER target='d.0.encoder_attn.k_proj.weight'
    # signature: q_2: PARAMETER target='d.0.encoder_attn.k_proj.bias'
    # signature: q_3: PARAMETER target='d.0.encoder_attn_layer_norm.weight'
    # signature: q_4: PARAMETER target='d.0.head.in_proj_weight'
    # signature: q_5: PARAMETER target='d.0.head.out_proj.weight'
    # signature: q_6: PARAMETER target='d.0.a.fc.weight'
    # signature: q_7: PARAMETER target='d.0.a.conv.weight'
    # signature: x: USER_INPUT
    y = Relu (x)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
  })");
  const std::vector<std::string> sizes = ToText(layers, layers.parameters);
  REQUIRE(sizes.size() == 14);
  CHECK(std::vector<std::string>(sizes.begin() + 7, sizes.end()) ==
        std::vector<std::string>{"d.0.encoder_attn.k_proj.weight [6, 8]", "d.0.encoder_attn.k_proj.bias [6]",
                                 "d.0.encoder_attn_layer_norm.weight [5]", "d.0.head.in_proj_weight [24, 8]",
                                 "d.0.head.out_proj.weight [8, 8]", "d.0.a.fc.weight [0]", "d.0.a.conv.weight [0]"});
}

TEST_CASE("a class token whose expand was folded, as the batch was fixed") {
  // timm's vit_tiny_patch16_224, dynamo export of a batch of 2 without dynamic shapes, PyTorch 2.10.
  const Layers layers = LayersFromText(R"(g (float[2, 3, 8] x) => (float[2, 4, 8] y) <float[2, 1, 8] expand> {
    # signature: p_c: PARAMETER target='cls_token'
    # signature: x: USER_INPUT
    y = Concat <axis = 1> (expand, x)
      # fx_node: %cat : [num_users=1] = call_function[target=torch.ops.aten.cat.default](args = ([%expand, %x], 1), kwargs = {})
  })");
  CHECK(ToText(layers) ==
        "\nexpand expand (cls_token) -> expand [B, 1, 8]\ncat cat (expand, x) -> y [B, 4, 8] {dim=1}\n");
  CHECK(ToText(layers, layers.parameters) == std::vector<std::string>{"cls_token [1, 1, 8]"});
}

TEST_CASE("of a long list of modules that never run, each is as large as the last one that is known") {
  // an Xception whose encoder is cut behind block2: its further blocks do not double
  std::string signature;
  for (int i = 1; i <= 7; ++i) {
    signature += "    # signature: p_" + std::to_string(i) + ": PARAMETER target='block" + std::to_string(i) +
                 ".conv1.weight'\n";
  }
  const Layers layers = LayersFromText(
      "g (float[batch, 8] x) => (float[batch, 8] y) <float[4, 8, 3, 3] `block1.conv1.weight`, float[8, 16, 3, 3] "
      "`block2.conv1.weight`> {\n" +
      signature + R"(    # signature: x: USER_INPUT
    y = Relu (x)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%x,), kwargs = {})
  })");
  const std::vector<std::string> parameters = ToText(layers, layers.parameters);
  REQUIRE(parameters.size() == 7);
  CHECK(parameters[2] == "block3.conv1.weight [8, 16, 3, 3]");
  CHECK(parameters[6] == "block7.conv1.weight [8, 16, 3, 3]");
}

// F.linear(x, self.weight * scale, self.bias * scale), called twice. The export merged the products of the weight and
// dropped the bias, which is zero.
TEST_CASE("a module that scales its weight runs twice: no module beside it whose weight was folded takes its place") {
  CHECK(
      ToText(LayersFromText(
          R"(g (float[batch, 8] x) => (float[batch, 8] y, float[3, 8] c) <float[8, 8] `fc.weight`, float scale, float[3, 8] mul_9> {
    # signature: p_weight: PARAMETER target='fc.weight'
    # signature: p_bias: PARAMETER target='fc.bias'
    # signature: p_other: PARAMETER target='rgb.weight'
    # signature: x: USER_INPUT
    # folded_from: mul_9 ['rgb.weight', 'val_1']
    mul = Mul (`fc.weight`, scale)
      # fx_node: %mul : [num_users=1] = call_function[target=torch.ops.aten.mul.Tensor](args = (%p_weight, 0.5), kwargs = {})
      # name_scopes: ['', 'fc', 'mul']
    linear = Gemm <transB = 1> (x, mul)
      # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x, %mul, %mul_1), kwargs = {})
      # name_scopes: ['', 'fc', 'linear']
    y = Gemm <transB = 1> (linear, mul)
      # fx_node: %linear_1 : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%linear, %mul_2, %mul_3), kwargs = {})
      # name_scopes: ['', 'fc', 'linear_1']
    c = Relu (mul_9)
      # fx_node: %relu : [num_users=1] = call_function[target=torch.ops.aten.relu.default](args = (%mul_9,), kwargs = {})
      # name_scopes: ['', 'rgb', 'relu']
  })")) == R"(
mul mul @fc (fc.weight) -> mul [8, 8] {scalar=0.5}
mul mul_1 @fc (fc.bias) -> mul_1 [8] {scalar=1.0}
linear linear @fc (x, mul, mul_1) -> linear [B, 8]
mul mul_3 @fc (fc.bias) -> mul_3 [8] {scalar=1.0}
mul mul_2 @fc (fc.weight) -> mul_2 [8, 8] {scalar=0.5}
linear linear_1 @fc (linear, mul_2, mul_3) -> y [B, 8]
mul mul_9 @rgb (rgb.weight) -> mul_9 [3, 8] {scalar=1.0}
relu relu @rgb (mul_9) -> c [3, 8]
)");
}

}  // namespace
}  // namespace vramplan
