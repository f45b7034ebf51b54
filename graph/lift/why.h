// Why: how one node of a file became a call, for people who expected another (`vramplan inspect --why NODE`). Filled by
// Lift where it is asked for.
//
//   /act/Mul   asked: activation 4 "Mul(x, Sigmoid(x))": its operand 2 is made by Tanh, not by Sigmoid
//              then:  nodes -> mul(Conv, Tanh)
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/layers/form.h"
#include "graph/layers/layers.h"

namespace vramplan {

struct Why {
  // A rule of graph/lift/match that was asked about the node: its family, which is a file there, its place in the
  // family's table, and the operators that it begins with.
  struct Asked {
    std::string rule;
    bool matched = false;
    std::vector<std::string> reasons;  // of each form that the rule tried; none: it is a function, which refused
    bool operator==(const Asked&) const = default;
  };
  // The calls that hold the node behind a stage of the lift; those that a stage left as they were are not repeated.
  struct Stage {
    std::string name;                // "nodes", or a pass
    std::vector<std::string> calls;  // "silu act (/act/Sigmoid, /act/Mul), by a pattern"; none: in no call
    bool operator==(const Stage&) const = default;
  };
  NodeId node;
  // Of the rules that failed the one of whose form the most matched: "activation 3: `Mul(...)`: operand 2 of ...".
  std::string nearest;
  size_t nearest_parts = 0;  // that matched
  std::vector<Asked> asked;
  std::vector<Stage> stages;
};

// `Mul(x, Sigmoid(x))`: operand 2 of Mul is made by Tanh, not by Sigmoid
std::string ReasonOf(const Mismatch& mismatch, const Graph& graph, const CallGraph& calls);

// Adds a stage where it changed the calls that hold the node.
void AddStage(std::string_view name, const Layers& layers, const Graph& graph, Why* why);

}  // namespace vramplan
