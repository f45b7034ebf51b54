#include "graph/shapes/rebatch.h"

#include <doctest/doctest.h>

#include "graph/shapes/infer.h"
#include "tests/support/one_node.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

const Dim B = Dim::Batch();

TEST_CASE("the baked batch is found by running products") {
  struct Row {
    Shape input;
    std::vector<int64_t> target;
    int64_t batch;
    const char* result;
  };
  const Row rows[] = {
      {{B, 197, 768}, {8, 197, 12, 64}, 8, "[B, 197, 12, 64]"},
      {{B, 12, 197, 64}, {96, 197, 64}, 8, "[12*B, 197, 64]"},
      {{Dim(12) * B, 197, 64}, {8, 12, 197, 64}, 8, "[B, 12, 197, 64]"},
      {{128, B, 768}, {128, 96, 64}, 8, "[128, 12*B, 64]"},  // sequence first
      {{128, B, 512}, {1024, 512}, 8, "[128*B, 512]"},
      {{B, 3, 224, 224}, {1, 150528}, 1, "[B, 150528]"},
      {{B, 12, 64}, {12, 64}, 1, "[12*B, 64]"},
      {{Dim(12) * B, 128, 64}, {1, 12, 128, 64}, 1, "[B, 12, 128, 64]"},
      {{128, B, 768}, {128, 12, 64}, 1, "[128, 12*B, 64]"},
      {{Dim(197) * B, 768}, {197, 1, 768}, 1, "[197, B, 768]"},
      {{Dim(200) * B, 768}, {200, 8, 768}, 8, "[200, B, 768]"},
      {{197, B, 768}, {197, 768}, 1, "[197*B, 768]"},  // rows of a matrix
      {{197, B, 12, 64}, {197, 768}, 1, "[197*B, 768]"},
      {{B, 197, 768}, {197, 768}, 1, "[197*B, 768]"},
      {{1, B, 197, 768}, {1, 197, 768}, 1, "[B, 197, 768]"},
      {{197, 768, B}, {197, 768}, 1, "[197, 768*B]"},
      {{B, 56, 56, 96}, {8, 8, 7, 8, 7, 96}, 8, "[B, 8, 7, 8, 7, 96]"},  // Swin's windows
      {{Dim(64) * B, 49, 96}, {8, 8, 8, 7, 7, 96}, 8, "[B, 8, 8, 7, 7, 96]"},
      {{B, 8}, {8, 8}, 8, "[B, 8]"},
      {{8, B}, {8, 8}, 8, "[8, B]"},
      {{B, 3}, {2, 12}, 8, "nothing"},  // the batch is cut in two
      {{B, 0}, {8, 0}, 8, "nothing"},
      {{B, B}, {64}, 8, "nothing"},
  };
  for (const Row& row : rows) {
    CAPTURE(ToString(row.input));
    const auto result = Rebatched(row.input, row.target, row.batch);
    CHECK((result ? ToString(Shape(*result)) : "nothing") == std::string(row.result));
    if (result) CHECK(Shape(*result).Elements() == row.input.Elements());
  }
}

// torch.nn.MultiheadAttention with the batch second, as onnxsim leaves it: x [1, 32, 64] --Transpose, Reshape, MatMul,
// Reshape--> [1, 32, 1, 3, 64], whose first 1 is of an Unsqueeze; and with the batch first the third 1 is.
TEST_CASE("of two axes of length 1 the batch is the one that has its rows before it") {
  const auto infer = [](const char* first) {
    const Graph graph = GraphFromText(
        std::string("agraph (float[1, 32, 64] x) => (float[1, 32, 1, 3, 64] y) ") +
        "<int64[2] rows = {-1, 64}, int64[5] qkv = {1, 32, 1, 3, 64}, float[64, 192] w> {" + "t = " + first +
        " (x)\n r = Reshape (t, rows)\n m = MatMul (r, w)\n" + "s = Tanh (m)\n y = Reshape (s, qkv)\n}");
    Notes notes;
    const auto binding = Bind(graph, {}, &notes);
    REQUIRE(binding.ok());
    const auto shapes = Infer(graph, *binding, &notes);
    REQUIRE(shapes.ok());
    return ToString(*(*shapes)[graph.outputs[0]].shape);
  };
  CHECK(infer("Transpose <perm = [1, 0, 2]>") == "[1, 32, B, 3, 64]");
  CHECK(infer("Identity") == "[B, 32, 1, 3, 64]");
}

TEST_CASE("nodes of a file with the batch 8 inside") {
  using testing::InferNode;
  const struct {
    testing::NodeCase row;
    int64_t batch;
    bool noted;
  } rows[] = {
      {{"Reshape", "", "f[B,197,768] i[4]=8,197,12,64", "f[B,197,12,64]"}, 8, true},
      {{"Reshape", "", "f[B,197,768] i[4]=8,-1,12,64", "f[B,197,12,64]"}, 8, true},
      {{"Reshape", "", "f[B,197,768] i[3]=-1,197,768", "f[B,197,768]"}, 8, false},
      {{"Reshape", "", "f[B,128,768] i[3]=1,-1,768", "f[B,128,768]"}, 1, true},
      {{"Reshape", "", "f[B,128,768] i[2]=-1,768", "f[128*B,768]"}, 1, false},
      {{"Reshape", "", "f[8,768] i[2]=8,768", "f[8,768]"}, 8, false},
      {{"Add", "", "f[B,197,768] f[8,1,768]", "f[B,197,768]"}, 8, true},
      {{"Concat", "axis=1", "f[1,1,768] f[B,196,768]", "f[B,197,768]"}, 1, true},
      {{"Expand", "", "f[1,1,768] i[3]=8,1,768", "f[B,1,768]"}, 8, true},
      {{"Expand", "", "f[1,1,768] i[3]=1,1,768", "f[1,1,768]"}, 1, false},
      {{"Tile", "", "f[1,100,256] i[3]=8,1,1", "f[B,100,256]"}, 8, true},
      {{"ConstantOfShape", "", "i[2]=8,64", "f[8,64]"}, 8, false},
      {{"Expand", "", "i[1,49] i[2]=8,49", "i[8,49]"}, 8, false},
      {{"Expand", "", "f[1,8] i[2]=8,8", "f[8,8]"}, 8, false},  // which of the two?
      {{"Slice", "", "f[B,10] i[1]=0 i[1]=8 i[1]=0", "f[B,10]"}, 8, true},
      {{"GatherND", "", "f[B,128] i[8,1,1,128,2]", "f[B,1,1,128]"}, 8, true},
      {{"GatherND", "", "f[B,128] i[1,1,1,128,2]", "f[B,1,1,128]"}, 1, true},
      {{"GatherND", "", "f[16,128] i[8,1,2]", "f[8,1]"}, 8, false},  // not of the samples
      {{"Resize", "", "f[B,64,16,16] - - i[4]=8,64,32,32", "f[B,64,32,32]"}, 8, true},
      {{"Squeeze", "", "f[B,10] i[1]=0", "error: it removes axis 0 of in0 [B, 10], whose length is the batch"},
       1,
       false},
      {{"Reshape", "", "f[B,3] i[2]=2,12", "error: in0 [B, 3] cannot become [2, 12]"}, 8, false},
      {{"Add", "", "f[B,3] f[7,3]", "error: the shapes [B, 3] and [7, 3] do not broadcast"}, 8, false},
  };
  for (const auto& [row, batch, noted] : rows) {
    CAPTURE(row.op);
    CAPTURE(row.inputs);
    Notes notes;
    CHECK(InferNode(row, batch, &notes) == std::string(row.outputs));
    CHECK(notes.Has("rebatched") == noted);
  }
}

TEST_CASE(
    "a symbolic file with the batch traced into a constant is opened too, with a warning; two batches contradict") {
  const auto infer = [](std::string_view text) {
    const Graph graph = GraphFromText(text);
    Notes notes;
    const auto binding = Bind(graph, {}, &notes);
    REQUIRE(binding.ok());
    const auto shapes = Infer(graph, *binding, &notes);
    if (!shapes) return ToString(shapes.error());
    std::string line = ToString(*(*shapes)[graph.outputs[0]].shape);
    for (const Note& note : notes.all()) line += "; " + ToString(note);
    return line;
  };
  CHECK(infer(R"(
    agraph (float[batch, 12] x) => (float[batch, 3, 4] y) <int64[3] shape = {2, 3, 4}> {
      y = Reshape (x, shape)
    })") ==
        "[B, 3, 4]; warning: Reshape_0: axis 0 of its constant shape, 2, became B (the file was exported with the "
        "batch 2 inside)");
  // knots.reshape(len(knots), 1, -1), NeuralForecast's NHITS: 3 * B numbers are no rows of 2; then the 2 is known
  const std::string len = ": axis 0 of its constant shape, 2, became B (the file was exported with the batch 2 inside)";
  CHECK(infer(R"(
    agraph (float[batch, 3] a, float[batch, 6] b) => (float[batch, 1, 9] y) <int64[3] shape = {2, 1, -1}> {
      c = Reshape (a, shape)
      d = Reshape (b, shape)
      y = Concat <axis = 2> (c, d)
    })") == "[B, 1, 9]; warning: Reshape_0" + len + "; warning: Reshape_1" + len);
  CHECK(infer(R"(
    agraph (float[batch, 6] b) => (float y) <int64[3] shape = {2, 1, -1}> {
      y = Reshape (b, shape)
    })") == "[2, 1, 3*B]");  // two halves of the batch, for all that is known
  CHECK(infer(R"(
    agraph (float[batch, 12] x) => (float[batch, 3, 4] z) <int64[3] shape = {2, 3, 4}, float[5, 3, 4] w> {
      y = Reshape (x, shape)
      z = Add (y, w)
    })") == "test.onnx: node Add_1 (Add): the shapes [batch, 3, 4] and [5, 3, 4] do not broadcast");
}

TEST_CASE("integers that were stored or spread for every sample of a fixed batch have it; others keep their lengths") {
  // transformers' BERT, exported by dynamo with 2 samples and without dynamic shapes: token types are one stored row a
  // sample, or an Expand of one.
  const auto shape_of = [](const std::string& stored) {
    const Graph graph = GraphFromText("agraph (int64[2, 3] ids) => (float[2, 3, 4] y) <float[5, 4] table, " + stored +
                                      R"(> {
      t = Gather (table, types)
      e = Gather (table, ids)
      y = Add (e, t)
    })");
    Notes notes;
    const auto binding = Bind(graph, {}, &notes);
    REQUIRE(binding.ok());
    const auto shapes = Infer(graph, *binding, &notes);
    REQUIRE(shapes.ok());
    return ToString(*(*shapes)[TensorNamed(graph, "t")].shape) + (notes.Has("rebatched") ? " noted" : "");
  };
  CHECK(shape_of("int64[2, 3] types") == "[B, 3, 4] noted");
  CHECK(shape_of("int64[1, 3] types") == "[1, 3, 4]");

  const auto spread = [](const std::string& lengths) {
    const Graph graph = GraphFromText(
        "agraph (int64[2, 3] ids) => (int64[2, 3] y) <int64[1, 1] one, int64[2] size = {" + lengths + R"(}> {
      t = Expand (one, size)
      y = Identity (ids)
    })");
    Notes notes;
    const auto binding = Bind(graph, {}, &notes);
    REQUIRE(binding.ok());
    const auto shapes = Infer(graph, *binding, &notes);
    REQUIRE(shapes.ok());
    return ToString(*(*shapes)[TensorNamed(graph, "t")].shape);
  };
  CHECK(spread("2, 3") == "[B, 3]");
  CHECK(spread("2, 7") == "[2, 7]");  // counts fall on any number
}

}  // namespace
}  // namespace vramplan
