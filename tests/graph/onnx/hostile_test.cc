// Files made to break a reader. Each loads or is refused with one line, soon and in little memory, and what loads is
// inferred without harm.
#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <chrono>
#include <functional>

#include "graph/onnx/load.h"
#include "graph/shapes/bounds.h"
#include "tests/support/graph_invariants.h"

namespace vramplan {
namespace {

void Add(onnx::GraphProto* graph, const char* op, std::initializer_list<const char*> inputs, const char* output) {
  auto* node = graph->add_node();
  node->set_op_type(op);
  for (const char* input : inputs) node->add_input(input);
  node->add_output(output);
}

void Declare(onnx::ValueInfoProto* value, const char* name, std::initializer_list<int64_t> dims) {
  value->set_name(name);
  auto* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  for (int64_t dim : dims) type->mutable_shape()->add_dim()->set_dim_value(dim);
}

onnx::ModelProto Model() {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  Declare(model.mutable_graph()->add_input(), "x", {2, 4});
  model.mutable_graph()->add_output()->set_name("y");
  return model;
}

// "loads, y [2, 4]", or the error; both ways of inference must hold out.
std::string Outcome(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  Notes notes;
  const auto graph = LoadFromBytes("f.onnx", bytes.data(), bytes.size(), &notes);
  if (!graph.ok()) return graph.error().text;
  if (std::string broken = BrokenInvariant(*graph); !broken.empty()) return "broken: " + broken;
  auto binding = Bind(*graph, {.batch_dim = "none"}, &notes);
  if (!binding.ok()) return binding.error().text;
  const auto shapes = Infer(*graph, *binding, &notes);
  TakeBounds(&*binding);
  (void)Infer(*graph, *binding, &notes).ok();
  if (!shapes.ok()) return shapes.error().text;
  const TensorFacts& y = (*shapes)[graph->outputs.front()];
  return "loads, y " + (y.shape ? ToString(*y.shape) : std::string("?"));
}

onnx::TensorProto Numbers(const char* name, std::initializer_list<int64_t> numbers) {
  onnx::TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(numbers.size()));
  for (int64_t number : numbers) tensor.add_int64_data(number);
  return tensor;
}

TEST_CASE("sizes beyond 63 bits") {
  constexpr int64_t kHuge = int64_t{1} << 62;
  onnx::ModelProto declared = Model();
  Declare(declared.mutable_graph()->mutable_input(0), "x", {kHuge, 4});
  Add(declared.mutable_graph(), "Relu", {"x"}, "y");
  CHECK(Outcome(declared) == "input 'x' has a shape beyond 63 bits of bytes: [2, 4, 4611686018427387904, 4]");

  onnx::ModelProto stored = Model();
  auto* weight = stored.mutable_graph()->add_initializer();
  weight->set_name("w");
  weight->set_data_type(onnx::TensorProto::FLOAT);
  for (int64_t dim : {kHuge, kHuge}) weight->add_dims(dim);
  Add(stored.mutable_graph(), "Add", {"x", "w"}, "y");
  CHECK(Outcome(stored).find("beyond 63 bits of bytes") != std::string::npos);

  // What a node makes of small numbers.
  const auto made = [](const char* op, std::initializer_list<int64_t> numbers) {
    onnx::ModelProto model = Model();
    *model.mutable_graph()->add_initializer() = Numbers("n", numbers);
    Add(model.mutable_graph(), op, {"x", "n"}, "y");
    return Outcome(model);
  };
  CHECK(made("Expand", {kHuge, kHuge, 1, 1}).find("is overflowing") != std::string::npos);
  CHECK(made("Tile", {kHuge, kHuge}).find("is overflowing") != std::string::npos);
  CHECK(made("Pad", {kHuge, kHuge, kHuge, kHuge}).find("is overflowing") != std::string::npos);
  CHECK(made("Reshape", {kHuge, kHuge}).find("overflowing") != std::string::npos);
  CHECK(made("Reshape", {-kHuge, 1}).find("has a negative length") != std::string::npos);
  CHECK(made("Pad", {-kHuge, 0, 0, 0}).find("has a negative length") != std::string::npos);
}

TEST_CASE("numbers that a file merely states allocate nothing") {
  onnx::ModelProto model = Model();
  *model.mutable_graph()->add_initializer() = Numbers("n", {int64_t{1} << 40});
  Add(model.mutable_graph(), "ConstantOfShape", {"n"}, "y");
  CHECK(Outcome(model) == "loads, y [1099511627776]");
  onnx::ModelProto range = Model();
  for (const auto& [name, number] : {std::pair{"a", int64_t{0}}, {"b", int64_t{1} << 40}, {"c", int64_t{1}}}) {
    onnx::TensorProto scalar = Numbers(name, {number});
    scalar.clear_dims();
    *range.mutable_graph()->add_initializer() = scalar;
  }
  Add(range.mutable_graph(), "Range", {"a", "b", "c"}, "y");
  CHECK(Outcome(range) == "loads, y [1099511627776]");
}

TEST_CASE("cycles, duplicate names") {
  onnx::ModelProto cycle = Model();
  Add(cycle.mutable_graph(), "Add", {"x", "y"}, "a");
  Add(cycle.mutable_graph(), "Relu", {"a"}, "y");
  CHECK(Outcome(cycle) == "the graph has a cycle: node 'Add_0' waits for its own output");
  onnx::ModelProto twice = Model();
  Add(twice.mutable_graph(), "Relu", {"x"}, "y");
  Add(twice.mutable_graph(), "Tanh", {"x"}, "y");
  CHECK(Outcome(twice) == "the tensor name 'y' is given twice, the second time by node 'Tanh_1'");
}

// y = call(x) of functions f0, f1, ..., each of whose bodies calls the function that `next` names.
onnx::ModelProto Calls(int functions, const std::function<std::string(int)>& next) {
  onnx::ModelProto model = Model();
  model.add_opset_import()->set_domain("local");
  for (int i = 0; i < functions; ++i) {
    auto* function = model.add_functions();
    function->set_domain("local");
    function->set_name("f" + std::to_string(i));
    function->add_input("a");
    function->add_output("b");
    auto* node = function->add_node();
    node->set_op_type(next(i));
    node->set_domain("local");
    node->add_input("a");
    node->add_output("b");
  }
  Add(model.mutable_graph(), "f0", {"x"}, "y");
  model.mutable_graph()->mutable_node(0)->set_domain("local");
  return model;
}

TEST_CASE("functions that call themselves, or each other, stay calls") {
  CHECK(Outcome(Calls(1, [](int) { return "f0"; })) == "loads, y ?");
  CHECK(Outcome(Calls(2, [](int i) { return i == 0 ? "f1" : "f0"; })) == "loads, y ?");
  CHECK(Outcome(Calls(1000, [](int i) { return "f" + std::to_string((i + 1) % 1000); })) == "loads, y ?");
}

TEST_CASE("a million attributes") {
  onnx::ModelProto model = Model();
  Add(model.mutable_graph(), "Relu", {"x"}, "y");
  for (int i = 0; i < 1'000'000; ++i) {
    auto* attribute = model.mutable_graph()->mutable_node(0)->add_attribute();
    attribute->set_name("a" + std::to_string(i));
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(i);
  }
  CHECK(Outcome(model) == "loads, y [2, 4]");
}

TEST_CASE("paths of external data that climb out of the folder are never opened") {
  onnx::ModelProto model = Model();
  auto* weight = model.mutable_graph()->add_initializer();
  weight->set_name("w");
  weight->set_data_type(onnx::TensorProto::FLOAT);
  weight->add_dims(4);
  weight->set_data_location(onnx::TensorProto::EXTERNAL);
  auto* entry = weight->add_external_data();
  entry->set_key("location");
  entry->set_value("../../../../../../dev/full");  // reading it never ends; Load does not know the name at all
  Add(model.mutable_graph(), "Add", {"x", "w"}, "y");
  const std::string bytes = model.SerializeAsString();
  const auto graph = LoadFromBytes("f.onnx", bytes.data(), bytes.size(), nullptr);
  REQUIRE(graph.ok());
  const StoredTensor& stored = *graph->tensors.front().stored;
  CHECK(stored.external);
  CHECK_FALSE(stored.values);
  CHECK(Outcome(model) == "loads, y [2, 4]");
}

TEST_CASE("what an error quotes of the file stays on its line") {
  onnx::ModelProto model = Model();
  Add(model.mutable_graph(), "Einsum", {"x"}, "y");
  auto* equation = model.mutable_graph()->mutable_node(0)->add_attribute();
  equation->set_name("equation");
  equation->set_type(onnx::AttributeProto::STRING);
  equation->set_s(std::string("a\nb\x1b[2J\0", 8));
  CHECK(Outcome(model) == "node Einsum_0 (Einsum): its equation \"a?b?[2J?\" does not fit its inputs");
}

// Sequence operators on tensors, tensors where sequences are asked for.
TEST_CASE("kinds that do not go together") {
  for (const char* op : {"SequenceInsert", "SequenceAt", "SequenceErase", "SequenceLength", "ConcatFromSequence",
                         "OptionalGetElement", "OptionalHasElement", "SequenceConstruct", "SplitToSequence"}) {
    CAPTURE(op);
    onnx::ModelProto model = Model();
    *model.mutable_graph()->add_initializer() = Numbers("n", {});
    Add(model.mutable_graph(), op, {"n", "x"}, "s");
    Add(model.mutable_graph(), "SequenceConstruct", {"s", "n"}, "t");
    Add(model.mutable_graph(), "Reshape", {"t", "t"}, "u");
    Add(model.mutable_graph(), "SequenceInsert", {"t", "u", "n"}, "v");
    Add(model.mutable_graph(), "NonZero", {"v"}, "y");
    CHECK(Outcome(model) != "");
  }
}

}  // namespace
}  // namespace vramplan
