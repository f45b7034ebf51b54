// Long and deep files: work grows with the file. (Wide ones, whose gigabytes are weights: load_test.cc.)
#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <chrono>

#include "graph/onnx/load.h"
#include "graph/shapes/infer.h"
#include "tests/support/heap.h"

namespace vramplan {
namespace {

using Clock = std::chrono::steady_clock;

void Declare(onnx::ValueInfoProto* value, const std::string& name, const char* batch, int64_t length) {
  value->set_name(name);
  auto* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  if (batch == nullptr) return;
  type->mutable_shape()->add_dim()->set_dim_param(batch);
  type->mutable_shape()->add_dim()->set_dim_value(length);
}

onnx::NodeProto Unary(const char* op, const std::string& from, const std::string& to) {
  onnx::NodeProto node;
  node.set_op_type(op);
  node.add_input(from);
  node.add_output(to);
  return node;
}

onnx::ModelProto ModelOf(onnx::GraphProto graph) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  Declare(graph.add_input(), "x", "batch", 64);
  model.mutable_graph()->Swap(&graph);
  return model;
}

// The shape of the only output, or what went wrong.
std::string Shown(const std::string& bytes) {
  Notes notes;
  const auto graph = LoadFromBytes("f.onnx", bytes.data(), bytes.size(), &notes);
  if (!graph.ok()) return graph.error().text;
  const auto binding = Bind(*graph, {}, &notes);
  if (!binding.ok()) return binding.error().text;
  const auto shapes = Infer(*graph, *binding, &notes);
  if (!shapes.ok()) return shapes.error().text;
  const auto& shape = (*shapes)[graph->outputs.front()].shape;
  return shape ? ToString(*shape) : "?";
}

// if c: (if c: ... x) else: sigmoid(x)
onnx::GraphProto Branches(int depth) {
  onnx::GraphProto inner;
  *inner.add_node() = Unary("Relu", "x", "y0");
  Declare(inner.add_output(), "y0", nullptr, 0);
  for (int i = 1; i <= depth; ++i) {
    onnx::GraphProto other, outer;
    *other.add_node() = Unary("Sigmoid", "x", "e" + std::to_string(i));
    Declare(other.add_output(), "e" + std::to_string(i), nullptr, 0);
    auto* node = outer.add_node();
    node->set_op_type("If");
    node->add_input("c");
    node->add_output("y" + std::to_string(i));
    auto* then_branch = node->add_attribute();
    then_branch->set_name("then_branch");
    then_branch->mutable_g()->Swap(&inner);
    auto* else_branch = node->add_attribute();
    else_branch->set_name("else_branch");
    else_branch->mutable_g()->Swap(&other);
    Declare(outer.add_output(), "y" + std::to_string(i), nullptr, 0);
    inner.Swap(&outer);
  }
  auto* condition = inner.add_input();
  condition->set_name("c");
  condition->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::BOOL);
  condition->mutable_type()->mutable_tensor_type()->mutable_shape();
  return inner;
}

TEST_CASE("200 subgraphs, each inside the other") {
  CHECK(Shown(ModelOf(Branches(200)).SerializeAsString()) == "[B, 64]");
  CHECK(Shown(ModelOf(Branches(256)).SerializeAsString()) == "[B, 64]");
  CHECK(Shown(ModelOf(Branches(257)).SerializeAsString()) == "its subgraphs are nested more than 256 deep");
}

// A loop in a loop in a loop ..., each of which makes its state longer.
onnx::GraphProto Loops(int depth) {
  onnx::GraphProto inner;
  onnx::NodeProto* longer = inner.add_node();
  *longer = Unary("Concat", "s0", "o0");
  longer->add_input("s0");
  auto* axis = longer->add_attribute();
  axis->set_name("axis");
  axis->set_type(onnx::AttributeProto::INT);
  axis->set_i(1);
  for (int i = 0;; ++i) {
    const std::string number = std::to_string(i);
    *inner.add_node() = Unary("Identity", "k" + number, "kk" + number);
    for (const char* name : {"i", "k", "s"}) inner.add_input()->set_name(name + number);
    for (const char* name : {"kk", "o"}) inner.add_output()->set_name(name + number);
    onnx::GraphProto outer;
    onnx::NodeProto* loop = outer.add_node();
    loop->set_op_type("Loop");
    const std::string next = std::to_string(i + 1);
    for (const std::string& input : {std::string("trips"), std::string(), i + 1 == depth ? "x" : "s" + next})
      loop->add_input(input);
    loop->add_output("o" + next);
    auto* body = loop->add_attribute();
    body->set_name("body");
    body->mutable_g()->Swap(&inner);
    inner.Swap(&outer);
    if (i + 1 == depth) break;
  }
  auto* trips = inner.add_initializer();
  trips->set_name("trips");
  trips->set_data_type(onnx::TensorProto::INT64);
  trips->add_int64_data(3);
  Declare(inner.add_output(), "o" + std::to_string(depth), nullptr, 0);
  return inner;
}

TEST_CASE("200 loops, each inside the other, whose states grow: the work does not double with every level") {
  const auto start = Clock::now();
  CHECK(Shown(ModelOf(Loops(3)).SerializeAsString()) == "[B, ?]");
  CHECK(Shown(ModelOf(Loops(200)).SerializeAsString()).front() != 'i');
  CHECK(Clock::now() - start < std::chrono::seconds(20));  // milliseconds; 2^200 rounds would not end
}

// Nodes in a row, each of whose outputs has a declared type too.
std::string Row(int nodes, bool declared) {
  onnx::GraphProto graph;
  std::string last = "x";
  for (int i = 0; i < nodes; ++i) {
    const std::string next = "/layers/" + std::to_string(i) + "/out";
    *graph.add_node() = Unary("Relu", last, next);
    if (declared) Declare(graph.add_value_info(), next, "batch", 64);
    last = next;
  }
  Declare(graph.add_output(), last, nullptr, 0);
  return ModelOf(std::move(graph)).SerializeAsString();
}

// 64 MiB for 100,000 nodes are 671 B for one. Measured with 100,000: 22 MB beside a graph of 63 MB, where messages that
// lie on the heap all at once take 68 MB (x86_64, glibc 2.36); the shapes take 35 MB.
TEST_CASE("what is on the heap beside the graph while it is read, and beside the shapes while they are found") {
  if (!HeapCount::works()) return;
  constexpr int kNodes = 5'000;
  for (const bool declared : {false, true}) {
    CAPTURE(declared);
    const std::string bytes = Row(kNodes, declared);
    Notes notes;
    const HeapCount heap;
    const auto graph = LoadFromBytes("f.onnx", bytes.data(), bytes.size(), &notes);
    REQUIRE(graph.ok());
    const int64_t loaded = heap.held();
    CHECK(loaded > kNodes * 400);
    CHECK(heap.peak() - loaded < kNodes * (declared ? 400 : 300));
    const auto binding = Bind(*graph, {}, &notes);
    REQUIRE(binding.ok());
    const auto shapes = Infer(*graph, *binding, &notes);
    REQUIRE(shapes.ok());
    CHECK(heap.held() - loaded > kNodes * 100);
    CHECK(heap.held() - loaded < kNodes * 400);
    CHECK(heap.peak() < loaded + kNodes * 400);
  }
}

TEST_CASE("a hundred thousand nodes take ten times as long as ten thousand") {
  const auto seconds = [](int nodes) {
    const std::string bytes = Row(nodes, false);
    const auto start = Clock::now();
    CHECK(Shown(bytes) == "[B, 64]");
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  const double small = seconds(10'000), large = seconds(100'000);
  MESSAGE("10'000 nodes: " << small << " s, 100'000: " << large << " s");
  CHECK(large < 60 * small + 1);  // ten times, on a machine that does other things too; a square would be a hundred
}

}  // namespace
}  // namespace vramplan
