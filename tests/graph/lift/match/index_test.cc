#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("Gather: a table of weights, a table of a module, an activation by a number or by a list") {
  const Layers layers = testing::Lifted(R"(
    agraph (int64[batch, 3] ids) => (float[batch, 4] y, float[6, 2] z) <
      float[10, 4] `emb.weight`, float[9, 2] `attn.bias_table`, int64[6] `attn.bias_index`> {
      first = Constant <value = int64 {0}> ()
      e = Gather (`emb.weight`, ids)
      y = Gather <axis = 1> (e, first)
      z = Gather (`attn.bias_table`, `attn.bias_index`)
    })");
  CHECK(testing::LinesOf(layers) == Lines{"embedding(emb.weight, ids) -> [B, 3, 4]",
                                          "select(e) -> [B, 4] dim=1 index=0",
                                          "index(attn.bias_table, attn.bias_index) -> [6, 2]"});
  REQUIRE(layers.parameters.size() == 2);
  REQUIRE(layers.buffers.size() == 1);
  CHECK(layers[layers.buffers[0]].name == "attn.bias_index");
}

TEST_CASE("a parameter by a number: a part of a stack of weights, a row of an embedding") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <float[3, 4, 4] weights, float[3, 4] `emb.weight`> {
      first = Constant <value = int64 {0}> ()
      w = Gather (weights, first)
      r = Gather (`emb.weight`, first)
      m = MatMul (x, w)
      y = Add (m, r)
    })") == Lines{"select(weights) -> [4, 4] dim=0 index=0", "index(emb.weight, first) -> [4] dim=0",
                  "matmul(x, w) -> [B, 4]", "add(m, r) -> [B, 4]"});
}

TEST_CASE("x[i, j] is flattened and gathered at i * length + j") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 5] x, int64[batch, 1] i, int64[1, 5] j) => (float[batch, 5] y) {
      one = Constant <value = int64[1] {1}> ()
      s = Shape (x)
      n = Gather (s, one)
      f = Flatten <axis = 2> (x)
      m = Mul (i, n)
      a = Add (j, m)
      g = Gather <axis = 0> (f, a)
      all = Constant <value = int64[2] {-1, 5}> ()
      y = Reshape (g, all)
    })") == Lines{"index(x, i, j) -> [B, 5]"});
}

TEST_CASE("tensors made on the device stay; sizes made of numbers go") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 5] x) => (int64[5] y, float[batch, 5] z) {
      i0 = Constant <value = int64 {0}> ()
      i1 = Constant <value = int64 {1}> ()
      s = Shape (x)
      n = Gather (s, i1)
      y = Range (i0, n, i1)
      z = ConstantOfShape (s)
    })") == Lines{"arange() -> [5]", "zeros(x) -> [B, 5]"});
}

TEST_CASE("gather, scatter, topk") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 5] x, int64[batch, 2] i) => (float[batch, 5] y, float[batch, 3] v) {
      k = Constant <value = int64[1] {3}> ()
      g = GatherElements <axis = 1> (x, i)
      y = ScatterElements <axis = 1> (x, i, g)
      v, w = TopK (y, k)
    })") == Lines{"gather(x, i) -> [B, 2] dim=1", "scatter(x, i, g) -> [B, 5]", "topk(y) -> [B, 3] [B, 3] dim=1"});
}

TEST_CASE("x[:, i] = y writes by the numbers that the code has, not by a grid of them") {
  CHECK(LiftedLines(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 5] a, float[batch, 4] y, int64[4] i) => (float[batch, 5] z) {
      i0 = Constant <value = int64 {0}> ()
      i1 = Constant <value = int64 {1}> ()
      x = Relu (a)
      size = Shape (a)
      batch = Gather (size, i0)
      part = Shape (y)
      last = Constant <value = int64[1] {-1}> ()
      first = Constant <value = int64[1] {0}> ()
      rows = Range (i0, batch, i1)
      standing = Unsqueeze (rows, last)
      across = Expand (standing, part)
      r = Unsqueeze (across, last)
      down = Expand (i, part)
      c = Unsqueeze (down, last)
      grid = Concat <axis = -1> (r, c)
      values = Reshape (y, part)
      z = ScatterND (x, grid, values)
    })")
            .back() == "index_put(x, -, i, y) -> [B, 5] inplace=1");
}

TEST_CASE("TorchScript's bags of embeddings: a loop over the rows of an input, each reduced") {
  const auto lines = [](const std::string& reduce, const std::string& numbers = "ids") {
    return LiftedLines(R"(
    <ir_version: 8, opset_import: ["" : 17]>
    agraph (int64[batch, 20] ids) => (float[batch, 4] y) <float[50, 4] `bag.weight`> {
      flat_shape = Constant <value = int64[1] {-1}> ()
      first = Constant <value = int64[1] {0}> ()
      tenth = Constant <value = int64[1] {10}> ()
      second = Constant <value = int64[1] {1}> ()
      some_ids = Slice (ids, first, tenth, second)
      flat = Reshape ()" +
                       numbers +
                       R"(, flat_shape)
      zero = Constant <value = int64 {0}> ()
      sizes = Shape (ids)
      bags = Gather (sizes, zero)
      on = Constant <value = bool {1}> ()
      y = Loop (bags, on) <body = each (int64 i, bool before) => (bool after, float[4] row) {
        axis = Constant <value = int64[1] {0}> ()
        begin = Unsqueeze (i, axis)
        one = Constant <value = int64[1] {1}> ()
        finish = Add (begin, one)
        some = Slice (flat, begin, finish, axis)
        rows = Gather (`bag.weight`, some)
        row = )" + reduce +
                       R"( <axes = [0], keepdims = 0> (rows)
        after = Identity (before)
      }>
    })");
  };
  CHECK(lines("ReduceMean")[0] == "embedding_bag(bag.weight, ids) -> [B, 4] mode=1");
  CHECK(lines("ReduceMax")[0] == "embedding_bag(bag.weight, ids) -> [B, 4] mode=2");
  // one column of many, as recommenders have them
  const Lines sliced = lines("ReduceSum", "some_ids");
  REQUIRE(sliced.size() == 2);
  CHECK(sliced[0].starts_with("slice(ids) -> [B, 10]"));
  CHECK(sliced[1] == "embedding_bag(bag.weight, some_ids) -> [B, 4] mode=0");
}

// Cut from exports of PyTorch 2.10 (TorchScript, opset 17; dynamo without metadata).
TEST_CASE("additions by number: index_add, index_put and scatter_add are written differently by TorchScript") {
  const auto with = [](const std::string& scatter) {
    return LiftedLines(R"(
      <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
      agraph (float[batch, 8] x, int64[40] i, float[40, 8] y) => (float[batch, 8] z) {
        one = Constant <value = int64[1] {1}> ()
        s = Shape (x)
        zeros = ConstantOfShape (s)
        column = Unsqueeze (i, one)
        t = Shape (y)
        spread = Expand (column, t)
)" + scatter + "\n z = Add (x, added) }");
  };
  CHECK(with("again = Expand (y, t)\n added = ScatterElements <axis = 0> (zeros, spread, again)") ==
        Lines{"index_add(x, i, y) -> [B, 8] dim=0"});
  CHECK(with("again = Reshape (y, t)\n added = ScatterND (zeros, column, again)").back() ==
        "index_put(x, column, again) -> [B, 8] accumulate=1 certain=1");
  CHECK(with("added = ScatterElements <axis = 0> (zeros, spread, y)").back() ==
        "scatter_add(x, spread, y) -> [B, 8] dim=0");
}

TEST_CASE("what a scatter does with what is there already") {
  const auto line = [](const std::string& attributes) {
    return LiftedLines(
        "<ir_version: 8, opset_import: [\"\" : 18]> agraph (float[batch, 8] x, int64[batch, 8] at) => "
        "(float[batch, 8] y) {\n y = ScatterElements <axis = 1" +
        attributes + "> (x, at, x)\n}")[0];
  };
  CHECK(line("") == "scatter(x, at, x) -> [B, 8]");
  CHECK(line(", reduction = \"add\"") == "scatter_add(x, at, x) -> [B, 8]");
  CHECK(line(", reduction = \"max\"") == "scatter_reduce(x, at, x) -> [B, 8] dim=1 reduce=amax");
}

}  // namespace
}  // namespace vramplan
