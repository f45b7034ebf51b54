#include "graph/pt2/load_pt2.h"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "graph/ir/aten.h"
#include "graph/onnx/load.h"
#include "tests/support/graph_invariants.h"
#include "tests/support/program_text.h"

namespace vramplan {
namespace {

using namespace testing;

ProgramText Linear() {
  ProgramText program;
  program.Parameter("p_fc_weight", "fc.weight", "4, 8");
  program.Parameter("p_fc_bias", "fc.bias", "4", false);
  program.Buffer("b_steps", "steps", "", 5);
  program.Input("x", "s77, 8");
  program.Call("torch.ops.aten.linear.default",
               {Operand("input", "x"), Operand("weight", "p_fc_weight"), Operand("bias", "p_fc_bias")}, "linear",
               "s77, 4", "L__self__,,net.Net;L__self___fc,fc,torch.nn.modules.linear.Linear");
  program.Returns("linear");
  return program;
}

Result<Graph> Loaded(const std::string& bytes, Notes* notes = nullptr) {
  return LoadFromBytes("net.pt2", bytes.data(), bytes.size(), notes);
}

TEST_CASE("pt2: a program becomes a graph") {
  for (const bool deflated : {false, true}) {
    CAPTURE(deflated);
    const Result<Graph> graph = Loaded(Linear().Archive({}, deflated));
    REQUIRE(graph.ok());
    CHECK_EQ(BrokenInvariant(*graph), "");
    CHECK(IsProgram(*graph));
    CHECK_EQ(graph->producer, "pytorch 2.10.0");
    REQUIRE_EQ(graph->nodes.size(), 1);
    const Node& node = graph->nodes.front();
    CHECK_EQ(node.op, "aten.linear.default");
    CHECK_EQ(node.name, "linear");
    REQUIRE_EQ(node.inputs.size(), 3);
    CHECK_EQ((*graph)[node.inputs[0]].name, "x");
    CHECK_EQ((*graph)[node.inputs[1]].name, "fc.weight");
    CHECK_EQ((*graph)[node.inputs[1]].stored->dims, std::vector<int64_t>{4, 8});
    const DeclaredType declared = (*graph)[node.outputs.front()].declared.value();
    CHECK_EQ(declared.type, DType::kFloat32);
    CHECK_EQ(declared.dims->at(0).symbol, "s77");
    CHECK_EQ(declared.dims->at(1).length.value(), 4);
    REQUIRE_EQ(graph->outputs.size(), 1);
    CHECK_EQ((*graph)[graph->outputs.front()].name, "linear");
    const Facts& facts = graph->facts.value();
    REQUIRE_EQ(facts.parameters->size(), 2);
    CHECK(facts.parameters->at(0).trained);
    CHECK_FALSE(facts.parameters->at(1).trained);
    REQUIRE_EQ(facts.buffers->size(), 1);
    CHECK_EQ(facts.buffers->at(0).type, DType::kInt64);
    CHECK_FALSE(facts.training.has_value());
  }
}

TEST_CASE("pt2: the layout before PyTorch 2.8") {
  const std::string bytes = ZipOf({{"version", "8.1"}, {"serialized_exported_program.json", Linear().Json()}});
  const Result<Graph> graph = Loaded(bytes);
  REQUIRE(graph.ok());
  CHECK_EQ(graph->nodes.size(), 1);
}

TEST_CASE("pt2: weights of one file are one tensor") {
  ProgramText program;
  program.Parameter("p_embed", "embed.weight", "10, 4");
  program.Parameter("p_head", "head.weight", "10, 4");
  program.Input("x", "s0, 4");
  program.Call("torch.ops.aten.linear.default", {Operand("input", "x"), Operand("weight", "p_head")}, "linear",
               "s0, 10");
  program.Returns("linear");
  const std::string config = R"({"config": {"embed.weight": {"path_name": "weight_0"},
                                            "head.weight": {"path_name": "weight_0"}}})";
  const Result<Graph> graph = Loaded(program.Archive({{"net/data/weights/model_weights_config.json", config}}));
  REQUIRE(graph.ok());
  CHECK_EQ((*graph)[graph->nodes[0].inputs[1]].name, "embed.weight");
  CHECK_EQ(graph->facts->parameters->at(1).same_as, "embed.weight");
  const Result<Graph> apart = Loaded(program.Archive());
  REQUIRE(apart.ok());
  CHECK_EQ((*apart)[apart->nodes[0].inputs[1]].name, "head.weight");
}

TEST_CASE("pt2: facts that travel in the archive") {
  const std::string facts = R"({"schema": "vramplan.facts/1", "optimizer": {"name": "sgd"}})";
  const Result<Graph> graph = Loaded(Linear().Archive({{"net/extra/vramplan.facts", facts}}));
  REQUIRE(graph.ok());
  CHECK_EQ(graph->facts->optimizer->name, "sgd");
  CHECK_EQ(graph->facts->parameters->size(), 2);
  const Result<Graph> wrong = Loaded(Linear().Archive({{"net/extra/vramplan.facts", "{}"}}));
  REQUIRE_FALSE(wrong.ok());
  CHECK_EQ(wrong.error().subject, "net.pt2");
}

TEST_CASE("pt2: dropout and batch norm tell the mode") {
  for (const bool train : {true, false}) {
    ProgramText program;
    program.Input("x", "s0, 4");
    program.Call("torch.ops.aten.dropout.default", {Operand("input", "x"), Real("p", 0.1), Flag("train", train)},
                 "dropout", "s0, 4");
    program.Returns("dropout");
    const Result<Graph> graph = Loaded(program.Archive());
    REQUIRE(graph.ok());
    CHECK_EQ(graph->facts->training.value(), train);
  }
}

TEST_CASE("pt2: bodies of no_grad and autocast are taken where they are called") {
  ProgramText body;
  body.Input("y", "s0, 4");
  body.Call("torch.ops.aten.relu.default", {Operand("self", "y")}, "relu", "s0, 4");
  body.Returns("relu");
  for (const bool no_grad : {true, false}) {
    CAPTURE(no_grad);
    ProgramText program;
    program.Input("x", "s0, 4");
    program.Call("torch.ops.aten.sin.default", {Operand("self", "x")}, "sin", "s0, 4");
    program.Wrapped("torch.ops.higher_order.wrap_with_set_grad_enabled", {Flag("", !no_grad)}, body, {"sin"},
                    {"getitem"});
    program.Call("torch.ops.aten.cos.default", {Operand("self", "getitem")}, "cos", "s0, 4");
    program.Returns("cos");
    const Result<Graph> graph = Loaded(program.Archive());
    REQUIRE(graph.ok());
    CHECK_EQ(BrokenInvariant(*graph), "");
    std::string ops;
    for (const Node& node : graph->nodes) ops += node.op + " ";
    CHECK_EQ(ops, no_grad ? "aten.sin.default aten.detach.default aten.relu.default aten.cos.default "
                          : "aten.sin.default aten.relu.default aten.cos.default ");
  }
}

TEST_CASE("pt2: wrong files are an error of one line") {
  ProgramText nothing_made = Linear();
  nothing_made.Call("torch.ops.aten.relu.default", {Operand("self", "nowhere")}, "relu", "s77, 4");
  ProgramText undescribed;
  undescribed.Input("x", "s0, 4");
  undescribed.Returns("y");
  ProgramText axes = Linear();
  axes.Input("z", "1, 1, 1, 1, 1, 1, 1, 1, 1");
  ProgramText free_weight = Linear();
  free_weight.Parameter("p_w", "w", "s0, 4");
  std::string deep(200, '[');
  deep += std::string(200, ']');
  const std::string whole = Linear().Archive();
  struct Row {
    const char* what;
    std::string bytes;
    const char* text;
  };
  const auto model = [](const std::string& json) { return ZipOf({{"net/models/model.json", json}}); };
  for (const Row& row : {
           Row{"nobody makes an operand", nothing_made.Archive(), "reads 'nowhere', which nothing has made"},
           Row{"nobody makes the output", undescribed.Archive(), "returns 'y', which nothing makes"},
           Row{"nine axes", axes.Archive(), "of 9 axes; at most 8"},
           Row{"a weight of no size", free_weight.Archive(), "has the weight 'w' of no fixed size"},
           Row{"no JSON", model("{"), "is not JSON"},
           Row{"another JSON", model("{}"), "has no graph_module"},
           Row{"deep", model(deep), "is nested more than 128 levels deep"},
           Row{"no calls", model(R"({"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": [],
                                 "tensor_values": {}}, "signature": {"input_specs": [], "output_specs": []}}})"),
               "has no calls"},
           Row{"no tensors", model(R"({"graph_module": {"graph": {"inputs": [], "outputs": [], "nodes": []},
                                   "signature": {"input_specs": [], "output_specs": []}}})"),
               "says nothing about its tensors"},
           Row{"the end is missing", whole.substr(0, whole.size() / 2), ""},
       }) {
    CAPTURE(row.what);
    const Result<Graph> graph = Loaded(row.bytes);
    REQUIRE_FALSE(graph.ok());
    CHECK(graph.error().text.find(row.text) != std::string::npos);
    CHECK_EQ(graph.error().subject, "net.pt2");
    CHECK_EQ(ToString(graph.error()).find('\n'), std::string::npos);
  }
}

TEST_CASE("pt2: a checkpoint and other zip archives are no programs") {
  const std::string checkpoint = ZipOf({{"net/data.pkl", "x"}, {"net/byteorder", "little"}});
  CHECK_FALSE(IsProgramArchive(checkpoint));
  const Result<Graph> graph = Loaded(checkpoint);
  REQUIRE_FALSE(graph.ok());
  CHECK(graph.error().text.find("a PyTorch checkpoint") != std::string::npos);
}

TEST_CASE("pt2: what no call uses costs linear time") {
  const auto seconds = [](int unused) {
    ProgramText program = Linear();
    for (int i = 0; i < unused; ++i) program.Describe("unused_" + std::to_string(i), "s77, 4");
    const std::string bytes = program.Archive();
    const auto begin = std::chrono::steady_clock::now();
    CHECK(Loaded(bytes).ok());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  seconds(1000);
  const double few = seconds(10000), many = seconds(100000);
  CHECK_LT(many, 40 * few + 0.1);
}

}  // namespace
}  // namespace vramplan
