#include "graph/onnx/functions.h"

#include "graph/base/bytes.h"
#include "graph/onnx/compact.h"
#include "graph/onnx/names.h"

namespace vramplan {
namespace {

std::string Key(std::string_view domain, std::string_view name, std::string_view overload) {
  std::string key(domain == "ai.onnx" ? "" : domain);
  key.append(1, '\0').append(name).append(1, '\0').append(overload);
  return key;
}

// Nodes and the names that they read and make, subgraphs included.
struct BodySize {
  int64_t nodes = 0, names = 0;
};
void Count(const std::vector<std::string_view>& nodes, BodySize* size) {
  size->nodes += static_cast<int64_t>(nodes.size());
  NodeView node;
  for (const std::string_view message : nodes) {
    node.Read(message);
    size->names += static_cast<int64_t>(node.inputs.size() + node.outputs.size());
    for (const std::string_view attribute : node.attributes) {
      const AttributeView read(attribute);
      if (read.graph) Count(Payloads(*read.graph, field::kGraphNode), size);
      for (const std::string_view graph : read.graphs) Count(Payloads(graph, field::kGraphNode), size);
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

std::optional<BoundAttribute> ResolvedAttribute(const AttributeView& attribute, CallScope* scope) {
  if (scope == nullptr || attribute.reference.empty()) return BoundAttribute{attribute.message, scope};
  const auto found = scope->attributes.find(attribute.reference);
  if (found == scope->attributes.end()) return std::nullopt;
  return found->second;
}

Provenance ReadProvenance(const NodeView& node, const CallScope* scope) {
  Provenance provenance;
  for (const std::string_view message : node.metadata) {
    const MetadataEntry entry = ReadMetadataEntry(message);
    if (entry.key == kFxNodeKey) provenance.fx_node = entry.value;
    if (entry.key == kNameScopesKey) provenance.name_scopes = entry.value;
    if (entry.key == kClassHierarchyKey) provenance.class_hierarchy = entry.value;
    if (entry.key == kRewriteRulesKey) provenance.rewrite_rules = entry.value;
    if (entry.key == kStackTraceKey) provenance.stack_trace = entry.value;
  }
  const bool none = provenance.fx_node.empty() && provenance.name_scopes.empty() && provenance.class_hierarchy.empty();
  return none && scope != nullptr ? scope->provenance : provenance;
}

std::string ScopedNode::Name(const NodeView& node) const {
  const std::string name =
      node.name.empty() ? std::string(node.op).append("_").append(std::to_string(index)) : std::string(node.name);
  return scope != nullptr ? scope->prefix + name : name;
}

Functions::Functions(std::string_view model, Notes* notes) : notes_(notes) {
  for (const std::string_view message : Payloads(model, field::kModelFunction)) {
    BodySize size;
    Count(Payloads(message, field::kFunctionNode), &size);
    functions_.try_emplace(Key(Payload(message, field::kFunctionDomain), Payload(message, field::kFunctionName),
                               Payload(message, field::kFunctionOverload)),
                           Function{.message = message, .nodes = size.nodes, .names = size.names});
  }
}

Functions::Function* Functions::Called(const NodeView& node) {
  const auto found = functions_.find(Key(node.domain, node.op, node.overload));
  return found == functions_.end() ? nullptr : &found->second;
}

bool Functions::MayInline(Function* function, const CallScope& call) {
  const char* obstacle = nullptr;
  int depth = 1;
  for (const CallScope* outer = call.caller; outer != nullptr; outer = outer->caller, ++depth) {
    if (outer->function.data() == function->message.data()) obstacle = "calls itself";
  }
  if (depth > kMaxCallDepth) obstacle = "is called too deep inside other functions";
  // Every name of the body gets the prefix, every node may get the call's provenance; both take their objects besides.
  constexpr int64_t kNodeBytes = 512, kNameBytes = 128;
  const auto prefix = static_cast<int64_t>(call.prefix.size());
  const Provenance& from = call.provenance;
  const auto provenance = static_cast<int64_t>(from.fx_node.size() + from.name_scopes.size() +
                                               from.class_hierarchy.size() + from.rewrite_rules.size());
  const int64_t cost = static_cast<int64_t>(function->message.size()) +
                       SaturatingMultiply(function->nodes + 1, kNodeBytes + prefix + provenance) +
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
         .subject = Printable(Payload(function->message, field::kFunctionName)),
         .text = std::string("this model-local function ") + obstacle + "; its calls count as unknown operators",
         .hint = "inline the functions first: onnx.inliner.inline_local_functions"});
  }
  return false;
}

CallScope Functions::Bind(std::string_view function, const NodeView& node, const std::string& name, CallScope* scope) {
  CallScope call{
      .function = function, .caller = scope, .prefix = name + "/", .provenance = ReadProvenance(node, scope)};
  const auto bind = [&](uint32_t formals, const std::vector<std::string_view>& actual) {
    size_t i = 0;
    for (const std::string_view formal : Payloads(function, formals)) {
      const std::string_view given = i < actual.size() ? ResolvedName(actual[i], scope) : std::string_view();
      ++i;
      // An output that the caller leaves out is still made inside; an input that it leaves out is absent.
      if (formals == field::kFunctionOutput && given.empty()) continue;
      call.names.insert_or_assign(formal, std::string(given));
    }
  };
  bind(field::kFunctionInput, node.inputs);
  bind(field::kFunctionOutput, node.outputs);
  for (const std::string_view message : Payloads(function, field::kFunctionDefault))
    call.attributes.insert_or_assign(AttributeView(message).name, BoundAttribute{message, nullptr});
  for (const std::string_view message : node.attributes) {
    const AttributeView attribute(message);
    if (const auto bound = ResolvedAttribute(attribute, scope))
      call.attributes.insert_or_assign(attribute.name, *bound);
  }
  return call;
}

void Functions::Append(const std::vector<std::string_view>& nodes, CallScope* scope, std::vector<ScopedNode>* out) {
  NodeView node;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const ScopedNode scoped{nodes[i], scope, static_cast<int>(i)};
    if (!functions_.empty()) {
      node.Read(nodes[i]);
      if (Function* function = Called(node)) {
        std::string name = scoped.Name(node);
        if (const int copies = calls_[name]++; copies > 0)
          name.append("_").append(std::to_string(copies));  // the prefix of its names must be its own
        CallScope call = Bind(function->message, node, name, scope);
        if (MayInline(function, call)) {
          scopes_.push_back(std::move(call));
          Append(Payloads(function->message, field::kFunctionNode), &scopes_.back(), out);
          continue;
        }
      }
    }
    out->push_back(scoped);
  }
}

std::vector<ScopedNode> Functions::Inline(std::string_view graph, CallScope* scope) {
  const std::vector<std::string_view> messages = Payloads(graph, field::kGraphNode);
  std::vector<ScopedNode> nodes;
  nodes.reserve(messages.size());
  Append(messages, scope, &nodes);
  return nodes;
}

}  // namespace vramplan
