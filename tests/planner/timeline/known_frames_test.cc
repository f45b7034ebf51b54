#include "planner/timeline/known_frames.h"

#include <doctest/doctest.h>

#include <string>

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

TEST_CASE("what a model of transformers looks up has a name to its end") {
  for (const char* name : {"embed_tokens", "word_embedding", "tokens_embed", "embed_in", "lookup"}) {
    const Forward f("e m." + std::string(name) + " embedding x\na m.up linear e\nb m.down linear a\nend - abs b");
    CHECK_MESSAGE(f.DiesBehind("e") == (name == std::string("lookup") ? "a" : "b"), name);
  }
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

}  // namespace
}  // namespace vramplan
