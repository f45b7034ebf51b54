#include "planner/answers/spec_of_file.h"

#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

#include "graph/onnx/load.h"
#include "planner/answers/named_model.h"
#include "planner/semantics/optimizer.h"

namespace vramplan {

namespace {

bool MayTake(const Question& question) {
  const TrainingSpec& spec = question.spec;
  const bool given = spec.given.contains("optimizer") || spec.given.contains("momentum");
  return !given && question.of_step && spec.mode == Mode::kTrain;
}

bool IsPipe(const std::string& file) {
  std::error_code ignored;
  return !std::filesystem::is_regular_file(file, ignored);
}

void TakeOptimizer(const RecordedOptimizer& told, Question* question) {
  TrainingSpec& spec = question->spec;
  const Result<Optimizer> optimizer = ParseOptimizer(told.name);
  if (!optimizer.ok()) {
    question->notes.Add({"unknown-optimizer", Severity::kWarning, "--optimizer",
                         "the file names an optimizer that vramplan does not know, so " +
                             std::string(Name(spec.optimizer)) + " is assumed",
                         "type --optimizer with the most similar one"});
    return;
  }
  spec.optimizer = *optimizer;
  question->optimizer_of_file = true;
  if (!spec.given.contains("weight-decay"))
    spec.weight_decay = told.weight_decay.value_or(DefaultWeightDecay(*optimizer));
  if (told.momentum) spec.momentum = *told.momentum;
  if (spec.given.contains("optimizer-impl")) return;
  spec.optimizer_impl = eager::UsualImpl(*optimizer);
  if (const Result<OptimizerImpl> impl = ParseOptimizerImpl(told.impl); impl.ok()) spec.optimizer_impl = *impl;
}

// model.bfloat16(), model.half(): what its parameters of floating types are, but for adapters in fp32 beside a base in
// halves (peft).
std::optional<Precision> PrecisionOf(const Facts& facts) {
  std::set<DType> types;
  for (const RecordedTensor& parameter : facts.parameters.value_or(std::vector<RecordedTensor>()))
    if (IsFloating(parameter.type)) types.insert(parameter.type);
  if (types.contains(DType::kBFloat16)) return Precision::kBf16;
  if (types.contains(DType::kFloat16)) return Precision::kFp16;
  if (types == std::set<DType>{DType::kFloat64}) return Precision::kFp64;
  return std::nullopt;
}

// Errors: what was asked about is neither that precision nor autocast around it. It is that of another model, after
// model.float(), whose calls may be others: what the recording has in halves stays so.
Status TakePrecision(const Facts& facts, Question* question) {
  TrainingSpec& spec = question->spec;
  const std::optional<Precision> precision = PrecisionOf(facts);
  if (!precision || spec.framework.runtime != Runtime::kPyTorch) return Done();
  if (spec.given.contains("precision") && spec.precision != *precision) {
    if (IsAutocast(spec.precision)) return Done();
    return Error{ErrorCode::kUsage, "--precision",
                 "the parameters of " + question->model + " are in " + std::string(Name(*precision)) + ", and in " +
                     std::string(Name(spec.precision)) + " it is another model",
                 "leave --precision out, or write the file of the model in that precision"};
  }
  spec.precision = *precision;
  spec.precision_of_file = true;
  return Done();
}

}  // namespace

void NoteOptimizerOfPipe(const Question& question, const std::optional<Facts>& facts, Notes* notes) {
  if (!facts || !facts->optimizer || !MayTake(question) || !IsPipe(question.model)) return;
  notes->Add({"optimizer-of-pipe", Severity::kWarning, "--optimizer",
              "the model names its optimizer, " + facts->optimizer->name + ", which is not taken from a pipe",
              "type --optimizer, or name the file"});
}

Status TakeSpecOfFile(Question* question) {
  if (question->model.empty()) return Done();
  if (const Status named = TakeNamed(question); !named.ok() || question->named != nullptr) return named;
  if (!question->of_step || IsPipe(question->model)) return Done();
  const std::optional<Facts> facts = FactsIn(question->model);
  if (!facts) return Done();
  if (MayTake(*question) && facts->optimizer) TakeOptimizer(*facts->optimizer, question);
  return TakePrecision(*facts, question);
}

}  // namespace vramplan
