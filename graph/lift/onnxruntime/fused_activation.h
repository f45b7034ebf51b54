// The activation that ONNX Runtime's FusedConv and FusedGemm carry.
#pragma once

#include <string>

#include "graph/ir/graph.h"

namespace vramplan {

// PyTorch's name for it; null for none that is known.
inline const char* FusedActivationOf(const Node& node) {
  const std::string name = node.attributes.Text("activation", "");
  if (name == "Relu") return "relu";
  if (name == "LeakyRelu") return "leaky_relu";
  if (name == "Sigmoid") return "sigmoid";
  if (name == "Tanh") return "tanh";
  if (name == "Clip") return "hardtanh";
  if (name == "HardSigmoid") return "hardsigmoid";
  return nullptr;
}

}  // namespace vramplan
