// The example graphs: what lies in models/ is what the generator writes, byte by byte, and what the generator writes is
// what PyTorch's TorchScript exporter writes for the same module in training mode, operator by operator.
#include <doctest/doctest.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "models/generate/models.h"

namespace vramplan::models {
namespace {

std::string ReadBytes(const std::string& path) {
  std::ifstream file(std::string(VRAMPLAN_SOURCE_DIR) + "/" + path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return std::move(bytes).str();
}

onnx::ModelProto Parse(const std::string& bytes) {
  onnx::ModelProto model;
  const bool parsed = model.ParseFromString(bytes);
  REQUIRE(parsed);
  return model;
}

// The zoo's models with several inputs were exported inside a wrapper module that calls the model its `m`.
std::string WithoutWrapper(std::string name) {
  if (name.rfind("/m/", 0) == 0) return name.substr(2);
  if (name.rfind("m.", 0) == 0) return name.substr(2);
  return name;
}

std::string Describe(const onnx::TensorProto& tensor) {
  std::ostringstream text;
  text << tensor.data_type() << "[";
  for (const int64_t dim : tensor.dims()) text << dim << " ";
  text << "]";
  for (const char byte : tensor.raw_data()) text << " " << static_cast<int>(byte);
  return text.str();
}

std::string Describe(const onnx::AttributeProto& attribute) {
  std::ostringstream text;
  text << " " << attribute.name() << "=" << attribute.i() << "," << attribute.f() << "," << attribute.s() << ",";
  for (const int64_t value : attribute.ints()) text << value << " ";
  if (attribute.has_t()) text << Describe(attribute.t());
  return text.str();
}

// One line for each initializer and node. Values that nodes make are called by the node's position, so that only
// structure, scopes, attributes and constants count; nodes that the exporter's rewrites leave without scope have
// numbers that mean nothing.
std::vector<std::string> Describe(const onnx::ModelProto& model) {
  std::vector<std::string> lines;
  std::map<std::string, std::string> called;
  const onnx::GraphProto& graph = model.graph();
  for (const auto& input : graph.input()) {
    std::string line = "input " + input.name();
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      line += " " + (dim.has_dim_param() ? dim.dim_param() : std::to_string(dim.dim_value()));
    }
    lines.push_back(line);
    called[input.name()] = input.name();
  }
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    called[tensor.name()] = WithoutWrapper(tensor.name());
    std::string line = "parameter " + called[tensor.name()];
    for (const int64_t dim : tensor.dims()) line += " " + std::to_string(dim);
    lines.push_back(line + " of type " + std::to_string(tensor.data_type()));
  }
  int position = 0;
  for (const onnx::NodeProto& node : graph.node()) {
    std::string line =
        node.op_type() + " " + (node.name().rfind('/', 0) == 0 ? WithoutWrapper(node.name()) : "unscoped");
    for (const std::string& input : node.input()) line += " " + called[input];
    for (const onnx::AttributeProto& attribute : node.attribute()) line += Describe(attribute);
    for (int i = 0; i < node.output_size(); ++i) {
      called[node.output(i)] = "%" + std::to_string(position) + "." + std::to_string(i);
    }
    lines.push_back(line + " makes " + std::to_string(node.output_size()));
    ++position;
  }
  for (const auto& output : graph.output()) lines.push_back("output " + output.name() + " " + called[output.name()]);
  return lines;
}

struct Row {
  const char* name;
  std::string (*make)();
  int nodes;
  int64_t parameters;  // what PyTorch counts; tied weights once
};

const Row kRows[] = {
    {"mlp", Mlp, 5, 4013010},
    {"unet", UNet, 67, 31037633},
    {"resnet50", ResNet50, 175, 25557032},
    {"bert_base", BertBase, 1595, 109483778},
    {"gpt_small", GptSmall, 977, 51475968},
};

TEST_CASE("models/*.onnx are what the generator writes") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const bool same = ReadBytes(std::string("models/") + row.name + ".onnx") == row.make();
    CHECK_MESSAGE(same, "run: cmake --build build/release --target generate_models && build/release/generate_models");
  }
}

TEST_CASE("the generator writes what the exporter writes") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const std::vector<std::string> ours = Describe(Parse(row.make()));
    const std::vector<std::string> theirs =
        Describe(Parse(ReadBytes(std::string("tests/data/zoo/") + row.name + ".ts-train.onnx")));
    CHECK(ours.size() == theirs.size());
    const auto [our, their] = std::mismatch(ours.begin(), ours.end(), theirs.begin(), theirs.end());
    CHECK((our == ours.end() ? "" : *our) == (their == theirs.end() ? "" : *their));
  }
}

TEST_CASE("nodes, parameters, and the weights that are not there") {
  for (const Row& row : kRows) {
    CAPTURE(row.name);
    const onnx::ModelProto model = Parse(row.make());
    CHECK(model.graph().node_size() == row.nodes);
    int64_t parameters = 0;
    int64_t end = 0;
    for (const onnx::TensorProto& tensor : model.graph().initializer()) {
      int64_t elements = 1;
      for (const int64_t dim : tensor.dims()) elements *= dim;
      if (tensor.name().find("running_") == std::string::npos) parameters += elements;
      std::map<std::string, std::string> place;
      for (const auto& entry : tensor.external_data()) place[entry.key()] = entry.value();
      const std::map<std::string, std::string> expected = {
          {"location", "weights.bin"}, {"offset", std::to_string(end)}, {"length", std::to_string(4 * elements)}};
      CHECK(place == expected);
      CHECK(tensor.raw_data().empty());
      end += 4 * elements;
    }
    CHECK(parameters == row.parameters);
  }
}

}  // namespace
}  // namespace vramplan::models
