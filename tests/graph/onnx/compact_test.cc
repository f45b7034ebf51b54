#include "graph/onnx/compact.h"

#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include "graph/ir/graph.h"

namespace vramplan {
namespace {

onnx::ModelProto Compacted(const onnx::ModelProto& model) {
  const std::string bytes = model.SerializeAsString();
  const Result<std::string> compact = Compact("m.onnx", bytes);
  REQUIRE(compact);
  onnx::ModelProto parsed;
  REQUIRE(parsed.ParseFromString(*compact));
  return parsed;
}

onnx::TensorProto TensorOf(int64_t elements) {
  onnx::TensorProto tensor;
  tensor.set_name("w");
  tensor.add_dims(elements);
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  return tensor;
}

void AddMetadata(google::protobuf::UnknownFieldSet* fields, int number, std::string_view key,
                 const std::string& value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(std::string(key));
  entry.set_value(value);
  fields->AddLengthDelimited(number, entry.SerializeAsString());
}

TEST_CASE("weights stay behind, wherever they are") {
  const int64_t small = ConstantValues::kMaxElements, large = small + 1;
  for (const int64_t elements : {small, large}) {
    const bool kept = elements == small;
    onnx::TensorProto raw = TensorOf(elements), typed = TensorOf(elements);
    raw.set_raw_data(std::string(static_cast<size_t>(elements) * 4, 'x'));
    for (int64_t i = 0; i < elements; ++i) typed.add_float_data(1);
    onnx::ModelProto model;
    *model.mutable_graph()->add_initializer() = raw;
    *model.mutable_graph()->add_sparse_initializer()->mutable_values() = raw;
    auto* attribute = model.mutable_graph()->add_node()->add_attribute();
    *attribute->mutable_t() = typed;
    *attribute->mutable_g()->add_initializer() = typed;
    *model.add_functions()->add_node()->add_attribute()->mutable_t() = raw;
    onnx::ModelProto expected = model;
    if (!kept) {
      expected.mutable_graph()->mutable_initializer(0)->clear_raw_data();
      expected.mutable_graph()->mutable_sparse_initializer(0)->mutable_values()->clear_raw_data();
      expected.mutable_functions(0)->mutable_node(0)->mutable_attribute(0)->mutable_t()->clear_raw_data();
      auto* one = expected.mutable_graph()->mutable_node(0)->mutable_attribute(0);
      one->mutable_t()->clear_float_data();
      one->mutable_g()->mutable_initializer(0)->clear_float_data();
    }
    CHECK(Compacted(model).SerializeAsString() == expected.SerializeAsString());
  }
}

TEST_CASE("a tensor that says it is small but is not") {
  onnx::ModelProto model;
  onnx::TensorProto tensor = TensorOf(1);
  tensor.set_raw_data(std::string(100'000, 'x'));
  *model.mutable_graph()->add_initializer() = tensor;
  CHECK(!Compacted(model).graph().initializer(0).has_raw_data());
}

TEST_CASE("of the metadata only what is ours, of the texts only what is read") {
  onnx::ModelProto model;
  model.set_doc_string("doc");
  model.add_metadata_props()->set_key("k");
  model.mutable_training_info()->Add()->mutable_algorithm()->add_node()->set_op_type("Adam");
  auto* graph = model.mutable_graph();
  graph->set_doc_string("doc");
  graph->add_quantization_annotation()->set_tensor_name("x");
  AddMetadata(graph->mutable_unknown_fields(), 16, kGraphSignatureKey, "x: USER_INPUT");
  AddMetadata(graph->mutable_unknown_fields(), 16, "pkg.torch.export.ExportedProgram.range_constraints", "{}");
  auto* node = graph->add_node();
  node->set_op_type("Relu");
  node->set_doc_string("doc");
  AddMetadata(node->mutable_unknown_fields(), 9, "namespace", std::string(10'000, 's'));
  AddMetadata(node->mutable_unknown_fields(), 9, kFxNodeKey, "%relu");
  auto* external = graph->add_initializer();
  *external = TensorOf(5000);
  external->set_data_location(onnx::TensorProto::EXTERNAL);
  external->add_external_data()->set_key("location");
  graph->add_input()->set_doc_string("doc");
  AddMetadata(graph->add_value_info()->mutable_unknown_fields(), 4, "pkg.torch.onnx.original_node_name", "add");
  auto* blob = graph->add_node()->add_attribute();
  blob->set_name("ep_cache_context");
  blob->set_s(std::string(2 << 20, 'b'));

  onnx::ModelProto expected;
  auto* kept = expected.mutable_graph();
  AddMetadata(kept->mutable_unknown_fields(), 16, kGraphSignatureKey, "x: USER_INPUT");
  kept->add_node()->set_op_type("Relu");
  AddMetadata(kept->mutable_node(0)->mutable_unknown_fields(), 9, kFxNodeKey, "%relu");
  kept->add_node()->add_attribute()->set_name("ep_cache_context");
  *kept->add_initializer() = TensorOf(5000);
  kept->mutable_initializer(0)->set_data_location(onnx::TensorProto::EXTERNAL);
  kept->add_input();
  kept->add_value_info();
  CHECK(Compacted(model).SerializeAsString() == expected.SerializeAsString());
}

TEST_CASE("stack traces as long as they are small together") {
  onnx::ModelProto model;
  for (int i = 0; i < 3; ++i) {
    AddMetadata(model.mutable_graph()->add_node()->mutable_unknown_fields(), 9, kStackTraceKey, std::string(100, 's'));
  }
  const std::string bytes = model.SerializeAsString();
  const auto kept = [&](size_t limit) {
    const std::string compact = *Compact("m.onnx", bytes, {.traces = limit});
    return std::count(compact.begin(), compact.end(), 's');
  };
  const auto key = std::count(kStackTraceKey.begin(), kStackTraceKey.end(), 's');
  CHECK(kept(1000) == 3 * (100 + key));
  CHECK(kept(300) == 2 * (100 + key));
  CHECK(kept(0) == 0);
}

TEST_CASE("more structure than the limits") {
  onnx::ModelProto model;
  for (int i = 0; i < 100; ++i) model.mutable_graph()->add_node()->set_op_type("Relu");
  const std::string bytes = model.SerializeAsString();
  CHECK(Compact("m.onnx", bytes, {.bytes = 1000, .messages = 1000}).error().text ==
        "its structure takes more than 1000 B without the weights");
  CHECK(Compact("m.onnx", bytes, {.bytes = 10'000, .messages = 50}).error().text ==
        "it has more than 50 nodes, attributes and tensors");
  CHECK(Compact("m.onnx", bytes, {.bytes = 10'000, .messages = 1000}));
}

TEST_CASE("subgraphs nested without end") {
  onnx::GraphProto graph;
  for (int depth = 0; depth < 256; ++depth) {
    onnx::GraphProto outer;
    outer.add_node()->add_attribute()->mutable_g()->Swap(&graph);
    graph.Swap(&outer);
  }
  onnx::ModelProto model;
  *model.mutable_graph() = graph;
  CHECK(Compact("m.onnx", model.SerializeAsString()));
  for (int depth = 0; depth < 1000; ++depth) {
    onnx::GraphProto outer;
    outer.add_node()->add_attribute()->mutable_g()->Swap(&graph);
    graph.Swap(&outer);
  }
  model.mutable_graph()->Swap(&graph);
  CHECK(Compact("m.onnx", model.SerializeAsString()).error().text == "its subgraphs are nested more than 256 deep");
}

}  // namespace
}  // namespace vramplan
