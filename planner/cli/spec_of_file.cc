#include "planner/cli/spec_of_file.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include "graph/onnx/load.h"
#include "planner/cli/named_model.h"
#include "planner/semantics/optimizer.h"

namespace vramplan {

namespace {

bool MayTake(const Options& options) {
  const TrainingSpec& spec = options.spec;
  const bool given = spec.given.contains("optimizer") || spec.given.contains("momentum");
  return !given && TakesOption(options.verb, "--optimizer") && spec.mode == Mode::kTrain;
}

bool IsPipe(const std::string& file) {
  std::error_code ignored;
  return !std::filesystem::is_regular_file(file, ignored);
}

void TakeOptimizer(const RecordedOptimizer& told, Options* options) {
  TrainingSpec& spec = options->spec;
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

// model.bfloat16(), model.half(): what all of its parameters of floating types are.
std::optional<Precision> PrecisionOf(const Facts& facts) {
  std::optional<DType> all;
  for (const RecordedTensor& parameter : facts.parameters.value_or(std::vector<RecordedTensor>())) {
    if (!IsFloating(parameter.type)) continue;
    if (all && *all != parameter.type) return std::nullopt;
    all = parameter.type;
  }
  if (all == DType::kBFloat16) return Precision::kBf16;
  if (all == DType::kFloat16) return Precision::kFp16;
  if (all == DType::kFloat64) return Precision::kFp64;
  return std::nullopt;
}

void TakePrecision(const Facts& facts, Options* options) {
  TrainingSpec& spec = options->spec;
  const std::optional<Precision> precision = PrecisionOf(facts);
  if (!precision || spec.framework.runtime != Runtime::kPyTorch) return;
  if (spec.given.contains("precision") && spec.precision != *precision) return;
  spec.precision = *precision;
  spec.precision_of_file = true;
}

}  // namespace

void NoteOptimizerOfPipe(const Options& options, const std::optional<Facts>& facts, Notes* notes) {
  if (!facts || !facts->optimizer || !MayTake(options) || !IsPipe(options.file)) return;
  notes->Add({"optimizer-of-pipe", Severity::kWarning, "--optimizer",
              "the model names its optimizer, " + facts->optimizer->name + ", which is not taken from a pipe",
              "type --optimizer, or name the file"});
}

Status TakeSpecOfFile(Options* options) {
  if (TakesFile(options->verb)) {
    if (const Status named = TakeNamed(options); !named.ok() || options->named != nullptr) return named;
  }
  if (!TakesOption(options->verb, "--precision")) return Done();
  const std::string& model =
      options->model.empty() ? options->file : options->model;  // explain, watch: a log, a process
  if (IsPipe(model)) return Done();
  const std::optional<Facts> facts = FactsIn(model);
  if (!facts) return Done();
  if (MayTake(*options) && facts->optimizer) TakeOptimizer(*facts->optimizer, options);
  TakePrecision(*facts, options);
  return Done();
}

}  // namespace vramplan
