#include "tests/support/onnx_text.h"

#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "graph/onnx/load.h"

namespace vramplan {
namespace {

[[noreturn]] void Stop(const std::string& why, std::string_view text) {
  std::fprintf(stderr, "onnx_text: %s\nin:\n%.*s\n", why.c_str(), static_cast<int>(text.size()), text.data());
  std::abort();
}

std::string Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

bool IsIdentifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

struct Annotation {
  std::string output;  // the first output of the node; empty for the graph
  std::string key, text;
};

// The text with plain identifiers instead of backticks, and what the comments said.
struct Prepared {
  std::string text;
  std::map<std::string, std::string> names;  // by identifier
  std::vector<Annotation> annotations;
};

Prepared Prepare(std::string_view text) {
  Prepared prepared;
  std::map<std::string, std::string> identifiers;  // by name
  std::string output;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string trimmed = Trimmed(line);
    if (trimmed.starts_with('#')) {
      const size_t colon = trimmed.find(": ");
      if (colon != trimmed.npos)
        prepared.annotations.push_back(
            {output, Trimmed(trimmed.substr(1, colon - 1)), Trimmed(trimmed.substr(colon + 2))});
      continue;
    }
    std::string written;
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] != '`') {
        written.push_back(line[i]);
        continue;
      }
      const size_t close = line.find('`', i + 1);
      if (close == line.npos) Stop("a backtick without its partner", line);
      const std::string name(line.substr(i + 1, close - i - 1));
      const auto [entry, fresh] = identifiers.try_emplace(name, "quoted_" + std::to_string(identifiers.size()));
      if (fresh) prepared.names[entry->second] = name;
      written += entry->second;
      i = close;
    }
    // "a = Op", "a, b = Op": a node begins here. Not "float[2] w = {1, 2}", not "<alpha = 1>".
    const std::string code = Trimmed(written);
    size_t stop = 0;
    while (stop < code.size() && IsIdentifier(code[stop])) ++stop;
    const size_t next = code.find_first_not_of(" \t", stop);
    if (stop > 0 && next != code.npos && (code[next] == '=' || code[next] == ',')) output = code.substr(0, stop);
    prepared.text += written + "\n";
  }
  return prepared;
}

void AddMetadata(google::protobuf::UnknownFieldSet* fields, int number, const std::string& key,
                 const std::string& value) {
  onnx::StringStringEntryProto entry;
  entry.set_key(key);
  entry.set_value(value);
  fields->AddLengthDelimited(number, entry.SerializeAsString());
}

void ForEachGraph(onnx::GraphProto* graph, const std::function<void(onnx::GraphProto*)>& visit) {
  visit(graph);
  for (auto& node : *graph->mutable_node()) {
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) ForEachGraph(attribute.mutable_g(), visit);
    }
  }
}

void Annotate(onnx::GraphProto* graph, const Annotation& annotation) {
  static const std::map<std::string, std::string> kKeys = {{"fx_node", "pkg.torch.onnx.fx_node"},
                                                           {"name_scopes", "pkg.torch.onnx.name_scopes"},
                                                           {"class_hierarchy", "pkg.torch.onnx.class_hierarchy"},
                                                           {"rule_name", "pkg.onnxscript.rewriter.rule_name"}};
  bool found = false;
  ForEachGraph(graph, [&](onnx::GraphProto* one) {
    for (auto& node : *one->mutable_node()) {
      if (node.output_size() == 0 || node.output(0) != annotation.output) continue;
      found = true;
      const auto key = kKeys.find(annotation.key);
      if (annotation.key == "name") {
        node.set_name(annotation.text);
      } else if (key != kKeys.end() || annotation.key.find('.') != annotation.key.npos) {
        AddMetadata(node.mutable_unknown_fields(), 9, key != kKeys.end() ? key->second : annotation.key,
                    annotation.text);
      }
    }
  });
  if (!found) Stop("no node makes " + annotation.output, annotation.key + ": " + annotation.text);
}

// Declared values that nothing makes become initializers without bytes.
void MakeWeights(onnx::GraphProto* graph) {
  std::set<std::string> made;
  for (const auto& input : graph->input()) made.insert(input.name());
  for (const auto& tensor : graph->initializer()) made.insert(tensor.name());
  for (const auto& node : graph->node()) made.insert(node.output().begin(), node.output().end());
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto> left;
  for (const auto& value : graph->value_info()) {
    if (made.count(value.name()) != 0 || !value.unknown_fields().empty()) *left.Add() = value;
    if (made.count(value.name()) != 0) continue;
    auto* tensor = graph->add_initializer();
    tensor->set_name(value.name());
    tensor->set_data_type(value.type().tensor_type().elem_type());
    tensor->set_data_location(onnx::TensorProto::EXTERNAL);
    for (const auto& dim : value.type().tensor_type().shape().dim()) tensor->add_dims(dim.dim_value());
  }
  *graph->mutable_value_info() = left;
}

void Rename(onnx::GraphProto* graph, const std::map<std::string, std::string>& names) {
  const auto rename = [&](std::string* name) {
    if (const auto found = names.find(*name); found != names.end()) *name = found->second;
  };
  for (auto* values : {graph->mutable_input(), graph->mutable_output(), graph->mutable_value_info()}) {
    for (auto& value : *values) rename(value.mutable_name());
  }
  for (auto& tensor : *graph->mutable_initializer()) rename(tensor.mutable_name());
  for (auto& node : *graph->mutable_node()) {
    for (auto& input : *node.mutable_input()) rename(&input);
    for (auto& output : *node.mutable_output()) rename(&output);
  }
}

}  // namespace

std::string OnnxBytes(std::string_view text) {
  const Prepared prepared = Prepare(text);
  const size_t first = prepared.text.find_first_not_of(" \t\n");
  const bool whole = first != std::string::npos && prepared.text[first] == '<';
  const std::string written = whole ? prepared.text : "<ir_version: 8, opset_import: [\"\" : 17]>\n" + prepared.text;
  onnx::ModelProto model;
  onnx::OnnxParser parser(written.c_str());
  const auto status = parser.Parse(model);
  if (!status.IsOK()) Stop(status.ErrorMessage(), text);
  if (!parser.EndOfInput()) Stop("text behind the end of the model " + parser.GetCurrentPos(), text);
  std::string signature;
  for (const Annotation& annotation : prepared.annotations) {
    if (annotation.key == "signature") {
      signature += annotation.text + "\n";
    } else if (!annotation.output.empty()) {
      Annotate(model.mutable_graph(), annotation);
    }
  }
  if (!signature.empty()) {
    AddMetadata(model.mutable_graph()->mutable_unknown_fields(), 16, "pkg.torch.export.ExportedProgram.graph_signature",
                "# inputs\n" + signature);
  }
  ForEachGraph(model.mutable_graph(), [&](onnx::GraphProto* graph) {
    MakeWeights(graph);
    Rename(graph, prepared.names);
  });
  return model.SerializeAsString();
}

Graph GraphFromText(std::string_view text) {
  const std::string bytes = OnnxBytes(text);
  Notes notes;
  Result<Graph> graph = LoadFromBytes("test.onnx", bytes.data(), bytes.size(), &notes);
  if (!graph) Stop(ToString(graph.error()), text);
  for (const Note& note : notes.all()) Stop(ToString(note), text);
  return *std::move(graph);
}

TensorId TensorNamed(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].name == name) return TensorId{static_cast<int32_t>(i)};
  }
  Stop("no tensor is called " + std::string(name), graph.name);
}

NodeId NodeNamed(const Graph& graph, std::string_view name) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].name == name) return NodeId{static_cast<int32_t>(i)};
  }
  Stop("no node is called " + std::string(name), graph.name);
}

}  // namespace vramplan
