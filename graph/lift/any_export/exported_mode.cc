// ExportedModeOf: what only an export of model.train() has, or only one of model.eval().
//
//   Dropout, BatchNormalization with training_mode=1, Bernoulli           training
//   Transpose of a stored matrix, written by the TorchScript exporter     training: by default it folds them, and warns
//                                                                         who exports for training not to fold
//                                                                         (torch/onnx/_internal/torchscript_exporter/
//                                                                         utils.py, 2.10, _decide_constant_folding)
//   BatchNormalization with training_mode=0                               evaluation
#include <algorithm>

#include "graph/lift/any_export/passes.h"
#include "graph/lift/simplifiers/fx_names.h"
#include "graph/lift/torchscript/patterns_modules.h"

namespace vramplan {
namespace {

bool OnlyInTraining(const Graph& graph, const Node& node, bool torchscript) {
  if (node.op == "Dropout" || node.op == "Bernoulli") return true;
  if (node.op == "BatchNormalization") return node.attributes.Int("training_mode", 0) != 0;
  return torchscript && node.op == "Transpose" && !node.inputs.empty() && graph.IsStored(node.inputs[0]);
}

}  // namespace

ExportedMode ExportedModeOf(const Graph& graph) {
  const auto any = [&](const auto& of) { return std::ranges::any_of(graph.nodes, of); };
  const bool dynamo = HasFxNames(graph) || any([](const Node& node) { return !node.provenance.fx_node.empty(); });
  const bool torchscript = WrittenByPyTorch(graph) && !dynamo;
  if (any([&](const Node& node) { return OnlyInTraining(graph, node, torchscript); })) return ExportedMode::kTraining;
  const bool normalises = any([](const Node& node) { return node.op == "BatchNormalization"; });
  return normalises ? ExportedMode::kEvaluation : ExportedMode::kUnknown;
}

}  // namespace vramplan
