#include "graph/shapes/infer.h"

#include <doctest/doctest.h>

#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

struct InferInferred {
  Graph graph;
  Notes notes;
  Result<Shapes> shapes = Error();

  std::string operator[](const char* tensor) const {
    if (!shapes.ok()) return ToString(shapes.error());
    const TensorFacts& facts = (*shapes)[TensorNamed(graph, tensor)];
    return std::string(Name(facts.type)) + " " + (facts.shape ? ToString(*facts.shape) : "?");
  }
};

InferInferred InferText(std::string_view text, const BindOptions& options = {}) {
  InferInferred result{GraphFromText(text), {}};
  const auto binding = Bind(result.graph, options, &result.notes);
  if (!binding) {
    result.shapes = binding.error();
  } else {
    result.shapes = Infer(result.graph, *binding, &result.notes);
  }
  return result;
}

TEST_CASE("the batch goes through shapes that the graph computes") {
  // Attention's split into heads as TorchScript writes it: x.view(x.size(0), -1, 12, 64).transpose(1, 2)
  const InferInferred r = InferText(R"(
    agraph (float[batch, seq, 768] x) => (float[batch, 12, seq, 64] y)
        <int64[1] zero = {0}, int64[1] one = {1}, int64 first = {0}, int64[1] minus = {-1}, int64[1] heads = {12}, int64[1] width = {64}> {
      s = Shape (x)
      b = Gather (s, first)
      b1 = Unsqueeze (b, zero)
      t = Concat <axis = 0> (b1, minus, heads, width)
      h = Reshape (x, t)
      y = Transpose <perm = [0, 2, 1, 3]> (h)
    })",
                                    {.dims = {{"seq", 128}}});
  CHECK(r["b"] == "int64 []");
  CHECK(r["h"] == "float32 [B, 128, 12, 64]");
  CHECK(r["y"] == "float32 [B, 12, 128, 64]");
  CHECK(r.notes.all().empty());
}

TEST_CASE("a squeeze of PyTorch leaves an axis that is longer than 1") {
  // diffusers/models/transformers/pixart_transformer_2d.py: hidden_states = self.proj_out(hidden_states).squeeze(1)
  const auto with = [](const std::string& provenance) {
    return InferText(
        "agraph (float[batch, 256, 32] x) => (float[batch, 256, 32] y) <int64[1] one = {1}> {\n"
        "  y = Squeeze (x, one)\n" +
        provenance + "}")["y"];
  };
  CHECK(with("    # fx_node: %squeeze : [num_users=1] = call_function[target=torch.ops.aten.squeeze.dim](args = (%x, "
             "1), kwargs = {})\n") == "float32 [B, 256, 32]");
  CHECK(with("").find("it removes axis 1") != std::string::npos);
}

TEST_CASE("arithmetic on lengths, through floats and back") {
  // F.interpolate(x, scale_factor=2): (size * 2.0).floor()
  const InferInferred r = InferText(R"(
    agraph (float[batch, 3, 15, 17] x) => (float[batch, 3, 30, 34] y)
        <int64[1] two = {2}, int64[1] four = {4}, int64[1] zero = {0}, float scale = {2}> {
      s = Shape (x)
      space = Slice (s, two, four, zero)
      spacef = Cast <to = 1> (space)
      big = Mul (spacef, scale)
      low = Floor (big)
      size = Cast <to = 7> (low)
      front = Slice (s, zero, two, zero)
      sizes = Concat <axis = 0> (front, size)
      y = Resize (x, , , sizes)
    })");
  CHECK(r["y"] == "float32 [B, 3, 30, 34]");
}

TEST_CASE("Expand with a computed -1, as torch.export's predecessors write it") {
  // Where(Equal(target, -1), ones, target) makes the shape for Expand.
  const InferInferred r = InferText(R"(
    agraph (float[batch, 4] x, float[1, 1, 768] token) => (float[batch, 1, 768] y)
        <int64[1] zero = {0}, int64 first = {0}, int64[2] rest = {-1, -1}, int64[1] three = {3}, int64[3] minus = {-1, -1, -1}, int64[3] one = {1, 1, 1}> {
      s = Shape (x)
      b = Gather (s, first)
      b1 = Unsqueeze (b, zero)
      t = Concat <axis = 0> (b1, rest)
      e = Equal (t, minus)
      w = Where (e, one, t)
      y = Expand (token, w)
    })");
  CHECK(r["y"] == "float32 [B, 1, 768]");
}

TEST_CASE("what data decides is unknown, with one note where it begins") {
  const InferInferred r = InferText(R"(
    agraph (float[batch, 9] x) => (int64[2, n] y, float[n, n] z) {
      y = NonZero (x)
      z = Cast <to = 1> (y)
    })");
  CHECK(r["y"] == "int64 [2, ?]");
  CHECK(r["z"] == "float32 [2, ?]");
  REQUIRE(r.notes.all().size() == 1);
  CHECK(ToString(r.notes.all()[0]) ==
        "warning: NonZero_0: the shape of y depends on data: [2, ?] (hint: --dim y:1=N gives the length)");
}

TEST_CASE("what a converter has left behind says how to convert again") {
  const auto hint = [](const std::string& op, const std::string& producer) {
    const InferInferred r =
        InferText("<ir_version: 8, opset_import: [\"\" : 9], producer_name: \"" + producer +
                  "\">\nagraph (float[batch, 9] x) => (float[batch, 9] z) {\ny = " + op + " (x)\nz = Relu (y)\n}");
    return r.notes.all().empty() ? std::string() : r.notes.all()[0].hint;
  };
  CHECK(hint("ResizeBilinear", "tf2onnx") ==
        "tf2onnx left it unconverted (its log says why); convert again with a newer --opset than 9");
  CHECK(hint("PartitionedCall", "tf2onnx").find("layer._jit_compiled_convolution_op = layer.convolution_op") !=
        std::string::npos);
  CHECK(hint("Mystery", "pytorch") == "run ONNX shape inference on the file first, or export with value_info");
}

TEST_CASE("the file's own shapes do not override inference, and close what it leaves open") {
  const InferInferred wrong = InferText(R"(
    agraph (float[batch, 9] x) => (float[batch, 10] y) {
      y = Relu (x)
    })");
  CHECK(wrong["y"] == "float32 [B, 9]");
  const InferInferred open = InferText(R"(
    agraph (float[batch, 9] x) => (int64[2, 5] y) {
      y = NonZero (x)
    })");
  CHECK(open["y"] == "int64 [2, 5]");
  CHECK(open.notes.Has("declared-shape"));
}

TEST_CASE("an operator without a rule takes its declared shape, with a note; without one it is unknown") {
  const InferInferred r = InferText(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
    agraph (float[batch, 9] x) => (float16[batch, 18] y) {
      y = com.example.Twice (x)
    })");
  CHECK(r["y"] == "float16 [B, 18]");
  REQUIRE(r.notes.Has("unknown-operator"));
  const InferInferred none = InferText(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.example" : 1]>
    agraph (float[batch, 9] x) => (float[batch, 18] z) {
      y = com.example.Twice (x)
      z = Relu (y)
    })");
  CHECK(none["y"] == "undefined ?");
  CHECK(none["z"] == "float32 [B, 18]");
  REQUIRE(none.notes.all().size() == 2);
  CHECK(none.notes.Has("declared-shape"));
  CHECK(
      ToString(none.notes.all()[0]) ==
      "warning: Twice_0: the operator com.example.Twice is not known, and the file declares no shape for its output y "
      "(hint: run ONNX shape inference on the file first, or export with value_info)");
}

TEST_CASE("contradictions name the node") {
  CHECK(InferText(R"(
    agraph (float[batch, 9] x) => (float[batch, 18] y) <float[18, 8] w> {
      y = Gemm <transB = 1> (x, w)
        # name: /fc/Gemm
    })")["y"] ==
        "test.onnx: node /fc/Gemm (Gemm): x [batch, 9] and w [18, 8] do not multiply: the inner lengths differ");
}

TEST_CASE("lengths beyond 63 bits are overflowing, and named") {
  const std::string input = InferText(R"(
    agraph (float[batch, n] x) => (float[batch, n] y) {
      y = Relu (x)
    })",
                                      {.dims = {{"n", int64_t{1} << 62}}})["y"];
  CHECK(input == "test.onnx: tensor x: its shape [batch, 4611686018427387904] is overflowing");
  const std::string product = InferText(R"(
    agraph (float[batch, n] x, float[n, 1, 1] z) => (float[batch] y) {
      y = Add (x, z)
    })",
                                        {.dims = {{"n", 10'000'000'000}}})["y"];
  CHECK(product == "test.onnx: node Add_0 (Add): tensor y: its shape [10000000000, batch, 10000000000] is overflowing");
  Graph stored = GraphFromText(R"(
    agraph (float[batch, 4] x) => (float[batch] y) <float[5, 4] w> {
      y = Add (x, w)
    })");
  stored.tensors[static_cast<size_t>(TensorNamed(stored, "w").value)].stored->dims = {int64_t{1} << 62, 4};
  Notes notes;
  const auto shapes = Infer(stored, *Bind(stored, {}, &notes), &notes);
  REQUIRE_FALSE(shapes.ok());
  CHECK(ToString(shapes.error()) == "test.onnx: tensor w: its shape [4611686018427387904, 4] is overflowing");
}

TEST_CASE("a condition that data decides infers both branches, a known one its own") {
  const auto branch = [](int64_t rows) {
    auto graph = std::make_shared<Graph>();
    graph->opsets[""] = 17;
    graph->tensors.push_back({.name = "x", .outer = {0}});
    graph->tensors.push_back({.name = "pads"});
    graph->tensors[1].stored = StoredTensor{DType::kInt64, {4}, ConstantValues{{0, 0, 0, rows}, {}}};
    graph->tensors.push_back({.name = "y", .producer = {0}});
    Node pad;
    pad.name = "pad";
    pad.op = "Pad";
    pad.inputs = {{0}, {1}};
    pad.outputs = {{2}};
    graph->nodes.push_back(pad);
    graph->outputs = {{2}};
    return graph;
  };
  for (const bool known : {false, true}) {
    Graph graph;
    graph.opsets[""] = 17;
    graph.tensors.push_back({.name = "x"});
    graph.tensors.push_back({.name = "condition"});
    if (known) graph.tensors[1].stored = StoredTensor{DType::kBool, {}, ConstantValues{{1}, {}}};
    graph.tensors.push_back({.name = "z"});
    Node node;
    node.name = "if";
    node.op = "If";
    node.inputs = {{1}};
    node.outputs = {{2}};
    node.attributes.Set("then_branch", branch(1));
    node.attributes.Set("else_branch", branch(2));
    graph.nodes.push_back(node);
    graph.inputs = {{0}};
    Binding binding;
    binding.inputs[{0}] = Shape{Dim::Batch(), 9};
    Notes notes;
    const auto shapes = Infer(graph, binding, &notes);
    REQUIRE(shapes.ok());
    CHECK(ToString(*(*shapes)[TensorId{2}].shape) == (known ? "[B, 10]" : "[B, ?]"));
  }
}

}  // namespace
}  // namespace vramplan
