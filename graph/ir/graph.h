// Graph: what the file says, before anything is concluded from it. Aggregates; facts that a later stage derives
// (shapes, roles of parameters, layers) live in that stage's result, never here.
//
// Invariants after Load: every TensorId and NodeId is in range; each tensor has at most one producer; nodes are in a
// topological order; names are unique.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/ir/dtype.h"
#include "graph/ir/facts.h"

namespace vramplan {

// Ids index the vectors of their Graph; -1 is "absent" (an omitted optional input).
struct TensorId {
  int32_t value = -1;
  static TensorId At(size_t index) { return {static_cast<int32_t>(index)}; }
  bool valid() const { return value >= 0; }
  size_t index() const { return static_cast<size_t>(value); }
  auto operator<=>(const TensorId&) const = default;
};
struct NodeId {
  int32_t value = -1;
  static NodeId At(size_t index) { return {static_cast<int32_t>(index)}; }
  bool valid() const { return value >= 0; }
  size_t index() const { return static_cast<size_t>(value); }
  auto operator<=>(const NodeId&) const = default;
};

struct Graph;

// Values of a small constant tensor (<= kMaxConstantElements). Larger ones keep only type and shape: weights are never
// read.
struct ConstantValues {
  static constexpr int64_t kMaxElements = 1024;
  std::vector<int64_t> integers;  // integer and bool types
  std::vector<double> reals;      // floating types
  bool operator==(const ConstantValues&) const = default;
};

// A tensor stored in the file: an initializer, or the value of a Constant node.
struct StoredTensor {
  DType type = DType::kUndefined;
  std::vector<int64_t> dims;
  std::optional<ConstantValues> values;
  bool external = false;  // bytes are (or were) in another file
  bool literal = false;   // the value of a Constant node, not an initializer
  // Bits of 8 x 8 elements, evenly apart from corner to corner, row by row: of tables of embeddings whose weights are
  // in the file, and of matrices that may be one turned around (graph/onnx/tables.h). Empty for all others.
  std::vector<uint64_t> grid;
};

// Whether `b` is the transpose of `a`, as far as their grids tell; nothing where they do not.
std::optional<bool> IsTransposeOf(const StoredTensor& a, const StoredTensor& b);

// One axis as declared by the file: a length, a symbol ("batch", "past + sequence"), or nothing.
struct DeclaredDim {
  std::optional<int64_t> length;
  std::string symbol;
  bool operator==(const DeclaredDim&) const = default;
};

// The type the file declares for a value; no dims at all when it does not say the rank.
struct DeclaredType {
  DType type = DType::kUndefined;
  std::optional<std::vector<DeclaredDim>> dims;
  bool is_tensor = true;  // false: sequence, optional, map
};

using AttributeValue =
    std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, std::vector<std::string>,
                 StoredTensor, std::shared_ptr<Graph>, std::vector<std::shared_ptr<Graph>>>;

// Named attributes of a node. Get<T> gives null when the name is absent or of another type.
class Attributes {
 public:
  void Set(std::string name, AttributeValue value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  bool Has(std::string_view name) const { return values_.contains(name); }
  template <typename T>
  const T* Get(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
  }
  int64_t Int(std::string_view name, int64_t otherwise) const {
    const auto* v = Get<int64_t>(name);
    return v != nullptr ? *v : otherwise;
  }
  double Real(std::string_view name, double otherwise) const {
    const auto* v = Get<double>(name);
    if (v != nullptr) return *v;
    const auto* i = Get<int64_t>(name);
    return i != nullptr ? static_cast<double>(*i) : otherwise;
  }
  std::string Text(std::string_view name, std::string otherwise) const {
    const auto* v = Get<std::string>(name);
    return v != nullptr ? *v : otherwise;
  }
  std::vector<int64_t> Ints(std::string_view name) const {
    const auto* v = Get<std::vector<int64_t>>(name);
    return v != nullptr ? *v : std::vector<int64_t>();
  }
  const std::map<std::string, AttributeValue, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, AttributeValue, std::less<>> values_;
};

// Attributes from a list: Named({{"dim", int64_t{1}}}).
inline Attributes Named(std::initializer_list<std::pair<const char*, AttributeValue>> list) {
  Attributes attributes;
  for (const auto& [name, value] : list) attributes.Set(name, value);
  return attributes;
}

// Metadata that the dynamo exporter writes beside a node (NodeProto.metadata_props, field 9). Empty without it.
struct Provenance {
  std::string fx_node;          // pkg.torch.onnx.fx_node
  std::string name_scopes;      // pkg.torch.onnx.name_scopes
  std::string class_hierarchy;  // pkg.torch.onnx.class_hierarchy
  std::string rewrite_rules;    // pkg.onnxscript.rewriter.rule_name
  std::string stack_trace;      // pkg.torch.onnx.stack_trace
};

struct Node {
  std::string name;    // never empty: Load names the nameless "Conv_12" by operator and position
  std::string op;      // "Conv"
  std::string domain;  // "" is ai.onnx
  std::vector<TensorId> inputs, outputs;
  Attributes attributes;
  Provenance provenance;
};

struct Tensor {
  std::string name;
  NodeId producer;                       // absent for inputs, stored tensors and names from outside
  std::optional<StoredTensor> stored;    // initializers, and outputs of Constant nodes
  std::optional<DeclaredType> declared;  // graph inputs, outputs and value_info
  TensorId outer;                        // in a subgraph: the tensor of the graph around it that this name stands for
};

struct Graph {
  std::string file;  // as the user wrote it
  std::string name;
  int64_t ir_version = 0;
  std::string producer;                   // "pytorch 2.10.0"
  std::map<std::string, int64_t> opsets;  // by domain; "" is ai.onnx
  std::vector<Tensor> tensors;
  std::vector<Node> nodes;                // topological order
  std::vector<TensorId> inputs, outputs;  // inputs without initializers
  std::string signature;                  // pkg.torch.export.ExportedProgram.graph_signature, or empty
  std::optional<Facts> facts;             // of the metadata entry vramplan.facts

  int64_t opset() const {
    const auto found = opsets.find("");
    return found == opsets.end() ? 0 : found->second;
  }
  const Tensor& operator[](TensorId id) const { return tensors[id.index()]; }
  const Node& operator[](NodeId id) const { return nodes[id.index()]; }
  // The node that makes a tensor; absent where none does.
  NodeId MakerOf(TensorId id) const { return id.valid() ? (*this)[id].producer : NodeId{}; }
  bool IsStored(TensorId id) const { return id.valid() && (*this)[id].stored.has_value(); }
};

}  // namespace vramplan
