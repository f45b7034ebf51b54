// Overloads of model-local functions (NodeProto.overload is field 8, FunctionProto.overload 13; ONNX 1.12 has neither),
// as exporters wrote the functions of pkg.onnxscript.torch_lib.
#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include "graph/onnx/load.h"

namespace vramplan {
namespace {

TEST_CASE("of functions with one name the overload says which is called") {
  constexpr const char* kDomain = "pkg.onnxscript.torch_lib";
  onnx::ModelProto model;
  model.set_ir_version(10);
  model.add_opset_import()->set_version(18);
  for (const auto& [overload, op] : {std::pair{"", "Relu"}, {"two", "Tanh"}}) {
    auto* function = model.add_functions();
    function->set_domain(kDomain);
    function->set_name("aten_thing");
    function->add_input("a");
    function->add_output("b");
    auto* node = function->add_node();
    node->set_op_type(op);
    node->add_input("a");
    node->add_output("b");
    if (*overload != 0) function->mutable_unknown_fields()->AddLengthDelimited(13, overload);
  }
  auto* graph = model.mutable_graph();
  auto* type = graph->add_input()->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  graph->mutable_input(0)->set_name("x");
  const char* read = "x";
  for (const auto& [overload, made] : {std::pair{"two", "y"}, {"", "z"}, {"three", "w"}}) {
    auto* node = graph->add_node();
    node->set_op_type("aten_thing");
    node->set_domain(kDomain);
    node->add_input(read);
    node->add_output(made);
    if (*overload != 0) node->mutable_unknown_fields()->AddLengthDelimited(8, overload);
    read = made;
  }
  graph->add_output()->set_name("w");
  const std::string bytes = model.SerializeAsString();
  const auto loaded = LoadFromBytes("f.onnx", bytes.data(), bytes.size(), nullptr);
  REQUIRE(loaded.ok());
  REQUIRE(loaded->nodes.size() == 3);
  CHECK(loaded->nodes[0].op == "Tanh");
  CHECK(loaded->nodes[1].op == "Relu");
  CHECK(loaded->nodes[2].op == "aten_thing");  // no such overload: a call that nobody knows
}

}  // namespace
}  // namespace vramplan
