#include "graph/onnx/functions.h"

#include "graph/base/bytes.h"
#include "graph/onnx/compact.h"
#include "graph/onnx/names.h"
#include "graph/onnx/wire.h"

namespace vramplan {
namespace {

// Fields that ONNX has gained since 1.12: protobuf keeps them as unknown fields.
constexpr int kNodeOverload = 8, kNodeMetadata = 9, kFunctionDefaults = 11, kFunctionOverload = 13;

std::string UnknownText(const onnx::NodeProto& node, int number) {
  const auto& fields = node.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() == number && field.type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      return field.length_delimited();
  }
  return "";
}

std::string Key(std::string_view domain, std::string_view name, std::string_view overload) {
  std::string key(domain == "ai.onnx" ? "" : domain);
  key.append(1, '\0').append(name).append(1, '\0').append(overload);
  return key;
}

// Nodes and the names that they read and make, subgraphs included.
struct BodySize {
  int64_t nodes = 0, names = 0;
};
template <typename Nodes>
void Count(const Nodes& nodes, BodySize* size) {
  size->nodes += nodes.size();
  for (const onnx::NodeProto& node : nodes) {
    size->names += node.input_size() + node.output_size();
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) Count(attribute.g().node(), size);
      for (const onnx::GraphProto& graph : attribute.graphs()) Count(graph.node(), size);
    }
  }
}

}  // namespace

std::string_view ResolvedName(std::string_view name, CallScope* scope) {
  if (scope == nullptr || name.empty()) return name;
  const auto [entry, fresh] = scope->names.try_emplace(name);
  if (fresh) entry->second = scope->prefix + std::string(name);
  return entry->second;
}

BoundAttribute ResolvedAttribute(const onnx::AttributeProto& attribute, CallScope* scope) {
  if (scope == nullptr || attribute.ref_attr_name().empty()) return {&attribute, scope};
  const auto found = scope->attributes.find(attribute.ref_attr_name());
  return found == scope->attributes.end() ? BoundAttribute{} : found->second;
}

Provenance ReadProvenance(const onnx::NodeProto& node, const CallScope* scope) {
  Provenance provenance;
  const auto& fields = node.unknown_fields();
  for (int i = 0; i < fields.field_count(); ++i) {
    const auto& field = fields.field(i);
    if (field.number() != kNodeMetadata || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      continue;
    const MetadataEntry entry = ReadMetadataEntry(field.length_delimited());
    if (entry.key == kFxNodeKey) provenance.fx_node = entry.value;
    if (entry.key == kNameScopesKey) provenance.name_scopes = entry.value;
    if (entry.key == kClassHierarchyKey) provenance.class_hierarchy = entry.value;
    if (entry.key == kRewriteRulesKey) provenance.rewrite_rules = entry.value;
  }
  const bool none = provenance.fx_node.empty() && provenance.name_scopes.empty() && provenance.class_hierarchy.empty();
  return none && scope != nullptr ? scope->provenance : provenance;
}

std::string ScopedNode::Name() const {
  const std::string name = node->name().empty() ? (node->op_type() + "_").append(std::to_string(index)) : node->name();
  return scope != nullptr ? scope->prefix + name : name;
}

Functions::Functions(const onnx::ModelProto& model, Notes* notes) : notes_(notes) {
  for (const onnx::FunctionProto& proto : model.functions()) {
    BodySize size;
    Count(proto.node(), &size);
    Function function{
        .proto = &proto, .nodes = size.nodes, .names = size.names, .bytes = static_cast<int64_t>(proto.ByteSizeLong())};
    std::string overload;
    const auto& fields = proto.unknown_fields();
    for (int i = 0; i < fields.field_count(); ++i) {
      const auto& field = fields.field(i);
      if (field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
      if (field.number() == kFunctionOverload) overload = field.length_delimited();
      if (field.number() == kFunctionDefaults) {
        onnx::AttributeProto attribute;
        if (attribute.ParsePartialFromString(field.length_delimited()))
          function.defaults.push_back(std::move(attribute));
      }
    }
    functions_.try_emplace(Key(proto.domain(), proto.name(), overload), std::move(function));
  }
}

Functions::Function* Functions::Called(const onnx::NodeProto& node) {
  if (functions_.empty()) return nullptr;
  const auto found = functions_.find(Key(node.domain(), node.op_type(), UnknownText(node, kNodeOverload)));
  return found == functions_.end() ? nullptr : &found->second;
}

bool Functions::MayInline(Function* function, const CallScope& call) {
  const char* obstacle = nullptr;
  int depth = 1;
  for (const CallScope* outer = call.caller; outer != nullptr; outer = outer->caller, ++depth) {
    if (outer->function == function->proto) obstacle = "calls itself";
  }
  if (depth > kMaxCallDepth) obstacle = "is called too deep inside other functions";
  // Every name of the body gets the prefix, every node may get the call's provenance; both take their objects besides.
  constexpr int64_t kNodeBytes = 512, kNameBytes = 128;
  const auto prefix = static_cast<int64_t>(call.prefix.size());
  const Provenance& from = call.provenance;
  const auto provenance = static_cast<int64_t>(from.fx_node.size() + from.name_scopes.size() +
                                               from.class_hierarchy.size() + from.rewrite_rules.size());
  const int64_t cost = function->bytes + SaturatingMultiply(function->nodes + 1, kNodeBytes + prefix + provenance) +
                       SaturatingMultiply(function->names, kNameBytes + prefix);
  if (obstacle == nullptr && SaturatingAdd(inlined_, cost) > kMaxInlinedBytes)
    obstacle = "would make the model too large";
  if (obstacle == nullptr) {
    inlined_ += cost;
    return true;
  }
  if (!function->noted) {
    function->noted = true;
    notes_->Add(
        {.code = "function-not-inlined",
         .severity = Severity::kWarning,
         .subject = Printable(function->proto->name()),
         .text = std::string("this model-local function ") + obstacle + "; its calls count as unknown operators",
         .hint = "inline the functions first: onnx.inliner.inline_local_functions"});
  }
  return false;
}

CallScope Functions::Bind(const Function& function, const onnx::NodeProto& node, const std::string& name,
                          CallScope* scope) {
  CallScope call{
      .function = function.proto, .caller = scope, .prefix = name + "/", .provenance = ReadProvenance(node, scope)};
  const auto bind = [&](const auto& formal, const auto& actual) {
    for (int i = 0; i < formal.size(); ++i) {
      const std::string_view given = i < actual.size() ? ResolvedName(actual[i], scope) : std::string_view();
      // An output that the caller leaves out is still made inside; an input that it leaves out is absent.
      if (&formal == &function.proto->output() && given.empty()) continue;
      call.names.insert_or_assign(formal[i], std::string(given));
    }
  };
  bind(function.proto->input(), node.input());
  bind(function.proto->output(), node.output());
  for (const onnx::AttributeProto& attribute : function.defaults)
    call.attributes.insert_or_assign(attribute.name(), BoundAttribute{&attribute, nullptr});
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    const BoundAttribute bound = ResolvedAttribute(attribute, scope);
    if (bound.attribute != nullptr) call.attributes.insert_or_assign(attribute.name(), bound);
  }
  return call;
}

template <typename Nodes>
void Functions::Append(const Nodes& nodes, CallScope* scope, std::vector<ScopedNode>* out) {
  for (int i = 0; i < nodes.size(); ++i) {
    const onnx::NodeProto& node = nodes[i];
    if (Function* function = Called(node)) {
      std::string name = ScopedNode{&node, scope, i}.Name();
      if (const int copies = calls_[name]++; copies > 0)
        name.append("_").append(std::to_string(copies));  // the prefix of its names must be its own
      CallScope call = Bind(*function, node, name, scope);
      if (MayInline(function, call)) {
        scopes_.push_back(std::move(call));
        Append(function->proto->node(), &scopes_.back(), out);
        continue;
      }
    }
    out->push_back({&node, scope, i});
  }
}

std::vector<ScopedNode> Functions::Inline(const onnx::GraphProto& graph, CallScope* scope) {
  std::vector<ScopedNode> nodes;
  nodes.reserve(static_cast<size_t>(graph.node_size()));
  Append(graph.node(), scope, &nodes);
  return nodes;
}

}  // namespace vramplan
