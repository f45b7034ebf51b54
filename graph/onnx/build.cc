#include "graph/onnx/build.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/base/check.h"
#include "graph/onnx/attribute.h"
#include "graph/onnx/compact.h"
#include "graph/onnx/functions.h"
#include "graph/onnx/names.h"
#include "graph/onnx/order.h"
#include "graph/onnx/tensor.h"

namespace vramplan {
namespace {

Error Bad(std::string text, std::string hint) { return {ErrorCode::kBadInput, "", std::move(text), std::move(hint)}; }

constexpr int kGraphMetadata = 16;  // GraphProto.metadata_props, an unknown field of ONNX 1.12

std::string ReadSignature(const onnx::GraphProto& proto) {
  const auto& fields = proto.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() != kGraphMetadata || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    const MetadataEntry entry = ReadMetadataEntry(field.length_delimited());
    if (entry.key == kGraphSignatureKey) return std::string(entry.value);
  }
  return "";
}

// Builds one graph; one per subgraph, linked to the one around it.
class GraphBuilder {
 public:
  GraphBuilder(Functions* functions, GraphBuilder* outer, CallScope* scope,
               const std::map<std::string, int64_t>& opsets)
      : functions_(functions), outer_(outer), scope_(scope), depth_(outer == nullptr ? 0 : outer->depth_ + 1) {
    graph_.opsets = opsets;
  }

  Result<Graph> Build(const onnx::GraphProto& proto) {
    if (depth_ > kMaxNesting) {  // functions called inside subgraphs add theirs
      return Bad("its subgraphs are nested more than " + std::to_string(kMaxNesting) + " deep",
                 "this is no model that vramplan can plan");
    }
    graph_.name = Printable(proto.name());
    graph_.signature = ReadSignature(proto);
    const std::vector<ScopedNode> nodes = functions_->Inline(proto, scope_);
    const auto tensors = static_cast<size_t>(proto.initializer_size() + proto.input_size()) + nodes.size();
    graph_.tensors.reserve(tensors);
    ids_.reserve(tensors);
    if (const Status status = AddInitializers(proto); !status) return status.error();
    if (const Status status = AddInputs(proto); !status) return status.error();
    if (const Status status = AddOutputsOf(nodes); !status) return status.error();
    if (const Status status = AddNodes(nodes); !status) return status.error();
    if (const Status status = AddResults(proto); !status) return status.error();
    if (const Status status = AddDeclarations(proto); !status) return status.error();
    if (const Status status = SortNodes(&graph_); !status) return status.error();
    return std::move(graph_);
  }

 private:
  std::string_view Resolve(std::string_view name) const { return ResolvedName(name, scope_); }

  // A new tensor; absent when the name is taken. `name` must outlive the builder (it lies in the parsed model or in a
  // CallScope).
  TensorId Add(std::string_view name) {
    const TensorId id{static_cast<int32_t>(graph_.tensors.size())};
    if (!ids_.try_emplace(name, id).second) return {};
    graph_.tensors.push_back({.name = Printable(name)});
    return id;
  }

  // The tensor of this name, brought in from the graphs around when they have it; absent when nobody has.
  TensorId Find(std::string_view name) {
    if (const auto found = ids_.find(name); found != ids_.end()) return found->second;
    if (outer_ == nullptr) return {};
    const TensorId outer = outer_->Find(name);
    if (!outer.valid()) return {};
    const TensorId id = Add(name);
    At(id).outer = outer;
    return id;
  }

  Tensor& At(TensorId id) { return graph_.tensors[static_cast<size_t>(id.value)]; }

  static Error GivenTwice(std::string_view name, const std::string& by) {
    return Bad("the tensor name " + QuotedName(name) + " is given twice, the second time by " + by,
               "export it again; names must be unique");
  }

  Status AddInitializers(const onnx::GraphProto& proto) {
    const auto add = [&](std::string_view proto_name, Result<StoredTensor> tensor) -> Status {
      if (!tensor) return tensor.error();
      const std::string_view name = Resolve(proto_name);
      const TensorId id = Add(name);
      if (!id.valid()) return GivenTwice(name, "an initializer");
      At(id).stored = *std::move(tensor);
      return Done{};
    };
    for (const auto& tensor : proto.initializer()) {
      if (tensor.name().empty()) return Bad("an initializer has no name", "export it again");
      if (Status status = add(tensor.name(), ReadTensor(tensor, {"initializer", tensor.name()})); !status)
        return status;
    }
    for (const auto& tensor : proto.sparse_initializer()) {
      const std::string& name = tensor.values().name();
      if (name.empty()) return Bad("a sparse initializer has no name", "export it again");
      if (Status status = add(name, ReadSparseTensor(tensor, {"sparse initializer", name})); !status) return status;
    }
    return Done{};
  }

  Status AddInputs(const onnx::GraphProto& proto) {
    const size_t initializers = graph_.tensors.size();
    std::unordered_set<std::string_view> seen;
    for (const auto& input : proto.input()) {
      const std::string_view name = Resolve(input.name());
      if (name.empty()) return Bad("an input has no name", "export it again");
      if (!seen.insert(name).second) return GivenTwice(name, "an input");
      Result<DeclaredType> declared = ReadType(input.type(), {"input", name});
      if (!declared) return declared.error();
      TensorId id = Add(name);
      if (!id.valid()) id = ids_.at(name);  // an initializer that may be overridden: IR version 3 lists all of them
      if (static_cast<size_t>(id.value) >= initializers) graph_.inputs.push_back(id);
      if (outer_ == nullptr && declared->is_tensor && declared->type == DType::kUndefined) {
        return Bad("input " + QuotedName(name) + " has no element type", "export it again");
      }
      At(id).declared = *std::move(declared);
    }
    return Done{};
  }

  static bool IsConstant(const ScopedNode& node) {
    return node.node->op_type() == "Constant" && (node.node->domain().empty() || node.node->domain() == "ai.onnx") &&
           node.node->output_size() == 1;
  }

  // All outputs first, so that nodes may come in any order.
  Status AddOutputsOf(const std::vector<ScopedNode>& nodes) {
    int32_t next = 0;
    for (const ScopedNode& node : nodes) {
      const bool constant = IsConstant(node);
      for (const std::string& output : node.node->output()) {
        const std::string_view name = ResolvedName(output, node.scope);
        if (name.empty()) continue;
        const TensorId id = Add(name);
        if (!id.valid()) return GivenTwice(name, "node " + QuotedName(node.Name()));
        if (!constant) At(id).producer = NodeId{next};
      }
      if (!constant) ++next;
    }
    graph_.nodes.reserve(static_cast<size_t>(next));
    return Done{};
  }

  Status AddNodes(const std::vector<ScopedNode>& nodes) {
    for (const ScopedNode& scoped : nodes) {
      if (Status status = IsConstant(scoped) ? AddConstant(scoped) : AddNode(scoped); !status) return status;
    }
    return Done{};
  }

  Status AddNode(const ScopedNode& scoped) {
    const onnx::NodeProto& proto = *scoped.node;
    if (proto.op_type().empty())
      return Bad("node " + QuotedName(scoped.Name()) + " has no operator", "export it again");
    CHECK(graph_.nodes.size() < graph_.nodes.capacity());
    Node& node = graph_.nodes.emplace_back();
    node.name = Unused(Printable(scoped.Name()));
    node_names_.insert(node.name);
    node.op = Printable(proto.op_type());
    if (proto.domain() != "ai.onnx") node.domain = Printable(proto.domain());
    node.provenance = ReadProvenance(proto, scoped.scope);
    node.inputs.reserve(static_cast<size_t>(proto.input_size()));
    for (const std::string& input : proto.input()) {
      const std::string_view name = ResolvedName(input, scoped.scope);
      const TensorId id = name.empty() ? TensorId() : Find(name);
      if (!name.empty() && !id.valid()) {
        return Bad("node " + QuotedName(scoped.Name()) + " (" + node.op + ") reads " + QuotedName(name) +
                       ", which no node, input or initializer makes",
                   "export it again; was the model cut or edited?");
      }
      node.inputs.push_back(id);
    }
    node.outputs.reserve(static_cast<size_t>(proto.output_size()));
    for (const std::string& output : proto.output()) {
      const std::string_view name = ResolvedName(output, scoped.scope);
      node.outputs.push_back(name.empty() ? TensorId() : ids_.at(name));
    }
    for (const auto& attribute : proto.attribute()) {
      if (Status status = AddAttribute(attribute, scoped, &node.attributes); !status) return status;
    }
    return Done{};
  }

  Status AddAttribute(const onnx::AttributeProto& written, const ScopedNode& scoped, Attributes* attributes) {
    const auto [attribute, scope] = ResolvedAttribute(written, scoped.scope);
    if (attribute == nullptr)
      return Done{};  // the caller of the function did not give it: the operator's default holds
    std::vector<std::shared_ptr<Graph>> subgraphs;
    const auto add_subgraph = [&, s = scope](const onnx::GraphProto& proto) -> Status {
      Result<Graph> subgraph = GraphBuilder(functions_, this, s, graph_.opsets).Build(proto);
      if (!subgraph) return subgraph.error();
      subgraphs.push_back(std::make_shared<Graph>(*std::move(subgraph)));
      return Done{};
    };
    if (attribute->has_g()) {
      if (Status status = add_subgraph(attribute->g()); !status) return status;
      attributes->Set(written.name(), std::move(subgraphs.front()));
      return Done{};
    }
    if (attribute->graphs_size() > 0) {
      for (const auto& graph : attribute->graphs()) {
        if (Status status = add_subgraph(graph); !status) return status;
      }
      attributes->Set(written.name(), std::move(subgraphs));
      return Done{};
    }
    Result<std::optional<AttributeValue>> value =
        ReadAttribute(*attribute, {"attribute", written.name(), scoped.Name()});
    if (!value) return value.error();
    if (*value) attributes->Set(written.name(), **std::move(value));
    return Done{};
  }

  // The value of a Constant node is stored with its output; the node itself is gone.
  Status AddConstant(const ScopedNode& scoped) {
    const std::string_view name = ResolvedName(scoped.node->output(0), scoped.scope);
    if (name.empty()) return Done{};
    const std::string node = scoped.Name();
    const Part what{"Constant", node};
    for (const auto& written : scoped.node->attribute()) {
      const onnx::AttributeProto* attribute = ResolvedAttribute(written, scoped.scope).attribute;
      if (attribute == nullptr) continue;
      Result<StoredTensor> value = ReadConstant(written.name(), *attribute, what);
      if (!value) return value.error();
      value->literal = true;
      At(ids_.at(name)).stored = *std::move(value);
      return Done{};
    }
    return Bad(what.Text() + " has no value", "export it again");
  }

  Status AddResults(const onnx::GraphProto& proto) {
    for (const auto& output : proto.output()) {
      const std::string_view name = Resolve(output.name());
      const TensorId id = Find(name);
      if (!id.valid())
        return Bad("no node, input or initializer makes the output " + QuotedName(name),
                   "export it again; was the model cut or edited?");
      graph_.outputs.push_back(id);
      if (Status status = Declare(output); !status) return status;
    }
    return Done{};
  }

  Status AddDeclarations(const onnx::GraphProto& proto) {
    for (const auto& value : proto.value_info()) {
      if (Status status = Declare(value); !status) return status;
    }
    return Done{};
  }

  // Declarations of names that nothing here uses are left-overs of tools, and ignored.
  Status Declare(const onnx::ValueInfoProto& value) {
    const auto found = ids_.find(Resolve(value.name()));
    if (found == ids_.end() || At(found->second).declared) return Done{};
    Result<DeclaredType> declared = ReadType(value.type(), {"the declared type of", value.name()});
    if (!declared) return declared.error();
    At(found->second).declared = *std::move(declared);
    return Done{};
  }

  // `name`, or `name` with a number behind it when another node has it: ONNX does not ask for unique node names.
  std::string Unused(const std::string& name) {
    std::string candidate = name;
    while (node_names_.count(candidate) != 0) candidate = (name + "_").append(std::to_string(++copies_[name]));
    return candidate;
  }

  Functions* functions_;
  GraphBuilder* outer_;
  CallScope* scope_;
  int depth_;
  Graph graph_;
  std::unordered_map<std::string_view, TensorId> ids_;
  std::unordered_set<std::string_view> node_names_;  // they lie in graph_.nodes, which does not move
  std::unordered_map<std::string, int> copies_;
};

constexpr int kMaxDomains = 64;  // of operators; a file with more is not honest

}  // namespace

Result<Graph> BuildGraph(const onnx::ModelProto& model, Notes* notes) {
  std::map<std::string, int64_t> opsets;
  const auto import = [&](const auto& imports) {
    for (const auto& opset : imports) {
      if (opsets.size() < kMaxDomains)
        opsets.try_emplace(opset.domain() == "ai.onnx" ? "" : Printable(opset.domain()), opset.version());
    }
  };
  import(model.opset_import());
  for (const auto& function : model.functions()) import(function.opset_import());
  if (opsets.find("") == opsets.end()) {
    constexpr int64_t kAssumed = 17;  // the TorchScript exporter's default since PyTorch 2.1
    opsets.emplace("", kAssumed);
    notes->Add({.code = "assumed-opset",
                .text = "the file does not say which ONNX opset it uses; " + std::to_string(kAssumed) + " is assumed"});
  }
  Functions functions(model, notes);
  Result<Graph> graph = GraphBuilder(&functions, nullptr, nullptr, opsets).Build(model.graph());
  if (!graph) return graph;
  if (model.graph().node().empty()) {
    return Bad("the graph has no nodes: nothing in it would run", "export the whole model, not its weights alone");
  }
  graph->ir_version = model.ir_version();
  graph->producer =
      Printable(model.producer_name() + (model.producer_version().empty() ? "" : " " + model.producer_version()));
  return graph;
}

}  // namespace vramplan
