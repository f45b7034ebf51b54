#include "graph/onnx/build.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/base/check.h"
#include "graph/facts/read_facts.h"
#include "graph/onnx/attribute.h"
#include "graph/onnx/compact.h"
#include "graph/onnx/functions.h"
#include "graph/onnx/messages.h"
#include "graph/onnx/names.h"
#include "graph/onnx/order.h"
#include "graph/onnx/tensor.h"

namespace vramplan {
namespace {

Error Bad(std::string text, std::string hint) { return {ErrorCode::kBadInput, "", std::move(text), std::move(hint)}; }

std::string MetadataOf(std::string_view message, uint32_t field, std::string_view key) {
  for (const std::string_view written : Payloads(message, field)) {
    const MetadataEntry entry = ReadMetadataEntry(written);
    if (entry.key == key) return std::string(entry.value);
  }
  return "";
}

using Messages = std::vector<std::string_view>;

// Builds one graph; one per subgraph, linked to the one around it.
class GraphBuilder {
 public:
  GraphBuilder(Functions* functions, GraphBuilder* outer, CallScope* scope,
               const std::map<std::string, int64_t>& opsets)
      : functions_(functions), outer_(outer), scope_(scope), depth_(outer == nullptr ? 0 : outer->depth_ + 1) {
    graph_.opsets = opsets;
  }

  Result<Graph> Build(std::string_view message) {
    if (depth_ > kMaxNesting) {  // functions called inside subgraphs add theirs
      return Bad("its subgraphs are nested more than " + std::to_string(kMaxNesting) + " deep",
                 "this is not a model that vramplan can plan");
    }
    graph_.name = Printable(Payload(message, field::kGraphName));
    graph_.signature = MetadataOf(message, field::kGraphMetadata, kGraphSignatureKey);
    const auto initializers = Payloads(message, field::kGraphInitializer);
    const auto inputs = Payloads(message, field::kGraphInput);
    const std::vector<ScopedNode> nodes = functions_->Inline(message, scope_);
    const size_t tensors = initializers.size() + inputs.size() + nodes.size();
    graph_.tensors.reserve(tensors);
    ids_.reserve(tensors);
    if (const Status status = AddInitializers(initializers); !status) return status.error();
    const auto sparse = Payloads(message, field::kGraphSparseInitializer);
    if (const Status status = AddSparseInitializers(sparse); !status) return status.error();
    if (const Status status = AddInputs(inputs); !status) return status.error();
    if (const Status status = AddOutputsOf(nodes); !status) return status.error();
    if (const Status status = AddNodes(nodes); !status) return status.error();
    if (const Status status = AddResults(Payloads(message, field::kGraphOutput)); !status) return status.error();
    if (const Status status = AddDeclarations(Payloads(message, field::kGraphValue)); !status) return status.error();
    if (const Status status = SortNodes(&graph_); !status) return status.error();
    return std::move(graph_);
  }

 private:
  std::string_view Resolve(std::string_view name) const { return ResolvedName(name, scope_); }

  // A new tensor; absent when the name is taken. `name` must outlive the builder (it lies in the compact model or in a
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

  Status AddInitializer(std::string_view written, Result<StoredTensor> tensor) {
    if (!tensor) return tensor.error();
    const std::string_view name = Resolve(written);
    const TensorId id = Add(name);
    if (!id.valid()) return GivenTwice(name, "an initializer");
    At(id).stored = *std::move(tensor);
    return Done{};
  }

  Status AddInitializers(const Messages& initializers) {
    onnx::TensorProto tensor;
    for (const std::string_view message : initializers) {
      const std::string_view name = Payload(message, field::kTensorName);
      if (name.empty()) return Bad("an initializer has no name", "export it again");
      if (const Status status = Parse(message, &tensor); !status) return status.error();
      if (Status status = AddInitializer(name, ReadTensor(tensor, {"initializer", name})); !status) return status;
    }
    return Done{};
  }

  Status AddSparseInitializers(const Messages& initializers) {
    onnx::SparseTensorProto tensor;
    for (const std::string_view message : initializers) {
      const std::string_view name = Payload(Payload(message, field::kSparseValues), field::kTensorName);
      if (name.empty()) return Bad("a sparse initializer has no name", "export it again");
      if (const Status status = Parse(message, &tensor); !status) return status.error();
      if (Status status = AddInitializer(name, ReadSparseTensor(tensor, {"sparse initializer", name})); !status)
        return status;
    }
    return Done{};
  }

  Status AddInputs(const Messages& inputs) {
    const size_t initializers = graph_.tensors.size();
    std::unordered_set<std::string_view> seen;
    for (const std::string_view input : inputs) {
      const std::string_view name = Resolve(Payload(input, field::kValueName));
      if (name.empty()) return Bad("an input has no name", "export it again");
      if (!seen.insert(name).second) return GivenTwice(name, "an input");
      Result<DeclaredType> declared = TypeOf(input, {"input", name});
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

  static Result<DeclaredType> TypeOf(std::string_view value, const Part& part) {
    onnx::TypeProto type;
    if (const Status status = Parse(Payload(value, field::kValueType), &type); !status) return status.error();
    return ReadType(type, part);
  }

  static bool IsConstant(const NodeView& node) {
    return node.op == "Constant" && (node.domain.empty() || node.domain == "ai.onnx") && node.outputs.size() == 1;
  }

  // All outputs first, so that nodes may come in any order.
  Status AddOutputsOf(const std::vector<ScopedNode>& nodes) {
    int32_t next = 0;
    NodeView node;
    for (const ScopedNode& scoped : nodes) {
      node.Read(scoped.message);
      const bool constant = IsConstant(node);
      for (const std::string_view output : node.outputs) {
        const std::string_view name = ResolvedName(output, scoped.scope);
        if (name.empty()) continue;
        const TensorId id = Add(name);
        if (!id.valid()) return GivenTwice(name, "node " + QuotedName(scoped.Name(node)));
        if (!constant) At(id).producer = NodeId{next};
      }
      if (!constant) ++next;
    }
    graph_.nodes.reserve(static_cast<size_t>(next));
    return Done{};
  }

  Status AddNodes(const std::vector<ScopedNode>& nodes) {
    NodeView node;
    for (const ScopedNode& scoped : nodes) {
      node.Read(scoped.message);
      if (Status status = IsConstant(node) ? AddConstant(node, scoped) : AddNode(node, scoped); !status) return status;
    }
    return Done{};
  }

  Status AddNode(const NodeView& read, const ScopedNode& scoped) {
    if (read.op.empty()) return Bad("node " + QuotedName(scoped.Name(read)) + " has no operator", "export it again");
    CHECK(graph_.nodes.size() < graph_.nodes.capacity());
    Node& node = graph_.nodes.emplace_back();
    node.name = Unused(Printable(scoped.Name(read)));
    node_names_.insert(node.name);
    node.op = Printable(read.op);
    if (read.domain != "ai.onnx") node.domain = Printable(read.domain);
    node.provenance = ReadProvenance(read, scoped.scope);
    node.inputs.reserve(read.inputs.size());
    for (const std::string_view input : read.inputs) {
      const std::string_view name = ResolvedName(input, scoped.scope);
      const TensorId id = name.empty() ? TensorId() : Find(name);
      if (!name.empty() && !id.valid()) {
        return Bad("node " + QuotedName(scoped.Name(read)) + " (" + node.op + ") reads " + QuotedName(name) +
                       ", which no node, input or initializer makes",
                   "export it again, without export_params=False; was the model cut or edited?");
      }
      node.inputs.push_back(id);
    }
    node.outputs.reserve(read.outputs.size());
    for (const std::string_view output : read.outputs) {
      const std::string_view name = ResolvedName(output, scoped.scope);
      node.outputs.push_back(name.empty() ? TensorId() : ids_.at(name));
    }
    for (const std::string_view attribute : read.attributes) {
      if (Status status = AddAttribute(AttributeView(attribute), read, scoped, &node.attributes); !status)
        return status;
    }
    if (node.op == "Transpose") CountFromFront(&node.attributes);
    return Done{};
  }

  // torch.onnx writes x.moveaxis(-1, 1) with axes that are counted from the end, which ONNX does not know
  // (symbolic_opset9.py 2.10, movedim). A permutation has all axes: as many as it has entries.
  static void CountFromFront(Attributes* attributes) {
    std::vector<int64_t> perm = attributes->Ints("perm");
    if (std::none_of(perm.begin(), perm.end(), [](int64_t axis) { return axis < 0; })) return;
    for (int64_t& axis : perm) axis += axis < 0 ? static_cast<int64_t>(perm.size()) : 0;
    attributes->Set("perm", std::move(perm));
  }

  Status AddAttribute(const AttributeView& written, const NodeView& node, const ScopedNode& scoped,
                      Attributes* attributes) {
    const auto bound = ResolvedAttribute(written, scoped.scope);
    if (!bound) return Done{};  // the caller of the function did not give it: the operator's default holds
    const AttributeView attribute(bound->message);
    std::vector<std::shared_ptr<Graph>> subgraphs;
    const auto add_subgraph = [&](std::string_view message) -> Status {
      Result<Graph> subgraph = GraphBuilder(functions_, this, bound->scope, graph_.opsets).Build(message);
      if (!subgraph) return subgraph.error();
      subgraphs.push_back(std::make_shared<Graph>(*std::move(subgraph)));
      return Done{};
    };
    if (attribute.graph) {
      if (Status status = add_subgraph(*attribute.graph); !status) return status;
      attributes->Set(std::string(written.name), std::move(subgraphs.front()));
      return Done{};
    }
    if (!attribute.graphs.empty()) {
      for (const std::string_view graph : attribute.graphs) {
        if (Status status = add_subgraph(graph); !status) return status;
      }
      attributes->Set(std::string(written.name), std::move(subgraphs));
      return Done{};
    }
    onnx::AttributeProto proto;
    if (const Status status = Parse(attribute.message, &proto); !status) return status.error();
    const std::string name = scoped.Name(node);
    Result<std::optional<AttributeValue>> value = ReadAttribute(proto, {"attribute", written.name, name});
    if (!value) return value.error();
    if (*value) attributes->Set(std::string(written.name), **std::move(value));
    return Done{};
  }

  // The value of a Constant node is stored with its output; the node itself is gone.
  Status AddConstant(const NodeView& read, const ScopedNode& scoped) {
    const std::string_view name = ResolvedName(read.outputs.front(), scoped.scope);
    if (name.empty()) return Done{};
    const std::string node = scoped.Name(read);
    const Part what{"Constant", node};
    for (const std::string_view message : read.attributes) {
      const AttributeView written(message);
      const auto bound = ResolvedAttribute(written, scoped.scope);
      if (!bound) continue;
      onnx::AttributeProto attribute;
      if (const Status status = Parse(bound->message, &attribute); !status) return status.error();
      Result<StoredTensor> value = ReadConstant(std::string(written.name), attribute, what);
      if (!value) return value.error();
      value->literal = true;
      At(ids_.at(name)).stored = *std::move(value);
      return Done{};
    }
    return Bad(what.Text() + " has no value", "export it again");
  }

  Status AddResults(const Messages& outputs) {
    for (const std::string_view output : outputs) {
      const std::string_view name = Resolve(Payload(output, field::kValueName));
      const TensorId id = Find(name);
      if (!id.valid())
        return Bad("no node, input or initializer makes the output " + QuotedName(name),
                   "export it again; was the model cut or edited?");
      graph_.outputs.push_back(id);
      if (Status status = Declare(output); !status) return status;
    }
    return Done{};
  }

  Status AddDeclarations(const Messages& values) {
    for (const std::string_view value : values) {
      if (Status status = Declare(value); !status) return status;
    }
    return Done{};
  }

  // Declarations of names that nothing here uses are left-overs of tools, and ignored.
  Status Declare(std::string_view value) {
    const std::string_view name = Payload(value, field::kValueName);
    const auto found = ids_.find(Resolve(name));
    if (found == ids_.end() || At(found->second).declared) return Done{};
    Result<DeclaredType> declared = TypeOf(value, {"the declared type of", name});
    if (!declared) return declared.error();
    Tensor& tensor = At(found->second);
    tensor.declared = *std::move(declared);
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

Result<Graph> BuildGraph(std::string_view model, std::string_view graph, Notes* notes) {
  onnx::ModelProto header;
  if (const Status status = ParseHeader(model, &header); !status) return status.error();
  std::map<std::string, int64_t> opsets;
  const auto import = [&](const onnx::OperatorSetIdProto& opset) {
    if (opsets.size() < kMaxDomains)
      opsets.try_emplace(opset.domain() == "ai.onnx" ? "" : Printable(opset.domain()), opset.version());
  };
  for (const onnx::OperatorSetIdProto& opset : header.opset_import()) import(opset);
  onnx::OperatorSetIdProto read;
  for (const std::string_view function : Payloads(model, field::kModelFunction)) {
    for (const std::string_view opset : Payloads(function, field::kFunctionOpset)) {
      if (const Status status = Parse(opset, &read); !status) return status.error();
      import(read);
    }
  }
  if (opsets.find("") == opsets.end()) {
    constexpr int64_t kAssumed = 17;  // the TorchScript exporter's default since PyTorch 2.1
    opsets.emplace("", kAssumed);
    notes->Add({.code = "assumed-opset",
                .text = "the file does not say which ONNX opset it uses; " + std::to_string(kAssumed) + " is assumed"});
  }
  Functions functions(model, notes);
  Result<Graph> built = GraphBuilder(&functions, nullptr, nullptr, opsets).Build(graph);
  if (!built) return built;
  if (Payloads(graph, field::kGraphNode).empty()) {
    return Bad("the graph has no nodes: nothing in it would run", "export the whole model, not its weights alone");
  }
  for (const onnx::StringStringEntryProto& entry : header.metadata_props()) {
    if (entry.key() != kFactsKey) continue;
    Result<Facts> facts = ReadFacts(entry.value());
    if (!facts.ok()) return facts.error();
    built->facts = *std::move(facts);
  }
  built->ir_version = header.ir_version();
  built->producer =
      Printable(header.producer_name() + (header.producer_version().empty() ? "" : " " + header.producer_version()));
  return built;
}

}  // namespace vramplan
