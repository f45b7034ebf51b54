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
