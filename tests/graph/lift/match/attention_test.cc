#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

// Queries, keys and values of 2 heads, 3 tokens and width 4; the products are scaled by sqrt(0.5) on both sides.
std::string Attention(const std::string& scores_to_output) {
  return R"(
    agraph (float[batch, 3, 8] x, float[1, 1, 3, 3] bias) => (float[batch, 2, 3, 4] y) {
      split = Constant <value = int64[4] {0, 3, 2, 4}> ()
      root = Constant <value = float {0.7071068}> ()
      zero = Constant <value = float {0.0}> ()
      low = Constant <value = float {-1e38}> ()
      one = Constant <value = float {1.0}> ()
      p = Constant <value = float {0.1}> ()
      square = Constant <value = int64[2] {3, 3}> ()
      h = Reshape (x, split)
      q = Transpose <perm = [0, 2, 1, 3]> (h)
      v = Transpose <perm = [0, 2, 1, 3]> (h)
      k = Transpose <perm = [0, 2, 3, 1]> (h)
      qs = Mul (q, root)
      ks = Mul (k, root)
      scores = MatMul (qs, ks)
)" + scores_to_output +
         "}";
}
const std::string kHeads = "reshape(x) -> [B, 3, 2, 4]";
const std::string kQuery = "transpose(h) -> [B, 2, 3, 4] dim0=1 dim1=2";

TEST_CASE("attention: the key's own transpose comes back, the scale is 1/sqrt(4)") {
  CHECK(LiftedLines(Attention(R"(
      w = Softmax <axis = -1> (scores)
      y = MatMul (w, v)
  )")) == Lines{kHeads, kQuery, kQuery, kQuery,
                "scaled_dot_product_attention(q, Transpose_10.key, v, -) -> [B, 2, 3, 4] dropout_p=0 is_causal=0"});
}

TEST_CASE("attention whose key was swapped by the module: the exporter's swap cancelled it") {
  // timm's Attention2d, k.transpose(-1, -2).contiguous() of maps (timm/layers/attention2d.py 1.0)
  CHECK(LiftedLines(R"(
    agraph (float[batch, 2, 3, 4] q, float[batch, 2, 4, 3] k, float[batch, 2, 3, 4] v) => (float[batch, 2, 3, 4] y) {
      root = Constant <value = float {0.7071068}> ()
      qs = Mul (q, root)
      ks = Mul (k, root)
      scores = MatMul (qs, ks)
      w = Softmax <axis = -1> (scores)
      y = MatMul (w, v)
    })") == Lines{"transpose(k) -> [B, 2, 3, 4] dim0=2 dim1=3",
                  "scaled_dot_product_attention(q, Mul_2.key, v, -) -> [B, 2, 3, 4] dropout_p=0 is_causal=0"});
}

TEST_CASE("attention that scales both sides by itself is no call of torch's function") {
  // openai/whisper, model.py: width ** -0.25
  const auto lifted = [](const std::string& nodes) {
    return LiftedLines(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 2, 3, 4] q, float[batch, 2, 4, 3] k, float[batch, 2, 3, 4] v) => (float[batch, 2, 3, 4] y) {
      half = Constant <value = float {0.5}> ()
      quarter = Constant <value = float {0.25}> ()
)" + nodes + R"(
      scores = MatMul (qs, ks)
      w = Softmax <axis = -1> (scores)
      y = MatMul (w, v)
    })")
        .back();
  };
  const std::string call = "scaled_dot_product_attention", product = "matmul(w, v) -> [B, 2, 3, 4]";
  CHECK(
      lifted("root = Sqrt (half)\n qs = Mul (q, root)\n other = Sqrt (half)\n ks = Mul (k, other)").starts_with(call));
  CHECK(lifted("qs = Mul (q, half)\n ks = Mul (k, half)").starts_with(call));  // scale=0.25 was folded
  CHECK(lifted("root = Pow (half, quarter)\n qs = Mul (q, root)\n ks = Mul (k, root)") == product);
  CHECK(lifted("qs = Mul (q, half)\n t = Neg (k)\n ks = Mul (t, half)") == product);
}

TEST_CASE("attention with a mask of numbers and dropout") {
  CHECK(LiftedLines(Attention(R"(
      s = Add (scores, bias)
      w = Softmax <axis = -1> (s)
      d = Dropout (w, p)
      y = MatMul (d, v)
  )"))
            .back() ==
        "scaled_dot_product_attention(q, Transpose_10.key, v, bias) -> [B, 2, 3, 4] dropout_p=0.1 is_causal=0");
}

TEST_CASE("attention: is_causal is a triangle that the exporter made, a mask of booleans is one it converted") {
  CHECK(LiftedLines(Attention(R"(
      ones = Expand (one, square)
      tril = Trilu <upper = 0> (ones)
      masked = Equal (tril, zero)
      mask = Where (masked, low, zero)
      s = Add (scores, mask)
      w = Softmax <axis = -1> (s)
      y = MatMul (w, v)
  )")) == Lines{kHeads, kQuery, kQuery, kQuery,
                "scaled_dot_product_attention(q, Transpose_10.key, v, -) -> [B, 2, 3, 4] dropout_p=0 is_causal=1"});
  CHECK(LiftedLines(Attention(R"(
      keep = Greater (bias, zero)
      mask = Where (keep, zero, low)
      s = Add (scores, mask)
      w = Softmax <axis = -1> (s)
      nan = IsNaN (w)
      g = Where (nan, zero, w)
      y = MatMul (g, v)
  )")) == Lines{kHeads, kQuery, kQuery, kQuery, "gt(bias, -) -> [1, 1, 3, 3] scalar=0",
                "scaled_dot_product_attention(q, Transpose_10.key, v, keep) -> [B, 2, 3, 4] dropout_p=0 is_causal=0"});
}

TEST_CASE("attention by hand scales one side: its products and softmax really ran") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 3, 4] q, float[batch, 4, 3] k) => (float[batch, 3, 4] y) {
      scale = Constant <value = float {0.5}> ()
      s = Mul (q, scale)
      a = MatMul (s, k)
      w = Softmax <axis = -1> (a)
      y = MatMul (w, q)
    })") == Lines{"mul(q, -) -> [B, 3, 4] scalar=0.5", "matmul(s, k) -> [B, 3, 3]", "softmax(a) -> [B, 3, 3] dim=2",
                  "matmul(w, q) -> [B, 3, 4]"});
}

TEST_CASE("the packed projection of nn.MultiheadAttention is made contiguous") {
  CHECK(LiftedLines(R"(
    agraph (float[5, batch, 12] x) => (float[5, batch, 4] y) {
      packed = Constant <value = int64[4] {0, -1, 3, 4}> ()
      first = Constant <value = int64[1] {0}> ()
      third = Constant <value = int64[1] {3}> ()
      index = Constant <value = int64 {1}> ()
      r = Reshape (x, packed)
      u = Unsqueeze (r, first)
      t = Transpose <perm = [3, 1, 2, 0, 4]> (u)
      s = Squeeze (t, third)
      y = Gather <axis = 0> (s, index)
    })") == Lines{"reshape(x) -> [5, B, 3, 4]", "unsqueeze(r) -> [1, 5, B, 3, 4]",
                  "transpose(u) -> [3, 5, B, 1, 4] dim0=0 dim1=3", "squeeze(t) -> [3, 5, B, 4]",
                  "contiguous(Squeeze_7.view) -> [3, 5, B, 4]", "select(s) -> [5, B, 4] dim=0 index=1"});
}

TEST_CASE("attention of the dynamo exporter without its metadata swaps the key's axes between reshapes") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 2, 3, 4] q, float[batch, 2, 3, 4] k, float[batch, 2, 3, 4] v) => (float[batch, 2, 3, 4] y) <
      float val_1 = {0.7071068}> {
      rows = Constant <value = int64[3] {-1, 3, 4}> ()
      back = Constant <value = int64[4] {-1, 2, 4, 3}> ()
      flat = Reshape (k, rows)
      turned = Transpose <perm = [0, 2, 1]> (flat)
      t = Reshape (turned, back)
      qs = Mul (q, val_1)
      ks = Mul (t, val_1)
      scores = MatMul (qs, ks)
      w = Softmax <axis = -1> (scores)
      y = MatMul (w, v)
    })") == Lines{"scaled_dot_product_attention(q, k, v, -) -> [B, 2, 3, 4] dropout_p=0 is_causal=0"});
}

TEST_CASE("attention whose scale of 1 a simplifier took out, and whose scale ONNX Runtime moved into the product") {
  const auto lines = [](const std::string& scores) {
    return LiftedLines(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[batch, 2, 3, 4] x, float[batch, 2, 3, 4] k, float[batch, 2, 3, 4] v) => (float[batch, 2, 3, 4] y) {
      zero = Constant <value = float {0.0}> ()
      )" + scores + R"(
      w = Softmax <axis = -1> (scores)
      nan = IsNaN (w)
      g = Where (nan, zero, w)
      y = MatMul (g, v)
    })");
  };
  const std::string one = "scaled_dot_product_attention(x, k, v, -) -> [B, 2, 3, 4] dropout_p=0 is_causal=0";
  CHECK(lines("t = Transpose <perm = [0, 1, 3, 2]> (k)\n scores = MatMul (x, t)") == Lines{one + " scale=1"});
  CHECK(lines("t = Transpose <perm = [0, 1, 3, 2]> (k)\n scores = com.microsoft.FusedMatMul <alpha = 0.5> (x, t)") ==
        Lines{one});
}

}  // namespace
}  // namespace vramplan
