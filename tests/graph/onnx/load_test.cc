#include "graph/onnx/load.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <onnx/onnx_pb.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/graph_invariants.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

Graph Loaded(const onnx::ModelProto& model, Notes* notes) {
  const std::string bytes = model.SerializeAsString();
  Result<Graph> graph = LoadFromBytes("test.onnx", bytes.data(), bytes.size(), notes);
  if (!graph) FAIL(ToString(graph.error()));
  CHECK(BrokenInvariant(*graph) == "");
  return *std::move(graph);
}

std::vector<std::string> NodeNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) names.push_back(node.name);
  return names;
}

using Names = std::vector<std::string>;

// "name op(inputs) -> outputs", a line per node.
std::string Listing(const Graph& graph) {
  std::string text;
  const auto list = [&](const std::vector<TensorId>& ids) {
    for (size_t i = 0; i < ids.size(); ++i) text += (i > 0 ? ", " : "") + (ids[i].valid() ? graph[ids[i]].name : "-");
  };
  for (const Node& node : graph.nodes) {
    text += node.name + ": " + node.op + "(";
    list(node.inputs);
    text += ") -> ";
    list(node.outputs);
    text += "\n";
  }
  return text;
}

TEST_CASE("x.moveaxis(-1, 1): axes that torch.onnx counts from the end") {
  const Graph graph = GraphFromText(R"(
    agraph (float[batch, 3, 4] x) => (float[batch, 4, 3] y) {
      y = Transpose <perm = [0, -1, 1]> (x)
    })");
  CHECK(graph.nodes[0].attributes.Ints("perm") == std::vector<int64_t>{0, 2, 1});
}

TEST_CASE("a graph as text becomes tensors, nodes and provenance") {
  const Graph graph = GraphFromText(R"(
    # signature: p_fc_weight: PARAMETER target='fc.weight'
    agraph (float[batch, 3] x) => (float[batch, 10] y) <float[10, 3] `fc.weight`, float[2] bias = {0, 9.5}, float[batch, 10] h> {
      h = Gemm <transB = 1, alpha = 2.0> (x, `fc.weight`, bias)
        # name: /fc/Gemm
        # fx_node: %linear : call_function[target=torch.ops.aten.linear.default](args = (%x), kwargs = {})
        # name_scopes: ['', 'fc', 'linear']
        # class_hierarchy: ['torch.nn.Linear', 'aten.linear.default']
        # rule_name: FuseBatchNormIntoConv
        # pkg.other.key: not read
      y = Relu (h)
    })");
  CHECK(BrokenInvariant(graph) == "");
  CHECK(Listing(graph) == "/fc/Gemm: Gemm(x, fc.weight, bias) -> h\nRelu_1: Relu(h) -> y\n");
  CHECK(graph.nodes[0].attributes.Int("transB", 0) == 1);
  CHECK(graph.nodes[0].attributes.Real("alpha", 0) == 2.0);
  const Provenance& provenance = graph.nodes[0].provenance;
  CHECK(provenance.fx_node ==
        "%linear : call_function[target=torch.ops.aten.linear.default](args = (%x), kwargs = {})");
  CHECK(provenance.name_scopes == "['', 'fc', 'linear']");
  CHECK(provenance.class_hierarchy == "['torch.nn.Linear', 'aten.linear.default']");
  CHECK(provenance.rewrite_rules == "FuseBatchNormIntoConv");
  CHECK(graph.nodes[1].provenance.fx_node == "");
  CHECK(graph.signature == "# inputs\np_fc_weight: PARAMETER target='fc.weight'\n");
  CHECK(graph.file == "test.onnx");
  CHECK(graph.name == "agraph");
  CHECK(graph.ir_version == 8);
  CHECK(graph.opset() == 17);
  CHECK(graph.inputs == std::vector<TensorId>{TensorNamed(graph, "x")});
  CHECK(graph.outputs == std::vector<TensorId>{TensorNamed(graph, "y")});
  const StoredTensor& weight = *graph[TensorNamed(graph, "fc.weight")].stored;
  CHECK(weight.type == DType::kFloat32);
  CHECK(weight.dims == std::vector<int64_t>{10, 3});
  CHECK(weight.external);
  CHECK(!weight.values);
  const StoredTensor& bias = *graph[TensorNamed(graph, "bias")].stored;
  CHECK(!bias.external);
  CHECK(bias.values == ConstantValues{.integers = {}, .reals = {0, 9.5}});
  for (const char* name : {"x", "h"}) {
    const DeclaredType& declared = *graph[TensorNamed(graph, name)].declared;
    CHECK(declared.type == DType::kFloat32);
    REQUIRE(declared.dims);
    CHECK(declared.dims->front() == DeclaredDim{.length = {}, .symbol = "batch"});
    CHECK(declared.dims->back().length.has_value());
  }
}

TEST_CASE("a declared type that leaves things open") {
  onnx::ModelProto model;
  model.ParseFromString(OnnxBytes("g (float[2] x, float[2] s) => (float[2] y) { y = Relu (x) }"));
  auto* type = model.mutable_graph()->mutable_input(0)->mutable_type();
  type->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->clear_dim_value();
  model.mutable_graph()->mutable_output(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  *model.mutable_graph()->mutable_input(1)->mutable_type()->mutable_sequence_type()->mutable_elem_type() = *type;
  Notes notes;
  const Graph graph = Loaded(model, &notes);
  CHECK(graph.tensors[0].declared->dims == std::vector<DeclaredDim>{{}});
  CHECK(!graph[graph.outputs[0]].declared->dims);
  CHECK(graph[graph.outputs[0]].declared->type == DType::kFloat32);
  CHECK(!graph.tensors[1].declared->is_tensor);
  CHECK(notes.all().empty());
}

TEST_CASE("Constant nodes become stored tensors") {
  const Graph graph = GraphFromText(R"(
    g (float[2] x) => (float[2] y) {
      a = Constant <value = int64[2] {2, -1}> ()
      b = Constant <value_float = 0.5> ()
      c = Constant <value_ints = [7, 8, 9]> ()
      d = Constant <value_int = 3> ()
      e = Constant <value_floats = [1.0, 2.0]> ()
      f = Constant <value_string = "s"> ()
      y = Foo (x, a, b, c, d, e, f)
    })");
  CHECK(NodeNames(graph) == Names{"Foo_6"});
  struct Row {
    const char* name;
    DType type;
    std::vector<int64_t> dims;
    std::optional<ConstantValues> values;
  };
  for (const Row& row : {Row{"a", DType::kInt64, {2}, {{{2, -1}, {}}}}, Row{"b", DType::kFloat32, {}, {{{}, {0.5}}}},
                         Row{"c", DType::kInt64, {3}, {{{7, 8, 9}, {}}}}, Row{"d", DType::kInt64, {}, {{{3}, {}}}},
                         Row{"e", DType::kFloat32, {2}, {{{}, {1, 2}}}}, Row{"f", DType::kString, {}, {}}}) {
    CAPTURE(row.name);
    const Tensor& tensor = graph[TensorNamed(graph, row.name)];
    CHECK(!tensor.producer.valid());
    REQUIRE(tensor.stored);
    CHECK(tensor.stored->type == row.type);
    CHECK(tensor.stored->dims == row.dims);
    CHECK(tensor.stored->values == row.values);
  }
}

TEST_CASE("typed data fields of every type") {
  onnx::ModelProto model;
  model.ParseFromString(OnnxBytes("g (float[2] x) => (float[2] y) { y = Relu (x) }"));
  const auto add = [&](DType type, int64_t elements) {
    auto* tensor = model.mutable_graph()->add_initializer();
    tensor->set_name(std::string(Name(type)));
    tensor->set_data_type(static_cast<int32_t>(type));
    tensor->add_dims(elements);
    return tensor;
  };
  for (const DType type : {DType::kInt8, DType::kUint8, DType::kInt16, DType::kUint16, DType::kInt32, DType::kBool})
    add(type, 1)->add_int32_data(1);
  add(DType::kFloat16, 1)->add_int32_data(0x3c00);
  add(DType::kBFloat16, 1)->add_int32_data(0x3f80);
  add(DType::kFloat8E4M3FN, 1)->add_int32_data(0x38);
  add(DType::kInt4, 2)->add_int32_data(0x11);
  add(DType::kUint2, 4)->add_int32_data(0x55);
  add(DType::kInt64, 1)->add_int64_data(1);
  add(DType::kUint32, 1)->add_uint64_data(1);
  add(DType::kUint64, 1)->add_uint64_data(1);
  add(DType::kFloat32, 1)->add_float_data(1);
  add(DType::kFloat64, 1)->add_double_data(1);
  add(DType::kComplex64, 1)->add_float_data(1);
  model.mutable_graph()->mutable_initializer()->rbegin()->add_float_data(1);
  add(DType::kString, 1)->add_string_data("s");
  Notes notes;
  const Graph graph = Loaded(model, &notes);
  int checked = 0;
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.stored) continue;
    CAPTURE(tensor.name);
    ++checked;
    if (tensor.stored->type == DType::kString) {
      CHECK(!tensor.stored->values);
      continue;
    }
    REQUIRE(tensor.stored->values);
    for (const int64_t value : tensor.stored->values->integers) CHECK(value == 1);
    for (const double value : tensor.stored->values->reals) CHECK(value == 1);
  }
  CHECK(checked == 18);
}

TEST_CASE("attributes of every kind") {
  const Graph graph = GraphFromText(R"(
    g (float[2] x) => (float[2] y) {
      y = Foo <i = 3, f = 0.5, s = "text", is = [1, 2], fs = [0.5], ss = ["a", "b"], t = int64[1] {4}> (x)
    })");
  const Attributes& attributes = graph.nodes[0].attributes;
  CHECK(attributes.all().size() == 7);
  CHECK(attributes.Int("i", 0) == 3);
  CHECK(attributes.Real("f", 0) == 0.5);
  CHECK(attributes.Text("s", "") == "text");
  CHECK(attributes.Ints("is") == std::vector<int64_t>{1, 2});
  CHECK(*attributes.Get<std::vector<double>>("fs") == std::vector<double>{0.5});
  CHECK(*attributes.Get<std::vector<std::string>>("ss") == Names{"a", "b"});
  CHECK(attributes.Get<StoredTensor>("t")->values->integers == std::vector<int64_t>{4});
}

TEST_CASE("inputs that are initializers, as IR version 3 has them, are initializers") {
  onnx::ModelProto model;
  model.ParseFromString(OnnxBytes("g (float[2] x, float[2] w) => (float[2] y) { y = Add (x, w) }"));
  auto* weight = model.mutable_graph()->add_initializer();
  weight->set_name("w");
  weight->set_data_type(1);
  weight->add_dims(2);
  Notes notes;
  const Graph graph = Loaded(model, &notes);
  CHECK(graph.inputs == std::vector<TensorId>{TensorNamed(graph, "x")});
  CHECK(graph[TensorNamed(graph, "w")].stored);
  CHECK(graph[TensorNamed(graph, "w")].declared);
  CHECK(!graph[TensorNamed(graph, "w")].stored->values);  // stripped
}

TEST_CASE("nodes come in an order in which everything is made before it is read") {
  const Graph in_order =
      GraphFromText("g (float[2] x) => (float[2] d) { b = Tanh (x) a = Relu (x) c = Add (a, b) d = Relu (c) }");
  CHECK(NodeNames(in_order) == Names{"Tanh_0", "Relu_1", "Add_2", "Relu_3"});
  const Graph sorted = GraphFromText(
      "g (float[2] x) => (float[2] d) { d = Relu (c) c = Add (a, b) e = Exp (x) b = Tanh (x) a = Relu (b) }");
  CHECK(BrokenInvariant(sorted) == "");
  CHECK(NodeNames(sorted) == Names{"Exp_2", "Tanh_3", "Relu_4", "Add_1", "Relu_0"});
}

TEST_CASE("nodes without a name get one, nodes with the same name another") {
  const Graph graph = GraphFromText(R"(
    g (float[2] x) => (float[2] d) {
      a = Relu (x)
        # name: act
      b = Relu (a)
        # name: act
      c = Relu (b)
        # name: Relu_3
      d = Relu (c)
    })");
  CHECK(NodeNames(graph) == Names{"act", "act_1", "Relu_3", "Relu_3_1"});
}

TEST_CASE("omitted inputs and outputs are absent") {
  onnx::ModelProto model;
  model.ParseFromString(OnnxBytes("g (float[2] x) => (float[2] y) { y, m = Foo (x, x, x) }"));
  model.mutable_graph()->mutable_node(0)->set_input(1, "");
  model.mutable_graph()->mutable_node(0)->set_output(1, "");
  Notes notes;
  CHECK(Listing(Loaded(model, &notes)) == "Foo_0: Foo(x, -, x) -> y, -\n");
}

TEST_CASE("a file without opsets is read as one of opset 17, with a note") {
  onnx::ModelProto model;
  model.ParseFromString(OnnxBytes("g (float[2] x) => (float[2] y) { y = Relu (x) }"));
  model.clear_opset_import();
  Notes notes;
  CHECK(Loaded(model, &notes).opset() == 17);
  CHECK(notes.Has("assumed-opset"));
}

TEST_CASE("subgraphs see the names around them") {
  const Graph graph = GraphFromText(R"(
    g (float[2] x, bool c) => (float[2] y) {
      y = If <then_branch = then () => (float[2] t) { t = If <then_branch = inner () => (float[2] u) { u = Relu (late) }, else_branch = inner2 () => (float[2] v) { v = Tanh (x) }> (c) },
              else_branch = other () => (float[2] e) { e = Constant <value_floats = [1.0, 2.0]> () }> (c)
      late = Exp (x)
    })");
  CHECK(BrokenInvariant(graph) == "");
  CHECK(NodeNames(graph) == Names{"Exp_1", "If_0"});  // the If waits for what its branches read
  const auto& then_branch = **graph.nodes[1].attributes.Get<std::shared_ptr<Graph>>("then_branch");
  const auto& else_branch = **graph.nodes[1].attributes.Get<std::shared_ptr<Graph>>("else_branch");
  const auto& inner = **then_branch.nodes[0].attributes.Get<std::shared_ptr<Graph>>("then_branch");
  CHECK(inner[inner.nodes[0].inputs[0]].outer == TensorNamed(then_branch, "late"));
  CHECK(then_branch[TensorNamed(then_branch, "late")].outer == TensorNamed(graph, "late"));
  CHECK(then_branch[TensorNamed(then_branch, "c")].outer == TensorNamed(graph, "c"));
  CHECK(then_branch.inputs.empty());
  CHECK(then_branch.opset() == 17);
  CHECK(else_branch.nodes.empty());
  CHECK(else_branch[else_branch.outputs[0]].stored->values->reals == std::vector<double>{1, 2});
}

// Writes a function into `model`: inputs "a b", outputs, and a node per "out = Op in in".
onnx::FunctionProto* AddFunction(onnx::ModelProto* model, const std::string& name, const Names& inputs,
                                 const Names& outputs) {
  auto* function = model->add_functions();
  function->set_name(name);
  function->set_domain("local");
  for (const std::string& input : inputs) function->add_input(input);
  for (const std::string& output : outputs) function->add_output(output);
  return function;
}
onnx::NodeProto* AddNode(onnx::FunctionProto* function, const std::string& op, const Names& inputs,
                         const Names& outputs, const std::string& domain = "") {
  auto* node = function->add_node();
  node->set_op_type(op);
  node->set_domain(domain);
  for (const std::string& input : inputs) node->add_input(input);
  for (const std::string& output : outputs) node->add_output(output);
  return node;
}

const char* kCallsTwice = R"(<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
  g (float[2] x, float[2] w) => (float[2] z) {
    y = local.Block <slope = 0.25> (x, w)
      # name: blocks.0
      # fx_node: %block
    z = local.Block (y, w)
  })";

TEST_CASE("calls of local functions become their nodes") {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(OnnxBytes(kCallsTwice)));
  auto* block = AddFunction(&model, "Block", {"a", "b"}, {"c"});
  AddNode(block, "Inner", {"a", "b"}, {"h"}, "local");
  auto* leaky = AddNode(block, "LeakyRelu", {"h"}, {"c"});
  auto* slope = leaky->add_attribute();
  slope->set_name("alpha");
  slope->set_type(onnx::AttributeProto::FLOAT);
  slope->set_ref_attr_name("slope");
  auto* inner = AddFunction(&model, "Inner", {"p", "q"}, {"r"});
  AddNode(inner, "Add", {"p", "q"}, {"h"});
  auto* constant = AddNode(inner, "Constant", {}, {"k"})->add_attribute();
  constant->set_name("value_float");
  constant->set_f(2);
  AddNode(inner, "Mul", {"h", "k"}, {"r"})->set_name("scale");
  Notes notes;
  const Graph graph = Loaded(model, &notes);
  CHECK(Listing(graph) ==
        "blocks.0/Inner_0/Add_0: Add(x, w) -> blocks.0/Inner_0/h\n"
        "blocks.0/Inner_0/scale: Mul(blocks.0/Inner_0/h, blocks.0/Inner_0/k) -> blocks.0/h\n"
        "blocks.0/LeakyRelu_1: LeakyRelu(blocks.0/h) -> y\n"
        "Block_1/Inner_0/Add_0: Add(y, w) -> Block_1/Inner_0/h\n"
        "Block_1/Inner_0/scale: Mul(Block_1/Inner_0/h, Block_1/Inner_0/k) -> Block_1/h\n"
        "Block_1/LeakyRelu_1: LeakyRelu(Block_1/h) -> z\n");
  CHECK(graph.nodes[2].attributes.Real("alpha", -1) == 0.25);
  CHECK(!graph.nodes[5].attributes.Has("alpha"));
  CHECK(graph.nodes[0].provenance.fx_node == "%block");
  CHECK(graph.nodes[3].provenance.fx_node == "");
  CHECK(notes.all().empty());

  // A default of the function's own attribute: FunctionProto.attribute_proto, which ONNX 1.12 does not know.
  onnx::AttributeProto fallback;
  fallback.set_name("slope");
  fallback.set_type(onnx::AttributeProto::FLOAT);
  fallback.set_f(0.75);
  model.mutable_functions(0)->mutable_unknown_fields()->AddLengthDelimited(11, fallback.SerializeAsString());
  const Graph with_default = Loaded(model, &notes);
  CHECK(with_default.nodes[2].attributes.Real("alpha", -1) == 0.25);
  CHECK(with_default.nodes[5].attributes.Real("alpha", -1) == 0.75);
}

TEST_CASE("a function that calls itself stays a call") {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(OnnxBytes(kCallsTwice)));
  auto* block = AddFunction(&model, "Block", {"a", "b"}, {"c"});
  AddNode(block, "Relu", {"a"}, {"h"});
  AddNode(block, "Block", {"h", "b"}, {"c"}, "local");
  Notes notes;
  const Graph graph = Loaded(model, &notes);
  CHECK(NodeNames(graph) == Names{"blocks.0/Relu_0", "blocks.0/Block_1", "Block_1/Relu_0", "Block_1/Block_1"});
  CHECK(notes.all().size() == 1);
  CHECK(notes.Has("function-not-inlined"));
}

TEST_CASE("functions that double at every level do not fill the memory") {
  onnx::ModelProto model;
  REQUIRE(model.ParseFromString(OnnxBytes(kCallsTwice)));
  for (int level = 0; level < 31; ++level) {
    const std::string next = "F" + std::to_string(level + 1);
    auto* function = AddFunction(&model, level == 0 ? "Block" : "F" + std::to_string(level), {"a", "b"}, {"c"});
    AddNode(function, next, {"a", "b"}, {"h"}, "local");
    AddNode(function, next, {"h", "b"}, {"c"}, "local");
  }
  AddNode(AddFunction(&model, "F31", {"a", "b"}, {"c"}), "Add", {"a", "b"}, {"c"});
  Notes notes;
  const std::string bytes = model.SerializeAsString();
  const size_t nodes = LoadFromBytes("test.onnx", bytes.data(), bytes.size(), &notes).value().nodes.size();
  CHECK(nodes > 10'000);
  CHECK(nodes < 1'000'000);
  CHECK(notes.Has("function-not-inlined"));
}

// A file of 5 GiB, nearly all of it a hole where two weights would be: protobuf itself stops at 2 GiB.
TEST_CASE("weights inside the file are jumped over, not read") {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("vramplan_sparse_" + std::to_string(getpid()) + ".onnx")).string();
  const auto varint = [](uint64_t value) {
    std::string text;
    for (; value >= 0x80; value >>= 7) text.push_back(static_cast<char>(value | 0x80));
    return text + static_cast<char>(value);
  };
  onnx::ModelProto model;
  model.ParseFromString(
      OnnxBytes("g (float[N, 4] x) => (float[N, 4] y) { h = MatMul (x, `w.1`) y = MatMul (h, `w.2`) }"));
  const std::string graph = model.graph().SerializeAsString();
  model.clear_graph();
  const std::string head = model.SerializeAsString();
  constexpr uint64_t kRows = 167'772'160, kWeight = kRows * 4 * 4;  // 2.5 GiB
  std::vector<std::string> tensors;
  uint64_t graph_size = graph.size();
  for (const char* name : {"w.1", "w.2"}) {
    onnx::TensorProto tensor;
    tensor.set_name(name);
    tensor.set_data_type(1);
    tensor.add_dims(static_cast<int64_t>(kRows));
    tensor.add_dims(4);
    const std::string front = tensor.SerializeAsString() + '\x4a' + varint(kWeight);  // raw_data is field 9
    tensors.push_back('\x2a' + varint(front.size() + kWeight) + front);               // initializer is field 5
    graph_size += tensors.back().size() + kWeight;
  }
  const int file = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
  REQUIRE(file >= 0);
  const std::string front = head + '\x3a' + varint(graph_size) + graph;  // graph is field 7
  bool written = write(file, front.data(), front.size()) == static_cast<ssize_t>(front.size());
  auto size = static_cast<off_t>(front.size());
  for (const std::string& tensor : tensors) {
    written = written && pwrite(file, tensor.data(), tensor.size(), size) == static_cast<ssize_t>(tensor.size());
    size += static_cast<off_t>(tensor.size() + kWeight);
  }
  written = written && ftruncate(file, size) == 0;
  close(file);
  REQUIRE(written);

  rusage before = {}, after = {};
  getrusage(RUSAGE_SELF, &before);
  Notes notes;
  const Result<Graph> loaded = Load(path, &notes);
  getrusage(RUSAGE_SELF, &after);
  std::filesystem::remove(path);
  if (!loaded) FAIL(ToString(loaded.error()));
  CHECK(size > (int64_t{5} << 30));
  CHECK(BrokenInvariant(*loaded) == "");
  CHECK((*loaded)[TensorNamed(*loaded, "w.2")].stored->dims == std::vector<int64_t>{static_cast<int64_t>(kRows), 4});
  CHECK(!(*loaded)[TensorNamed(*loaded, "w.2")].stored->values);
  // Reading it all would be 80,000 faults even at sixteen pages each.
  CHECK(after.ru_minflt + after.ru_majflt - before.ru_minflt - before.ru_majflt < 2000);
}

TEST_CASE("tables and what may be their transpose have a grid of 64 elements; other weights are not looked at") {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* graph = model.mutable_graph();
  const auto add = [&](const char* name, int64_t rows, int64_t columns, const auto& at) {
    auto* tensor = graph->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(onnx::TensorProto::FLOAT);
    tensor->add_dims(rows);
    tensor->add_dims(columns);
    std::vector<float> numbers;
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) numbers.push_back(static_cast<float>(at(i, j)));
    }
    tensor->set_raw_data(numbers.data(), numbers.size() * sizeof(float));
  };
  add("table", 50, 40, [](int64_t i, int64_t j) { return i * 40 + j; });
  add("turned", 40, 50, [](int64_t i, int64_t j) { return j * 40 + i; });
  add("other", 40, 50, [](int64_t i, int64_t j) { return i * 50 + j; });
  add("square", 50, 50, [](int64_t i, int64_t j) { return i + j; });
  auto* input = graph->add_input();
  input->set_name("ids");
  input->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::INT64);
  input->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(1);
  const auto node = [&](const char* op, const char* a, const char* b, const char* out) {
    auto* made = graph->add_node();
    made->set_op_type(op);
    made->add_input(a);
    made->add_input(b);
    made->add_output(out);
  };
  node("Gather", "table", "ids", "e");
  for (const char* weight : {"turned", "other"})
    node("MatMul", "e", weight, weight == std::string("other") ? "y" : "z");
  node("MatMul", "y", "square", "w");
  for (const char* name : {"z", "w"}) graph->add_output()->set_name(name);
  const Graph loaded = Loaded(model, nullptr);
  const auto stored = [&](const char* name) { return *loaded[TensorNamed(loaded, name)].stored; };
  CHECK(stored("table").grid.size() == 64);
  CHECK(stored("square").grid.empty());
  CHECK(IsTransposeOf(stored("table"), stored("turned")) == true);
  CHECK(IsTransposeOf(stored("table"), stored("other")) == false);
  CHECK(IsTransposeOf(stored("table"), stored("square")) == std::nullopt);
}

}  // namespace
}  // namespace vramplan
