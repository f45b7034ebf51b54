
#include <doctest/doctest.h>

#include <string>

#include "planner/lifetimes/lifetimes.h"
#include "tests/support/forward.h"

namespace vramplan {
namespace {

using testing::Forward;

TEST_CASE("a name lives to the end of its frame, or until it is written anew") {
  // timm's StarNet: x1, x2 = self.f1(x), self.f2(x); x = self.act(x1) * x2; x = self.dwconv2(self.g(x))
  const Forward f(R"(
a b.dwconv conv2d x
b b.f1 conv2d a
c b.f2 conv2d a
d b.act relu b
e b mul d c
g b.g conv2d e
h b.dwconv2 conv2d g
i b add x h
out - abs i)");
  CHECK(f.DiesBehind("b") == "i");  // x1
  CHECK(f.DiesBehind("c") == "i");
  CHECK(f.DiesBehind("e") == "h");  // x, until dwconv2's result has the name
  CHECK(f.DiesBehind("g") == "h");
  CHECK(f.DiesBehind("h") == "i");
}

TEST_CASE("a list keeps all that it was given, to whichever depth") {
  // timm's OsaBlock: output = [x]; x = self.conv_mid(x, output); x = self.conv_concat(x)
  const Forward f(R"(
a s.conv_mid.0 conv2d x
b s.conv_mid.1 conv2d a
c s.conv_mid cat a b
d s.conv_concat conv2d c
e s mul d
out - abs e)");
  CHECK(f.DiesBehind("a") == "e");
  CHECK(f.DiesBehind("b") == "e");
  CHECK(f.DiesBehind("c") == "d");
}

TEST_CASE("diffusers' residual block names both sides of its sum, which it divides") {
  // ResnetBlock2D: output_tensor = (input_tensor + hidden_states) / self.output_scale_factor
  const Forward f(R"(
a b.norm1 group_norm x
b b.conv1 conv2d a
c b.norm2 group_norm b
d b.conv2 conv2d c
e b.conv_shortcut conv2d x
g b add e d
h b div g
out - abs h)");
  CHECK(f.DiesBehind("d") == "h");
  CHECK(f.DiesBehind("e") == "h");
  CHECK(f.DiesBehind("g") == "h");  // read there
}

TEST_CASE("attention over a graph names its scores, its weights and what it returns") {
  // Diego999's pyGAT: e = leakyrelu(...); attention = where(adj > 0, e, zero_vec); attention = softmax(attention)
  const Forward f(R"(
a g matmul x y
b g leaky_relu a
c g where b
d g softmax c
e g matmul d x
h g elu e
out - abs h)");
  CHECK(f.DiesBehind("b") == "h");
  CHECK(f.DiesBehind("d") == "h");
  CHECK(f.DiesBehind("e") == "h");
}

TEST_CASE("who calls the same in another order is another") {
  // x_preact = self.norm1(x); x = self.conv1(x_preact): timm's pre-activation; others norm what they convolved
  const std::string rest = R"(
c b.norm2 batch_norm b
d b.conv2 conv2d c
e b.norm3 batch_norm d
f b.conv3 conv2d e
g b add x f
out - abs g)";
  CHECK(Forward("a b.norm1 batch_norm x\nb b.conv1 conv2d a" + rest).DiesBehind("a") == "g");
  CHECK(Forward("a b.conv1 conv2d x\nb b.norm1 batch_norm a" + rest).DiesBehind("b") == "c");
}

TEST_CASE("lists that a call within the call returned; outputs of the whole model") {
  // transformers' DPT: hidden_states = self.neck(hidden_states); logits = self.head(hidden_states)
  const Forward f(R"(
a b.neck.fusion_stage.layers.0 conv2d x
b b.neck.fusion_stage.layers.1 conv2d a
c b.neck.fusion_stage.layers.2 conv2d b
d b.head conv2d c
out b abs d)");
  CHECK(f.DiesBehind("a") == "out");
  CHECK(f.DiesBehind("b") == "out");
  // outputs = self.model(...); logits = self.lm_head(outputs[0]); logits = logits * self.logit_scale
  CHECK(Forward("a c.model.norm layer_norm x\nb c.lm_head linear a\nd c mul b\nout - abs d").DiesBehind("a") == "d");
}

TEST_CASE("names that are written anew counted from the frame's end") {
  // transformers 5, modeling_donut_swin.py; its attention in transformers 4's words
  const Forward f(R"(
n l.layernorm_before layer_norm x
p l pad n
r l roll p
w l reshape r
mask l add x
q l.attention.self.query linear w
k l.attention.self.key linear w
v l.attention.self.value linear w
s l.attention.self matmul q k
t l.attention.self div s
u l.attention.self softmax t
c l.attention.self matmul u v
o l.attention.output linear c
y l contiguous o
z l reshape y
e l roll z
g l reshape e
h l add x g
i l.layernorm_after layer_norm h
j l.intermediate gelu i
m l.output linear j
end l add h m
out - abs end)");
  CHECK(f.DiesBehind("n") == "p");
  CHECK(f.DiesBehind("p") == "h");    // hidden_states
  CHECK(f.DiesBehind("r") == "end");  // shifted_hidden_states
  CHECK(f.DiesBehind("w") == "end");  // hidden_states_windows
  CHECK(f.DiesBehind("s") == "t");    // attention_scores
  CHECK(f.DiesBehind("t") == "c");    // attention_scores
  CHECK(f.DiesBehind("u") == "c");    // attention_probs
  CHECK(f.DiesBehind("o") == "end");  // attention_output
  CHECK(f.DiesBehind("j") == "end");  // layer_output, until it is the sum
}

TEST_CASE("scores and probabilities have names of their own, or one") {
  const std::string attention = R"(
q s.query linear x
k s.key linear x
v s.value linear x
s s matmul q k
t s SCALE s
m s add t x
u s softmax m
c s matmul u v
out - abs c)";
  const auto scaled = [&](const std::string& op) {
    return Forward(std::string(attention).replace(attention.find("SCALE"), 5, op));
  };
  CHECK(scaled("div").DiesBehind("m") == "c");  // attention_scores; attention_probs = softmax(attention_scores)
  CHECK(scaled("mul").DiesBehind("m") == "u");  // attn_weights = softmax(attn_weights)
}

TEST_CASE("a frame that calls what the known one does not is another; what a call was given has a name") {
  const std::string layer = R"(
n l.layernorm_before layer_norm x
a l.attention linear n
h l add a x
m l.layernorm_after layer_norm h
i l.intermediate gelu m
o l.output linear i
)";
  CHECK(Forward(layer + "out - abs o").DiesBehind("n") == "o");  // modeling_yolos.py: hidden_states_norm
  CHECK(Forward(layer + "t l.temporal_attention linear o\nout - abs t").DiesBehind("n") == "a");
  // timm's DaViT: x_windows = window_partition(x); attn_windows = self.attn(x_windows)
  const Forward f(R"(
a b.cpe1 conv2d x
n b.norm1 layer_norm a
p b pad n
w b reshape p
t b.attn linear w
s b add a t
c b.cpe2 conv2d s
out - abs c)");
  CHECK(f.DiesBehind("w") == "c");
  CHECK(f.DiesBehind("t") == "c");
}

TEST_CASE("frames of libraries, and of the code that others copy") {
  struct Row {
    const char *source, *frame, *value, *behind;
  };
  for (const Row& row : {
           // attention_output = self.attention(...); hidden_states = attention_output + hidden_states; self.mlp(...)
           Row{"transformers, modeling_pvt.py",
               "n l.layer_norm_1 layer_norm x\na l.attention linear n\nh l add a x\nm l.layer_norm_2 layer_norm h\n"
               "p l.mlp linear m\ns l add h p",
               "a", "s"},
           Row{"transformers, modeling_modernbert.py: attn_output",
               "a l.attn linear x\nh l add x a\nn l.mlp_norm layer_norm h\np l.mlp linear n\ns l add h p", "a", "s"},
           Row{"transformers, modeling_gpt_neox.py: attn_output waits for mlp_output",
               "n l.input_layernorm layer_norm x\na l.attention linear n\n"
               "m l.post_attention_layernorm layer_norm x\np l.mlp linear m\nt l add p a\ns l add t x",
               "p", "s"},
           Row{"transformers, modeling_hiera.py: hidden_states_norm",
               "n l.layernorm_before layer_norm x\na l.attn linear n\nh l add x a\nm l.layernorm_after layer_norm h\n"
               "p l.mlp linear m\ns l add h p",
               "a", "s"},
           Row{"transformers, modeling_mobilebert.py: hidden_states until the norm is back",
               "d l.dense linear x\nt l add d x\nm l.LayerNorm mul t\nn l.LayerNorm add m", "d", "n"},
           Row{"transformers, modeling_mobilebert.py: self_attention_output",
               "b l.bottleneck linear x\na l.attention linear b\nf l.ffn.0 linear a\ni l.intermediate linear f\n"
               "o l.output linear i",
               "a", "o"},
           Row{"transformers, modeling_swin.py: attention_windows of a shifted block",
               "n l.layernorm_before layer_norm x\nr l reshape n\ns l roll r\na l.attention linear s\n"
               "w l reshape a\nt l roll w\nh l add x t\nm l.layernorm_after layer_norm h\no l.mlp linear m",
               "t", "o"},
           Row{"transformers, modeling_squeezebert.py: attention_probs",
               "q l.query conv1d x\nk l.key conv1d x\nv l.value conv1d x\na l.matmul_qk matmul q k\nd l div a\n"
               "p l.softmax softmax d\nm l.matmul_qkv matmul p v\no l reshape m",
               "p", "o"},
           Row{"xuebinqin/U-2-Net: d1",
               "a l.stage1 conv2d x\nb l.pool12 max_pool2d a\nc l.stage2 conv2d b\nd l.stage1d conv2d c\n"
               "s l.side1 conv2d d\nt l.side2 conv2d c\nj l cat s t\no l.outconv conv2d j",
               "s", "o"},
           Row{"transformers, modeling_mt5.py: hidden_gelu",
               "g l.wi_0 linear x\na l.act gelu g\nh l.wi_1 linear x\nm l mul a h\no l.wo linear m", "a", "o"},
           Row{"transformers, modeling_resnet.py: residual",
               "c l.layer conv2d x\ns l.shortcut conv2d x\nt l add c s\no l.activation relu t", "s", "o"},
           Row{"timm, layers/mlp.py, SwiGLU: x_gate",
               "g l.fc1_g linear x\nh l.fc1_x linear x\na l.act silu g\nm l mul a h\no l.fc2 linear m", "g", "o"},
           Row{"timm, inception_resnet_v2.py: x1",
               "a l.branch0 conv2d x\nb l.branch1 conv2d x\nj l cat a b\n"
               "o l.conv2d conv2d j",
               "b", "o"},
           Row{"timm, dla.py: shortcut",
               "b l.downsample max_pool2d x\np l.project conv2d b\na l.tree1 add b p\nc l.tree2 conv2d a\n"
               "j l.root.cat cat c a\no l.root.conv conv2d j",
               "p", "o"},
           Row{"timm, hgnet.py: x1",
               "a l.stem1 conv2d x\nb l pad a\nc l.stem2a conv2d b\nd l pad c\ne l.stem2b conv2d d\n"
               "f l.pool max_pool2d b\nj l cat f e\ng l.stem3 conv2d j\no l.stem4 conv2d g",
               "f", "o"},
           Row{"timm, cspnext.py: short",
               "s l.short_conv conv2d x\nm l.main_conv conv2d x\nb l.blocks.0 conv2d m\nj l cat b s\n"
               "o l.final_conv conv2d j",
               "s", "o"},
           Row{"timm, ghostnet.py, GhostModuleV2: x2",
               "s l.short_conv conv2d x\na l.primary_conv conv2d x\nb l.cheap_operation conv2d a\nj l cat a b\n"
               "g l.gate_fn sigmoid s\nu l upsample_nearest2d g\no l mul j u",
               "b", "o"},
           Row{"timm, coat.py: cur",
               "c l.cpe conv2d x\nn l.norm1 layer_norm c\nf l.factoratt_crpe linear n\ns l add c f\n"
               "m l.norm2 layer_norm s\np l.mlp linear m\no l add s p",
               "f", "m"},
           Row{"timm, focalnet.py: ctx_all",
               "f l.f conv2d x\nc l.focal_layers.0 conv2d f\nm l mul c f\na l add m f\nh l.h conv2d a\n"
               "q l mul h f\no l.proj conv2d q",
               "a", "o"},
           Row{"MONAI, dynunet.py: nextout",
               "d l.downsample conv2d x\nn l.next_layer conv2d d\nu l.upsample.conv conv2d n\n"
               "o l.upsample.norm instance_norm u",
               "d", "o"},
           Row{"segmentation_models_pytorch, fpn/decoder.py: p2",
               "a l.p5 conv2d x\nb l.p4 conv2d a\nc l.p3 conv2d b\nd l.p2 conv2d c\ne l.seg_blocks.0 conv2d d\n"
               "m l.merge add e e\no l.dropout dropout m",
               "d", "o"},
           Row{"lucidrains/vit-pytorch: dots",
               "q l.to_qkv linear x\nd l matmul q q\nm l mul d\na l.attend softmax m\ny l matmul a q\n"
               "o l.to_out linear y",
               "m", "o"},
           Row{"xuebinqin/U-2-Net: hx, until the next pool",
               "i l.rebnconvin conv2d x\na l.rebnconv1 conv2d i\np l.pool1 max_pool2d a\nb l.rebnconv2 conv2d p\n"
               "q l.pool2 max_pool2d b\nc l.rebnconv2d conv2d q\nd l.rebnconv1d conv2d c",
               "p", "q"},
           Row{"xinntao/ESRGAN: trunk",
               "f l.conv_first conv2d x\nb l.RRDB_trunk conv2d f\nc l.trunk_conv conv2d b\ns l add f c\n"
               "v l.upconv1 conv2d s\nw l.lrelu leaky_relu v\nz l.upconv2 conv2d w\no l.conv_last conv2d z",
               "c", "o"},
           Row{"lucidrains/vit-pytorch: x",
               "n l.norm layer_norm x\nq l.to_qkv linear n\nd l matmul q q\nm l mul d\na l.attend softmax m\n"
               "y l matmul a q\no l.to_out linear y",
               "n", "o"},
           Row{"XPixelGroup/BasicSR, rrdbnet_arch.py: feat, until lrelu has made the next",
               "f l.conv_first conv2d x\nb l.body conv2d f\nc l.conv_body conv2d b\ns l add f c\n"
               "u l upsample_nearest2d s\nv l.conv_up1 conv2d u\nw l.lrelu leaky_relu v\nz l.conv_up2 conv2d w\n"
               "o l.conv_last conv2d z",
               "s", "w"},
           Row{"sanghyun-son/EDSR-PyTorch: res",
               "h l.head conv2d x\nb l.body conv2d h\ns l add b h\nt l.tail conv2d s\no l.add_mean conv2d t", "s", "o"},
       }) {
    const std::string frame = row.frame;
    const std::string result(1, frame[frame.rfind('\n') + 1]);
    const Forward f(frame + "\nout - abs " + result);
    CHECK_MESSAGE(f.DiesBehind(row.value) == row.behind, std::string(row.source));
  }
}

TEST_CASE("frames that a loop runs without a frame of their own end with its turn") {
  // for layer in self.layers: x = layer.forward(x), as transformers' SqueezeBertEncoder calls its modules
  Layers layers;
  layers.modules = {{"", "", {}}, {"e", "", {0}}};
  const auto value = [&](Role role) {
    layers.values.push_back({std::to_string(layers.values.size()), DType::kFloat32, Shape{Dim(1)}, role});
    return ValueId{static_cast<int32_t>(layers.values.size()) - 1};
  };
  ValueId x = value(Role::kInput);
  for (int turn = 0; turn < 2; ++turn) {
    for (const char* child : {"e.attention", "e.post_attention", "e.intermediate", "e.output"}) {
      layers.modules.push_back({child, "", {1}});
      Layer layer;
      layer.op = "linear";
      layer.module = {static_cast<int32_t>(layers.modules.size()) - 1};
      layer.inputs = {x};
      layer.outputs = {x = value(Role::kActivation)};
      layers.layers.push_back(layer);
    }
  }
  layers.outputs = {x};
  const auto after = ReleasesAfter(layers);
  CHECK(after[3].size() == 2);  // attention_output, intermediate_output
  CHECK(after[4].size() == 1);  // the first turn's result
}

}  // namespace
}  // namespace vramplan
