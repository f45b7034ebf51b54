// Module paths from the names of nodes. The TorchScript exporter writes every scope with the attribute path that torch
// gives it; a child of a Sequential repeats its parent's name, a second call of a module gets a number:
//
//   /layer1/layer1.0/conv1/Conv          layer1, layer1.0, layer1.0.conv1
//   /layer1/layer1.0/relu_1/Relu         layer1, layer1.0, layer1.0.relu        (relu was called before)
//   /m/enc/layers.0/norm1/Add            m, m.enc, m.enc.layers.0, m.enc.layers.0.norm1
//   Range_3501                           that of the node before it: the exporter forgot the scope
//   SkipLayerNorm_7 with norm.weight     norm, where ONNX Runtime's optimizer named the node
//
// Invariant: two nodes are in the same scope when their scope numbers are equal.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/layers/builder.h"

namespace vramplan {

// Letters, digits, '_', '-' and '.': the name of a stored tensor is its path in the module tree
// ("layer1.0.conv1.weight"), not one that an exporter made up ("onnx::Conv_193", "193", "val_12",
// "/attn/Constant_output_0").
bool IsModulePath(const std::string& name);

// By its producer, or by names of a state dict in a file that ONNX Runtime's optimizer signed.
bool WrittenByPyTorch(const Graph& graph);

class ModulePaths {
 public:
  explicit ModulePaths(const Graph& graph);
  int32_t ScopeOf(NodeId node) const { return scope_of_[node.index()]; }
  const ModulePath& PathOf(NodeId node) const { return paths_[static_cast<size_t>(ScopeOf(node))]; }
  // That of the node which made the tensor before a tool fused it with others ("/layer1/Add_output_0"); null when the
  // name does not say.
  const ModulePath* PathOf(TensorId tensor) const {
    const auto found = scope_of_tensor_.find(tensor);
    return found == scope_of_tensor_.end() ? nullptr : &paths_[static_cast<size_t>(found->second)];
  }
  // "layer1.0.conv1"; "" is the root.
  std::string InnermostOf(NodeId node) const {
    const ModulePath& path = PathOf(node);
    return path.empty() ? std::string() : path.back().path;
  }

 private:
  std::vector<int32_t> scope_of_;  // by node
  std::map<TensorId, int32_t> scope_of_tensor_;
  std::vector<ModulePath> paths_;  // by scope
};

}  // namespace vramplan
