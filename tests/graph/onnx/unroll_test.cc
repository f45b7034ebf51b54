#include "graph/onnx/unroll.h"

#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <string>

namespace vramplan {
namespace {

onnx::NodeProto* AddNode(onnx::GraphProto* graph, const char* op, std::initializer_list<const char*> inputs,
                         const char* output) {
  onnx::NodeProto* node = graph->add_node();
  node->set_op_type(op);
  for (const char* input : inputs) node->add_input(input);
  node->add_output(output);
  return node;
}

onnx::NodeProto* AddConstant(onnx::GraphProto* graph, const char* name, std::initializer_list<int64_t> values,
                             bool scalar = true) {
  onnx::NodeProto* node = AddNode(graph, "Constant", {}, name);
  onnx::AttributeProto* value = node->add_attribute();
  value->set_name("value");
  value->mutable_t()->set_data_type(onnx::TensorProto::INT64);
  for (const int64_t one : values) value->mutable_t()->add_int64_data(one);
  if (!scalar) value->mutable_t()->add_dims(static_cast<int64_t>(values.size()));
  return node;
}

// torch.tensor_split(x, (1, 3), dim=1) as torch.onnx writes it; `rounds` names the number of rounds.
onnx::GraphProto TensorSplit(const char* rounds) {
  onnx::GraphProto graph;
  AddConstant(&graph, "indices", {1, 3}, false);
  AddConstant(&graph, "zero", {0});
  AddConstant(&graph, "one", {1});
  AddNode(&graph, "Shape", {"indices"}, "sizes");
  AddNode(&graph, "Gather", {"sizes", "zero"}, "rounds");
  AddNode(&graph, "SequenceEmpty", {}, "empty");
  onnx::NodeProto* loop = AddNode(&graph, "Loop", {rounds, "", "empty"}, "parts");
  onnx::AttributeProto* attribute = loop->add_attribute();
  attribute->set_name("body");
  onnx::GraphProto* body = attribute->mutable_g();
  for (const char* name : {"i", "go", "so_far"}) body->add_input()->set_name(name);
  AddNode(body, "Gather", {"bounds", "i"}, "start");
  AddNode(body, "Slice", {"x", "start"}, "part");
  AddNode(body, "SequenceInsert", {"so_far", "part"}, "more");
  for (const char* name : {"go", "more"}) body->add_output()->set_name(name);
  AddNode(&graph, "SequenceInsert", {"parts", "rest"}, "all");
  AddNode(&graph, "SequenceAt", {"all", "one"}, "second");
  AddConstant(&graph, "last", {-1});
  AddNode(&graph, "SequenceAt", {"all", "last"}, "third");
  return graph;
}

std::string Listing(const onnx::GraphProto& graph) {
  std::string text;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "Constant") continue;
    text += node.op_type() + "(";
    for (int i = 0; i < node.input_size(); ++i) text += (i > 0 ? ", " : "") + node.input(i);
    text += ") " + node.output(0) + "\n";
  }
  return text;
}

TEST_CASE("a loop that collects slices becomes its rounds") {
  onnx::GraphProto graph = TensorSplit("rounds");
  UnrollSequences(&graph);
  CHECK(Listing(graph) ==
        "Shape(indices) sizes\n"
        "Gather(sizes, zero) rounds\n"
        "SequenceEmpty() empty\n"
        "Gather(bounds, parts.0.round) start.0\n"
        "Slice(x, start.0) part.0\n"
        "Gather(bounds, parts.1.round) start.1\n"
        "Slice(x, start.1) part.1\n"
        "Identity(part.1) second\n"
        "Identity(rest) third\n");
}

TEST_CASE("the bytes of a graph: empty when there is nothing to unroll") {
  onnx::GraphProto unrolled;
  const Result<std::string> bytes = UnrollSequences(TensorSplit("rounds").SerializeAsString());
  REQUIRE(bytes.ok());
  REQUIRE(unrolled.ParseFromString(*bytes));
  CHECK(Listing(unrolled).find("Identity(part.1) second\n") != std::string::npos);
  CHECK(UnrollSequences(TensorSplit("somewhere").SerializeAsString())->empty());
  CHECK(UnrollSequences(onnx::GraphProto().SerializeAsString())->empty());
}

TEST_CASE("a loop of unknown rounds stays, and so does one whose sequence goes elsewhere") {
  onnx::GraphProto unknown = TensorSplit("somewhere");
  const std::string before = Listing(unknown);
  UnrollSequences(&unknown);
  CHECK(Listing(unknown) == before);
  onnx::GraphProto elsewhere = TensorSplit("rounds");
  AddNode(&elsewhere, "SequenceLength", {"all"}, "length");
  const std::string whole = Listing(elsewhere);
  UnrollSequences(&elsewhere);
  CHECK(Listing(elsewhere) == whole);
}

}  // namespace
}  // namespace vramplan
