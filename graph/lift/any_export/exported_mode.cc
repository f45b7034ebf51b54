// ExportedModeOf: what only an export of model.train() has, or only one of model.eval().
//
//   Dropout, BatchNormalization with training_mode=1, Bernoulli           training
//   Transpose of a stored matrix, written by the TorchScript exporter     training: by default it folds them, and warns
//                                                                         who exports for training not to fold
//                                                                         (torch/onnx/_internal/torchscript_exporter/
//                                                                         utils.py, 2.10, _decide_constant_folding)
//   an fx node of _native_batch_norm_legit_functional                     training: it gives new running statistics
//                                                                         (torch/_decomp/decompositions.py, 2.10)
//   one of _native_batch_norm_legit_no_training                           evaluation
//   BatchNormalization with training_mode=0                               evaluation
//   MatMul by a matrix that was folded, "onnx::MatMul_312"                evaluation: the same, and the name is of the
//                                                                         same file
#include <algorithm>

#include "graph/lift/any_export/passes.h"
#include "graph/lift/simplifiers/fx_names.h"
#include "graph/lift/torchscript/patterns_modules.h"

namespace vramplan {
namespace {

bool IsCallOf(const Node& node, const char* target) {
  return node.provenance.fx_node.find(target) != std::string::npos;
}

bool OnlyInTraining(const Graph& graph, const Node& node, bool torchscript) {
  if (IsCallOf(node, "aten._native_batch_norm_legit_functional")) return true;
  if (node.op == "Dropout" || node.op == "Bernoulli") return true;
  if (node.op == "BatchNormalization") return node.attributes.Int("training_mode", 0) != 0;
  return torchscript && node.op == "Transpose" && !node.inputs.empty() && graph.IsStored(node.inputs[0]);
}

bool OnlyInEvaluation(const Graph& graph, const Node& node, bool torchscript) {
  if (node.op == "BatchNormalization" || IsCallOf(node, "aten._native_batch_norm_legit_no_training")) return true;
  return torchscript && node.op == "MatMul" && std::ranges::any_of(node.inputs, [&](TensorId id) {
           return graph.IsStored(id) && graph[id].name.starts_with("onnx::MatMul_");
         });
}

}  // namespace

bool WrittenByTorchScript(const Graph& graph) {
  const auto from_fx = [](const Node& node) { return !node.provenance.fx_node.empty(); };
  return WrittenByPyTorch(graph) && !HasFxNames(graph) && std::ranges::none_of(graph.nodes, from_fx);
}

ExportedMode ExportedModeOf(const Graph& graph) {
  const auto any = [&](const auto& of) { return std::ranges::any_of(graph.nodes, of); };
  const bool torchscript = WrittenByTorchScript(graph);
  if (any([&](const Node& node) { return OnlyInTraining(graph, node, torchscript); })) return ExportedMode::kTraining;
  const bool evaluates = any([&](const Node& node) { return OnlyInEvaluation(graph, node, torchscript); });
  return evaluates ? ExportedMode::kEvaluation : ExportedMode::kUnknown;
}

}  // namespace vramplan
