// Model-local functions (ModelProto.functions) are taken apart: a call becomes the nodes of its body, as PyTorch's
// exporter and ONNX Runtime do. A call of `mlp` named "blocks.0" with body { h = Gemm(x, w); y = Relu(h) } becomes
//
//   blocks.0/Gemm_0: blocks.0/h = Gemm(its input, its weight)
//   blocks.0/Relu_1: its output = Relu(blocks.0/h)
//
// A call that would recurse, that is nested more than kMaxCallDepth deep, or that would take the model beyond
// kMaxInlinedBytes stays a call, an operator that nobody knows, with a note.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/base/note.h"
#include "graph/ir/graph.h"
#include "graph/onnx/messages.h"

namespace vramplan {

inline constexpr int kMaxCallDepth = 32;
inline constexpr int64_t kMaxInlinedBytes = int64_t{64} << 20;  // of nodes and of the names made for them

// What the names inside one call of a function mean. The null scope is the model itself, where names mean themselves.
struct CallScope;

struct BoundAttribute {
  std::string_view message;
  CallScope* scope = nullptr;  // in which its subgraphs' names are read
};

struct CallScope {
  std::string_view function;
  CallScope* caller = nullptr;
  std::string prefix;  // the call's name and a slash
  std::unordered_map<std::string_view, std::string> names;
  std::unordered_map<std::string_view, BoundAttribute> attributes;
  Provenance provenance;  // of the call, for nodes without their own
};

// The name that `name` stands for in `scope`; valid as long as the scopes are. The empty name, an absent value, stays
// empty.
std::string_view ResolvedName(std::string_view name, CallScope* scope);
// The attribute that stands for `attribute` in `scope`: itself, or what ref_attr_name refers to; nothing when the
// caller did not give it.
std::optional<BoundAttribute> ResolvedAttribute(const AttributeView& attribute, CallScope* scope);
// The node's own provenance, else that of the innermost call that has any.
Provenance ReadProvenance(const NodeView& node, const CallScope* scope);

// One node as it will run, and the scope in which its names are read.
struct ScopedNode {
  std::string_view message;
  CallScope* scope = nullptr;
  int index = 0;  // among the nodes of its graph or function

  // Given by the file, or by operator and position; not yet unique. `node` is what the message holds. Made when asked
  // for: a large graph has a hundred thousand.
  std::string Name(const NodeView& node) const;
};

class Functions {
 public:
  // `model` is a compact ModelProto.
  Functions(std::string_view model, Notes* notes);

  // The nodes of `graph`, calls replaced by their bodies.
  std::vector<ScopedNode> Inline(std::string_view graph, CallScope* scope);

 private:
  struct Function {
    std::string_view message;
    int64_t nodes = 0, names = 0;  // of the body, subgraphs included
    bool noted = false;
  };
  void Append(const std::vector<std::string_view>& nodes, CallScope* scope, std::vector<ScopedNode>* out);
  Function* Called(const NodeView& node);
  bool MayInline(Function* function, const CallScope& call);
  CallScope Bind(std::string_view function, const NodeView& node, const std::string& name, CallScope* scope);

  std::unordered_map<std::string, Function> functions_;  // by domain, name and overload
  std::unordered_map<std::string, int> calls_;           // by name: how many were met
  std::deque<CallScope> scopes_;
  int64_t inlined_ = 0;  // bytes
  Notes* notes_;
};

}  // namespace vramplan
