#include "models/generate/module_writer.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "graph/base/check.h"

namespace vramplan::models {
namespace {

constexpr int kOpset = 17;     // what the TorchScript exporter of PyTorch 2.10 writes at most
constexpr int kIrVersion = 8;  // the one that goes with it

void Fill(onnx::ValueInfoProto* value, const std::string& name, onnx::TensorProto_DataType type,
          const std::vector<Axis>& axes) {
  value->set_name(name);
  auto* tensor = value->mutable_type()->mutable_tensor_type();
  tensor->set_elem_type(type);
  for (const Axis& axis : axes) {
    auto* dim = tensor->mutable_shape()->add_dim();
    if (axis.symbol.empty()) {
      dim->set_dim_value(axis.length);
    } else {
      dim->set_dim_param(axis.symbol);
    }
  }
}

// Values as raw little-endian bytes, the way exporters write them.
void Fill(onnx::TensorProto* tensor, const Constant& constant) {
  tensor->set_data_type(constant.type);
  for (const int64_t dim : constant.dims) tensor->add_dims(dim);
  std::string raw;
  const auto append = [&raw](const auto& value) { raw.append(reinterpret_cast<const char*>(&value), sizeof(value)); };
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&constant.values)) {
    for (const int64_t value : *integers) {
      if (constant.type == onnx::TensorProto::BOOL) {
        append(static_cast<uint8_t>(value));
      } else {
        append(value);
      }
    }
  } else if (const auto* reals = std::get_if<std::vector<float>>(&constant.values)) {
    for (const float value : *reals) append(value);
  } else {
    for (const double value : std::get<std::vector<double>>(constant.values)) append(value);
  }
  tensor->set_raw_data(raw);
}

void Fill(onnx::AttributeProto* proto, const Attribute& attribute) {
  proto->set_name(attribute.name);
  if (const auto* integer = std::get_if<int64_t>(&attribute.value)) {
    proto->set_type(onnx::AttributeProto::INT);
    proto->set_i(*integer);
  } else if (const auto* real = std::get_if<float>(&attribute.value)) {
    proto->set_type(onnx::AttributeProto::FLOAT);
    proto->set_f(*real);
  } else if (const auto* integers = std::get_if<Dims>(&attribute.value)) {
    proto->set_type(onnx::AttributeProto::INTS);
    for (const int64_t value : *integers) proto->add_ints(value);
  } else {
    proto->set_type(onnx::AttributeProto::TENSOR);
    Fill(proto->mutable_t(), std::get<Constant>(attribute.value));
  }
}

}  // namespace

Constant Int(int64_t value) { return {.values = std::vector<int64_t>{value}}; }
Constant Ints(std::vector<int64_t> values) {
  const auto count = static_cast<int64_t>(values.size());
  return {.dims = {count}, .values = std::move(values)};
}
Constant Real(float value) { return {.type = onnx::TensorProto::FLOAT, .values = std::vector<float>{value}}; }
Constant Double(double value) { return {.type = onnx::TensorProto::DOUBLE, .values = std::vector<double>{value}}; }
Constant Reals(std::vector<float> values) {
  const auto count = static_cast<int64_t>(values.size());
  return {.type = onnx::TensorProto::FLOAT, .dims = {count}, .values = std::move(values)};
}
Constant Truth(bool value, Dims dims) {
  return {.type = onnx::TensorProto::BOOL, .dims = std::move(dims), .values = std::vector<int64_t>{value ? 1 : 0}};
}

Module Module::Child(const std::string& name) const {
  const bool element = std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
  const std::string label = element && !label_.empty() ? label_ + "." + name : name;
  return Module(graph_, path_ + "/" + label, label, prefix_ + name + ".");
}

Module Module::Again(int call) const {
  if (call == 0) return *this;
  const std::string suffix = "_" + std::to_string(call);
  return Module(graph_, path_ + suffix, label_ + suffix, prefix_);
}

Value Module::Parameter(const std::string& name, const Dims& dims) const {
  const std::string full = prefix_ + name;
  const auto [found, added] = graph_->parameters_.emplace(full, dims);
  CHECK(added || found->second == dims);
  if (!added) return full;
  int64_t bytes = sizeof(float);
  onnx::TensorProto* tensor = graph_->model_.mutable_graph()->add_initializer();
  for (const int64_t dim : dims) {
    tensor->add_dims(dim);
    bytes *= dim;
  }
  tensor->set_data_type(onnx::TensorProto::FLOAT);
  tensor->set_name(full);
  tensor->set_data_location(onnx::TensorProto::EXTERNAL);
  const std::pair<const char*, std::string> entries[] = {{"location", "weights.bin"},
                                                         {"offset", std::to_string(graph_->weight_bytes_)},
                                                         {"length", std::to_string(bytes)}};
  for (const auto& [key, value] : entries) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  graph_->weight_bytes_ += bytes;
  return full;
}

std::vector<Value> Module::OpWithOutputs(int count, const std::string& op, std::vector<Value> inputs,
                                         std::vector<Attribute> attributes) const {
  const std::string name = graph_->Numbered(path_ + "/", op);
  onnx::NodeProto* node = graph_->AddNode(name, op);
  for (Value& input : inputs) node->add_input(std::move(input));
  for (const Attribute& attribute : attributes) Fill(node->add_attribute(), attribute);
  std::vector<Value> outputs;
  for (int i = 0; i < count; ++i) {
    outputs.push_back(name + "_output_" + std::to_string(i));
    node->add_output(outputs.back());
  }
  return outputs;
}

Value Module::Op(const std::string& op, std::vector<Value> inputs, std::vector<Attribute> attributes) const {
  return OpWithOutputs(1, op, std::move(inputs), std::move(attributes)).front();
}

Value Module::Make(Constant constant) const { return Op("Constant", {}, {{"value", std::move(constant)}}); }

Value Module::MakeUnscoped(Constant constant) const {
  const std::string name = graph_->Numbered("", "Constant");
  onnx::NodeProto* node = graph_->AddNode(name, "Constant");
  Fill(node->add_attribute(), {"value", std::move(constant)});
  node->add_output("onnx::" + name);
  return node->output(0);
}

GraphWriter::GraphWriter(const std::string& name) {
  model_.set_ir_version(kIrVersion);
  model_.set_producer_name("vramplan generate_models");
  auto* opset = model_.add_opset_import();
  opset->set_domain("");
  opset->set_version(kOpset);
  model_.mutable_graph()->set_name(name);
}

Value GraphWriter::Input(const std::string& name, onnx::TensorProto_DataType type, const std::vector<Axis>& axes) {
  Fill(model_.mutable_graph()->add_input(), name, type, axes);
  return name;
}

void GraphWriter::Output(const Value& value, const std::string& name, const std::vector<Axis>& axes) {
  bool renamed = false;
  for (onnx::NodeProto& node : *model_.mutable_graph()->mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output != value) continue;
      output = name;
      renamed = true;
    }
    for (const std::string& input : node.input()) CHECK(input != value);
  }
  CHECK(renamed);
  Fill(model_.mutable_graph()->add_output(), name, onnx::TensorProto::FLOAT, axes);
}

std::string GraphWriter::Bytes() const { return model_.SerializeAsString(); }

onnx::NodeProto* GraphWriter::AddNode(const std::string& name, const std::string& op) {
  onnx::NodeProto* node = model_.mutable_graph()->add_node();
  node->set_name(name);
  node->set_op_type(op);
  return node;
}

std::string GraphWriter::Numbered(const std::string& scope, const std::string& op) {
  const int before = used_[scope + op]++;
  return scope + op + (before == 0 ? "" : "_" + std::to_string(before));
}

}  // namespace vramplan::models
