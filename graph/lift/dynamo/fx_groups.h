// FxGroups: the nodes of a graph by the fx node that they came from.
//
//   Sigmoid  %silu : ... aten.silu.default(args = (%conv,))      one group, name "silu",
//   Mul      %silu : ... aten.silu.default(args = (%conv,))      nodes {Sigmoid, Mul}, position of Mul
//   Cast     (nothing), makes the tensor "bernoulli"             joins the group of that name
//   SequenceAt  %getitem : ... operator.getitem(args = (%split, 0))   joins the group "split"
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/layers/builder.h"
#include "graph/lift/dynamo/fx_text.h"

namespace vramplan {

struct FxGroup {
  FxNode fx;
  std::vector<NodeId> nodes;  // the live ones, in order; never empty
  ModulePath path;
  bool folded_norm = false;  // a rewrite rule folded a batch norm into its producer
  NodeId last() const { return nodes.back(); }
  // Of the innermost module; empty: the file does not say.
  std::string class_name() const { return path.empty() ? std::string() : path.back().class_name; }
};

struct FxGroups {
  std::vector<FxGroup> groups;   // in execution order: by last live node
  std::vector<int32_t> of_node;  // by node: index of its group; -1 for bare nodes and those that are not live
  std::vector<NodeId> bare;      // live nodes without provenance (or with one that is not understood), in order
  std::string root_class;        // class of the outermost module, or empty
  std::unordered_set<std::string> referenced;  // every name that some fx node, live or not, names as %name
  std::unordered_set<std::string> host;        // fx nodes that the host computed: sizes and arithmetic of sizes
};

FxGroups GroupByFxNode(const Graph& graph, const std::vector<bool>& live);

// Calls `visit` for every %ref inside, lists included, in order.
template <typename Visit>
void VisitRefs(const FxLiteral& literal, Visit&& visit) {
  if (literal.kind == FxLiteral::Kind::kRef) visit(literal.text);
  for (const FxLiteral& item : literal.items) VisitRefs(item, visit);
}

// The innermost module that holds all users of a node's results, or, if that is further in, what made its operand and
// the first of the users: x, skip = self.conv(x).chunk(2), of which the block returns one, is in the block.
ModulePath CommonPath(const FxGroups& groups, const std::vector<std::vector<NodeId>>& consumers, const Node& node,
                      const ModulePath& maker);

}  // namespace vramplan
