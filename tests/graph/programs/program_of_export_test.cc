#include "graph/programs/program_of_export.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/lift/lift.h"
#include "graph/onnx/load.h"
#include "graph/shapes/infer.h"
#include "tests/support/lifted_text.h"
#include "tests/support/program_text.h"

namespace vramplan {
namespace {

using namespace testing;
// One line a layer, so that a failure shows them.
std::string Lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Layers LayersOfProgram(const ProgramText& program, Notes* notes = nullptr) {
  Notes unheard;
  if (notes == nullptr) notes = &unheard;
  const std::string bytes = program.Archive();
  const Result<Graph> graph = LoadFromBytes("net.pt2", bytes.data(), bytes.size(), notes);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().text));
  const Result<Binding> binding = Bind(*graph, {}, notes);
  REQUIRE(binding.ok());
  const Result<Shapes> shapes = Infer(*graph, *binding, notes);
  REQUIRE(shapes.ok());
  Result<Layers> layers = Lift(*graph, *shapes, notes);
  REQUIRE(layers.ok());
  return *std::move(layers);
}

TEST_CASE("program: arguments by position and by name, numbers, lists, modules") {
  ProgramText program;
  program.Parameter("p_conv_weight", "stem.conv.weight", "16, 8, 3, 3");
  program.Input("x", "s0, 8, 6, 6");
  const std::string modules =
      "L__self__,,net.Net;L__self___stem,stem,net.Stem;L__self___stem_conv,stem.conv,torch.nn.modules.conv.Conv2d";
  program.Call("torch.ops.aten.conv2d.default",
               {Operand("input", "x"), Operand("weight", "p_conv_weight"), Absent("bias"), Ints("stride", {1, 1}),
                Ints("padding", {1, 1})},
               "conv2d", "s0, 16, 6, 6", modules);
  program.Call("torch.ops.aten.gelu.default",
               {Operand("self", "conv2d"), Argument("approximate", "{\"as_string\": \"tanh\"}", true)}, "gelu",
               "s0, 16, 6, 6");
  program.Call("torch.ops.aten.mul.Tensor", {Operand("self", "gelu"), Real("other", 0.5)}, "mul", "s0, 16, 6, 6");
  program.CallOfSeveral("torch.ops.aten.chunk.default", {Operand("self", "mul"), Int("chunks", 2), Int("dim", 1)},
                        {{"getitem", "s0, 8, 6, 6"}, {"getitem_1", "s0, 8, 6, 6"}});
  program.Call("torch.ops.aten.index.Tensor", {Operand("self", "getitem"), Operands("indices", {"", "getitem_1"})},
               "index", "s0, 8, 6, 6");
  program.Call("torch.ops.aten.cat.default", {Operands("tensors", {"index", "getitem_1"}), Int("dim", -3)}, "cat",
               "s0, 16, 6, 6");
  program.Returns("cat");
  const Layers layers = LayersOfProgram(program);
  CHECK_EQ(Lines(LinesOf(layers)),
           Lines({"stem.conv: conv2d(x, stem.conv.weight) -> [B, 16, 6, 6] dilation=[1,1] groups=1 kernel_size=[3,3] "
                  "padding=[1,1] stride=[1,1]",
                  "gelu(conv2d) -> [B, 16, 6, 6] approximate=tanh", "mul(gelu) -> [B, 16, 6, 6] scalar=0.5",
                  "split(mul) -> [B, 8, 6, 6] [B, 8, 6, 6] dim=1", "index(getitem, getitem_1) -> [B, 8, 6, 6]",
                  "cat(index, getitem_1) -> [B, 16, 6, 6] dim=1"}));
  CHECK_EQ(layers.modules[0].class_name, "net.Net");
  CHECK(layers.told.tensors);
}

TEST_CASE("program: what writes into its operand is in place, and is read afterwards") {
  ProgramText program;
  program.Buffer("b_steps", "steps", "", 5);
  program.Input("x", "s0, 8");
  program.Call("torch.ops.aten.add_.Tensor", {Operand("self", "b_steps"), Int("other", 1)}, "add_", "");
  program.Call("torch.ops.aten.sin.default", {Operand("self", "x")}, "sin", "s0, 8");
  program.Call("torch.ops.aten.relu_.default", {Operand("self", "sin")}, "relu_", "s0, 8");
  program.Call("torch.ops.aten.cos.default", {Operand("self", "sin")}, "cos", "s0, 8");
  program.Call("torch.ops.aten.__and__.Tensor", {Operand("self", "cos"), Operand("other", "x")}, "and", "s0, 8");
  program.Returns("and");
  CHECK_EQ(Lines(LinesOf(LayersOfProgram(program))), Lines({"sin(x) -> [B, 8]", "relu(sin) -> [B, 8] inplace=1",
                                                            "cos(relu_) -> [B, 8]", "bitwise_and(cos, x) -> [B, 8]"}));
}

TEST_CASE("program: a write through slices is a write into what they are slices of") {
  ProgramText program;
  program.Input("x", "s0, 8, 4");
  program.Input("y", "s0, 2");
  program.Call("torch.ops.aten.clone.default", {Operand("self", "x")}, "clone", "s0, 8, 4");
  program.Call("torch.ops.aten.slice.Tensor", {Operand("self", "clone"), Int("dim", 1), Int("start", 2), Int("end", 4)},
               "slice_1", "s0, 2, 4");
  program.Call("torch.ops.aten.select.int", {Operand("self", "slice_1"), Int("dim", 2), Int("index", 0)}, "select",
               "s0, 2");
  program.Call("torch.ops.aten.copy_.default", {Operand("self", "select"), Operand("src", "y")}, "copy_", "s0, 2");
  program.Call("torch.ops.aten.relu.default", {Operand("self", "clone")}, "relu", "s0, 8, 4");
  program.Returns("relu");
  CHECK_EQ(Lines(LinesOf(LayersOfProgram(program))),
           Lines({"clone(x) -> [B, 8, 4]", "slice(clone) -> [B, 2, 4] dim=1 start=2 step=1",
                  "select(slice_1) -> [B, 2] dim=2 index=0",
                  "slice_scatter(clone, y, select) -> [B, 8, 4] inplace=1 update=copy", "relu(copy_) -> [B, 8, 4]"}));
}

TEST_CASE("program: conversions that are nothing in fp32") {
  // LlamaRMSNorm: up by .to(torch.float32), and back to what it was by .to(input_dtype).
  ProgramText program;
  const std::string norm = "L__self__,,net.Net;L__self___norm,norm,net.RMSNorm";
  program.Input("x", "s0, 8");
  const auto to = [](const std::string& x) {
    return std::vector<std::string>{Operand("self", x), Argument("dtype", "{\"as_scalar_type\": 7}")};
  };
  program.Call("torch.ops.aten.to.dtype", to("x"), "to", "s0, 8", norm, "to",
               "hidden_states = hidden_states.to(torch.float32)");
  program.Call("torch.ops.aten.sin.default", {Operand("self", "to")}, "sin", "s0, 8", norm);
  program.Call("torch.ops.aten.to.dtype", to("sin"), "to_1", "s0, 8", norm, "to",
               "return self.weight * hidden_states.to(input_dtype)");
  program.Call("torch.ops.aten.to.dtype", to("to_1"), "to_2", "s0, 8", "", "float", "x = x.float()");
  program.Call("torch.ops.aten.type_as.default", {Operand("self", "to_2"), Operand("other", "x")}, "type_as", "s0, 8");
  // Where nothing was cast up before, and where only a device is named, nothing is known to run.
  program.Call("torch.ops.aten.to.dtype", to("type_as"), "to_3", "s0, 8", "L__self__,,n.N;a,a,n.A", "to",
               "x = x.to(self.dtype)");
  program.Call("torch.ops.aten.to.dtype_layout", {Operand("self", "to_3")}, "to_4", "s0, 8", "", "to",
               "x.to(y.device)");
  program.Call("torch.ops.aten.cos.default", {Operand("self", "to_4")}, "cos", "s0, 8");
  program.Returns("cos");
  CHECK_EQ(Lines(LinesOf(LayersOfProgram(program))),
           Lines({"norm: float(x) -> [B, 8]", "norm: sin(to) -> [B, 8]", "norm: type_as(sin, x) -> [B, 8]",
                  "float(to_1) -> [B, 8]", "type_as(to_2, x) -> [B, 8]", "cos(type_as) -> [B, 8]"}));
}

TEST_CASE("program: behind its module an upcast of fp32 is what was cast") {
  ProgramText program;
  const std::string norm = "L__self__,,net.Net;L__self___norm,norm,net.RMSNorm";
  const auto to = [](const std::string& x) {
    return std::vector<std::string>{Operand("self", x), Argument("dtype", "{\"as_scalar_type\": 7}")};
  };
  program.Input("x", "s0, 8");
  program.Call("torch.ops.aten.sin.default", {Operand("self", "x")}, "sin", "s0, 8");
  program.Call("torch.ops.aten.to.dtype", to("sin"), "to", "s0, 8", norm, "float", "x = x.float()");
  program.Call("torch.ops.aten.cos.default", {Operand("self", "to")}, "cos", "s0, 8", norm);
  program.Call("torch.ops.aten.add.Tensor", {Operand("self", "to"), Operand("other", "cos")}, "add", "s0, 8");
  // A module that only casts returns what it cast.
  const std::string cast = "L__self__,,net.Net;L__self___cast,cast,net.Cast";
  program.Call("torch.ops.aten.to.dtype", to("add"), "to_1", "s0, 8", cast, "float", "return x.float()");
  program.Call("torch.ops.aten.relu.default", {Operand("self", "to_1")}, "relu", "s0, 8");
  program.Returns("relu");
  CHECK_EQ(Lines(LinesOf(LayersOfProgram(program))),
           Lines({"sin(x) -> [B, 8]", "norm: float(sin) -> [B, 8]", "norm: cos(to) -> [B, 8]",
                  "add(sin, cos) -> [B, 8]", "cast: float(add) -> [B, 8]", "relu(to_1) -> [B, 8]"}));
}

TEST_CASE("program: noise, empty caches, outer products, broadcasts") {
  ProgramText program;
  program.Constant("c_cache", "cache", "0");
  program.Input("x", "s0, 8");
  program.Input("y", "8");
  program.Call("torch.ops.aten.new_empty.default", {Operand("self", "x"), Ints("size", {2, 1})}, "new_empty", "s0, 1");
  program.Call("torch.ops.aten.bernoulli_.float", {Operand("self", "new_empty"), Real("p", 0.9)}, "bernoulli_",
               "s0, 1");
  program.Call("torch.ops.aten.mul.Tensor", {Operand("self", "x"), Operand("other", "bernoulli_")}, "mul", "s0, 8");
  program.Call("torch.ops.aten.lift_fresh_copy.default", {Operand("self", "c_cache")}, "lift", "0");
  program.Call("torch.ops.aten.cat.default", {Operands("tensors", {"lift", "mul"}), Int("dim", -1)}, "cat", "s0, 8");
  program.Call("torch.ops.aten.outer.default", {Operand("self", "y"), Operand("vec2", "y")}, "outer", "8, 8");
  program.CallOfSeveral("torch.ops.aten.broadcast_tensors.default", {Operands("tensors", {"cat", "y"})},
                        {{"getitem", "s0, 8"}, {"getitem_1", "s0, 8"}});
  program.Call("torch.ops.aten.add.Tensor", {Operand("self", "getitem"), Operand("other", "getitem_1")}, "add",
               "s0, 8");
  program.Returns("add");
  program.Returns("outer");
  CHECK_EQ(
      Lines(LinesOf(LayersOfProgram(program))),
      Lines({"bernoulli(-, x) -> [B, 1] skipped-in-evaluation=1", "mul(x, new_empty) -> [B, 8] skipped-in-evaluation=0",
             "cat(mul) -> [B, 8] dim=1", "reshape(y) -> [8, 1]", "mul(outer.column, y) -> [8, 8]",
             "expand(y) -> [B, 8]", "add(cat, getitem_1) -> [B, 8]"}));
}

TEST_CASE("program: an operator that nobody knows keeps its name") {
  ProgramText program;
  program.Input("x", "s0, 8");
  program.Call("torch.ops.mine.twirl.default", {Operand("self", "x"), Int("times", 2)}, "twirl", "s0, 8");
  program.Returns("twirl");
  CHECK_EQ(Lines(LinesOf(LayersOfProgram(program))), Lines({"mine::twirl(x) -> [B, 8]"}));
}

TEST_CASE("program: a fixed batch stays fixed, which is said") {
  ProgramText program;
  program.Input("x", "2, 8");
  program.Call("torch.ops.aten.relu.default", {Operand("self", "x")}, "relu", "2, 8");
  program.Returns("relu");
  const std::string bytes = program.Archive();
  Notes notes;
  const Result<Graph> graph = LoadFromBytes("net.pt2", bytes.data(), bytes.size(), &notes);
  REQUIRE(graph.ok());
  const Result<Binding> binding = Bind(*graph, {}, &notes);
  REQUIRE(binding.ok());
  const Result<Shapes> shapes = Infer(*graph, *binding, &notes);
  REQUIRE_FALSE(shapes.ok());
  CHECK(shapes.error().text.find("it was exported with the fixed batch 2") != std::string::npos);
}

}  // namespace
}  // namespace vramplan
