#include "planner/cli/optimizer_of_file.h"

#include <optional>

#include "graph/onnx/load.h"
#include "planner/semantics/optimizer.h"

namespace vramplan {

void TakeOptimizerOfFile(Options* options) {
  TrainingSpec& spec = options->spec;
  const bool asked = spec.given.contains("optimizer") || spec.given.contains("momentum");
  if (asked || !TakesOption(options->verb, "--optimizer") || spec.mode != Mode::kTrain || options->file.empty()) return;
  const std::optional<Facts> facts = FactsIn(options->file);
  if (!facts || !facts->optimizer) return;
  const RecordedOptimizer& told = *facts->optimizer;
  const Result<Optimizer> optimizer = ParseOptimizer(told.name);
  if (!optimizer.ok()) {
    options->notes.Add({"unknown-optimizer", Severity::kWarning, "--optimizer",
                        "the file names an optimizer that vramplan does not know, so " +
                            std::string(Name(spec.optimizer)) + " is assumed",
                        "type --optimizer with the one that is nearest"});
    return;
  }
  spec.optimizer = *optimizer;
  options->optimizer_of_file = true;
  if (!spec.given.contains("weight-decay"))
    spec.weight_decay = told.weight_decay.value_or(DefaultWeightDecay(*optimizer));
  if (told.momentum) spec.momentum = *told.momentum;
  if (spec.given.contains("optimizer-impl")) return;
  spec.optimizer_impl = eager::UsualImpl(*optimizer);
  if (const Result<OptimizerImpl> impl = ParseOptimizerImpl(told.impl); impl.ok()) spec.optimizer_impl = *impl;
}

}  // namespace vramplan
