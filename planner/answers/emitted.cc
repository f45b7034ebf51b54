#include "planner/answers/emitted.h"

#include <optional>
#include <utility>

#include "graph/architectures/named.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/snippets/snippets.h"
#include "planner/spec/trained.h"

namespace vramplan {
namespace {

// What the files of those who finetune say besides the plan.
std::optional<Finetuned> FinetunedOf(const Question& question) {
  if (question.named == nullptr) return std::nullopt;
  Finetuned finetuned;
  finetuned.model = question.named->source;
  finetuned.lora = question.lora;
  if (finetuned.lora && finetuned.lora->targets.empty())
    finetuned.lora->targets = question.named->templates.lora_targets;
  if (const auto length = question.bind.dims.find("sequence"); length != question.bind.dims.end())
    finetuned.length = length->second;
  if (question.quant) finetuned.packed = question.quant->type;
  finetuned.nested = question.quant && question.quant->nested;
  return finetuned;
}

}  // namespace

Result<std::string> EmittedPlan(Emit emit, const Question& question, const Prepared& prepared, const Plan& plan,
                                const TrainingSpec& spec, const Device& device) {
  return PrintSnippet(emit, {plan,
                             spec,
                             FileName(prepared.head.model.file),
                             device.name,
                             DeviceBytes(plan.peak, device.context.likely),
                             question.allocator_text,
                             {prepared.trained, SharedPrefix(prepared.layers)},
                             FinetunedOf(question)});
}

Result<std::string> EmittedStep(Emit emit, const Question& question, StepEnds& steps, const CardFit& card) {
  const TrainingSpec& spec = steps.spec;
  if (spec.mode != Mode::kTrain)
    return Error{ErrorCode::kUsage, "--emit", "is the configuration of a training", "leave out --mode"};
  const AnswerHead& asked = steps.prepared.head;
  Plan plan;
  plan.batch = asked.batch_given || card.largest.largest_batch == 0 ? asked.batch
               : card.safe_batch > 0                                ? card.safe_batch
                                                                    : card.largest.largest_batch;
  plan.accumulate = spec.accumulate;
  plan.precision = spec.precision;
  plan.optimizer_impl = spec.optimizer_impl;
  plan.checkpoint = spec.checkpoint;
  plan.saved = spec.saved;
  plan.tier = !spec.saved.empty() ? Tier::kOperators : spec.checkpoint.empty() ? Tier::kNone : Tier::kModules;
  const Result<BothEnds> step = steps.At(plan.batch);
  if (!step.ok()) return step.error();
  plan.peak = CardJudge(steps, card.device, question.allocator).Alone(*step, plan.batch).peak;
  return EmittedPlan(emit, question, steps.prepared, plan, spec, card.device);
}

}  // namespace vramplan
