#include "graph/onnx/unroll.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/onnx/messages.h"

namespace vramplan {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<onnx::NodeProto>;
using Integers = std::optional<std::vector<int64_t>>;

const onnx::AttributeProto* Find(const onnx::NodeProto& node, std::string_view name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

Integers Contents(const onnx::TensorProto& tensor) {
  if (tensor.data_type() != onnx::TensorProto::INT64 || tensor.dims_size() > 1) return {};
  std::vector<int64_t> all(tensor.int64_data().begin(), tensor.int64_data().end());
  if (all.empty() && tensor.has_raw_data() && tensor.raw_data().size() % sizeof(int64_t) == 0) {
    all.resize(tensor.raw_data().size() / sizeof(int64_t));
    std::memcpy(all.data(), tensor.raw_data().data(), tensor.raw_data().size());
  }
  return all;
}

class Unrolling {
 public:
  explicit Unrolling(onnx::GraphProto* graph) : graph_(graph) {
    for (const onnx::NodeProto& node : graph->node()) {
      for (const std::string& output : node.output()) makers_[output] = &node;
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
    }
    for (const onnx::TensorProto& tensor : graph->initializer()) stored_[tensor.name()] = &tensor;
  }

  bool Run() {
    for (const onnx::NodeProto& node : graph_->node()) FindSequence(node);
    if (sequences_.empty()) return false;
    Nodes nodes;
    for (const onnx::NodeProto& node : graph_->node()) {
      const auto rounds = rounds_.find(&node);
      if (rounds != rounds_.end()) {
        for (const onnx::NodeProto& one : rounds->second) *nodes.Add() = one;
        continue;
      }
      const bool makes = node.output_size() == 1 && sequences_.count(node.output(0)) != 0;
      if (makes) continue;
      *nodes.Add() = node;
      const auto read = node.input_size() > 0 ? sequences_.find(node.input(0)) : sequences_.end();
      if (node.op_type() == "SequenceAt" && read != sequences_.end()) {
        onnx::NodeProto* at = nodes.Mutable(nodes.size() - 1);
        const std::string element = *Element(node, read->second);
        at->set_op_type("Identity");
        at->clear_input();
        at->add_input(element);
      }
    }
    graph_->mutable_node()->Swap(&nodes);
    return true;
  }

 private:
  // What an int64 tensor holds, where that follows from constants and their shapes.
  Integers Known(const std::string& name, int depth = 0) const {
    if (const auto stored = stored_.find(name); stored != stored_.end()) return Contents(*stored->second);
    const auto found = makers_.find(name);
    if (found == makers_.end() || depth > 8) return {};
    const onnx::NodeProto& node = *found->second;
    const auto input = [&](int i) { return Known(node.input(i), depth + 1); };
    if (node.op_type() == "Constant") {
      const auto* value = Find(node, "value");
      return value != nullptr ? Contents(value->t()) : std::nullopt;
    }
    if (node.op_type() == "Shape" && node.input_size() == 1) {
      const auto of = makers_.find(node.input(0));
      if (of == makers_.end() || of->second->op_type() != "Constant") return {};
      const auto* value = Find(*of->second, "value");
      if (value == nullptr) return {};
      return std::vector<int64_t>(value->t().dims().begin(), value->t().dims().end());
    }
    if (node.op_type() == "Gather" && node.input_size() == 2) {
      const Integers data = input(0), index = input(1);
      if (!data || !index || index->size() != 1) return {};
      const int64_t at = index->front() < 0 ? index->front() + static_cast<int64_t>(data->size()) : index->front();
      if (at < 0 || at >= static_cast<int64_t>(data->size())) return {};
      return std::vector{(*data)[static_cast<size_t>(at)]};
    }
    const bool same = node.op_type() == "Unsqueeze" || node.op_type() == "Squeeze" || node.op_type() == "Identity" ||
                      node.op_type() == "Cast";
    return same && node.input_size() > 0 ? input(0) : std::nullopt;
  }

  std::optional<std::string> Element(const onnx::NodeProto& at, const std::vector<std::string>& elements) const {
    const Integers place = at.input_size() == 2 ? Known(at.input(1)) : std::nullopt;
    if (!place || place->size() != 1) return {};
    const int64_t size = static_cast<int64_t>(elements.size());
    const int64_t index = place->front() < 0 ? place->front() + size : place->front();
    if (index < 0 || index >= size) return {};
    return elements[static_cast<size_t>(index)];
  }

  // Whether all that is done to the sequence is understood: more is inserted at its end, places of it are read.
  bool Understood(const std::string& name, const std::vector<std::string>& elements,
                  std::unordered_map<std::string, std::vector<std::string>>* found) const {
    (*found)[name] = elements;
    const auto readers = readers_.find(name);
    if (readers == readers_.end()) return false;
    return std::all_of(readers->second.begin(), readers->second.end(), [&](const onnx::NodeProto* reader) {
      if (reader->op_type() == "SequenceAt") return Element(*reader, elements).has_value();
      if (reader->op_type() != "SequenceInsert" || reader->input_size() != 2 || reader->input(0) != name) return false;
      std::vector<std::string> longer = elements;
      longer.push_back(reader->input(1));
      return Understood(reader->output(0), longer, found);
    });
  }

  void FindSequence(const onnx::NodeProto& loop) {
    if (loop.op_type() != "Loop" || loop.input_size() != 3 || loop.output_size() != 1) return;
    const auto* attribute = Find(loop, "body");
    const Integers trips = Known(loop.input(0));
    const auto empty = makers_.find(loop.input(2));
    if (attribute == nullptr || !trips || trips->size() != 1 || empty == makers_.end() ||
        empty->second->op_type() != "SequenceEmpty") {
      return;
    }
    const onnx::GraphProto& body = attribute->g();
    if (trips->front() < 1 || trips->front() > kMaxRounds || body.input_size() != 3 || body.output_size() != 2) return;
    const onnx::NodeProto* insert = nullptr;
    for (const onnx::NodeProto& node : body.node()) {
      const bool inserts = node.op_type() == "SequenceInsert" && node.input_size() == 2 &&
                           node.input(0) == body.input(2).name() && node.output(0) == body.output(1).name();
      if (inserts) insert = &node;
      if (!inserts && std::count(node.input().begin(), node.input().end(), body.input(2).name()) > 0) return;
      for (const auto& inner : node.attribute()) {
        if (inner.has_g()) return;
      }
    }
    if (insert == nullptr) return;
    std::vector<onnx::NodeProto> rounds;
    std::vector<std::string> elements;
    for (int64_t round = 0; round < trips->front(); ++round) {
      elements.push_back(AddRound(body, *insert, loop.output(0) + "." + std::to_string(round), round, &rounds));
    }
    std::unordered_map<std::string, std::vector<std::string>> found;
    if (!Understood(loop.output(0), elements, &found)) return;
    sequences_.merge(found);
    rounds_[&loop] = std::move(rounds);
  }

  // The body's nodes once more, with names of their own; gives what is inserted.
  static std::string AddRound(const onnx::GraphProto& body, const onnx::NodeProto& insert, const std::string& prefix,
                              int64_t round, std::vector<onnx::NodeProto>* nodes) {
    std::unordered_map<std::string, std::string> names{{body.input(0).name(), prefix + ".round"}};
    for (const onnx::NodeProto& node : body.node()) {
      for (const std::string& output : node.output()) names[output] = output + "." + std::to_string(round);
    }
    onnx::NodeProto constant;
    constant.set_op_type("Constant");
    constant.add_output(prefix + ".round");
    onnx::AttributeProto* value = constant.add_attribute();
    value->set_name("value");
    value->set_type(onnx::AttributeProto::TENSOR);
    value->mutable_t()->set_data_type(onnx::TensorProto::INT64);
    value->mutable_t()->add_int64_data(round);
    nodes->push_back(constant);
    const auto renamed = [&](const std::string& name) {
      const auto found = names.find(name);
      return found == names.end() ? name : found->second;
    };
    for (const onnx::NodeProto& node : body.node()) {
      if (&node == &insert) continue;
      onnx::NodeProto copy = node;
      for (int i = 0; i < copy.input_size(); ++i) copy.set_input(i, renamed(node.input(i)));
      for (int i = 0; i < copy.output_size(); ++i) copy.set_output(i, renamed(node.output(i)));
      nodes->push_back(std::move(copy));
    }
    return renamed(insert.input(1));
  }

  onnx::GraphProto* graph_;
  std::unordered_map<std::string_view, const onnx::NodeProto*> makers_;
  std::unordered_map<std::string_view, std::vector<const onnx::NodeProto*>> readers_;
  std::unordered_map<std::string_view, const onnx::TensorProto*> stored_;
  std::unordered_map<std::string, std::vector<std::string>> sequences_;  // by name: what they hold
  std::unordered_map<const onnx::NodeProto*, std::vector<onnx::NodeProto>> rounds_;
};

}  // namespace

bool UnrollSequences(onnx::GraphProto* graph) { return Unrolling(graph).Run(); }

Result<std::string> UnrollSequences(std::string_view graph) {
  bool loop = false, empty = false;
  NodeView node;
  for (const std::string_view message : Payloads(graph, field::kGraphNode)) {
    node.Read(message);
    loop = loop || node.op == "Loop";
    empty = empty || node.op == "SequenceEmpty";
  }
  if (!loop || !empty) return std::string();
  onnx::GraphProto parsed;
  if (const Status status = Parse(graph, &parsed); !status) return status.error();
  return UnrollSequences(&parsed) ? parsed.SerializePartialAsString() : std::string();
}

}  // namespace vramplan
