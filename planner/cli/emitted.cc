#include "planner/cli/emitted.h"

#include <optional>
#include <utility>

#include "graph/architectures/named.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/snippets/snippets.h"
#include "planner/spec/trained.h"

namespace vramplan {
namespace {

// What the files of those who finetune say besides the plan.
std::optional<Finetuned> FinetunedOf(const Options& options) {
  if (options.named == nullptr) return std::nullopt;
  Finetuned finetuned;
  finetuned.model = options.named->source;
  finetuned.lora = options.lora;
  if (finetuned.lora && finetuned.lora->targets.empty())
    finetuned.lora->targets = options.named->templates.lora_targets;
  if (const auto length = options.bind.dims.find("sequence"); length != options.bind.dims.end())
    finetuned.length = length->second;
  if (options.quant) finetuned.packed = options.quant->type;
  finetuned.nested = options.quant && options.quant->nested;
  return finetuned;
}

}  // namespace

Result<std::string> EmittedPlan(const Options& options, const Prepared& prepared, const Plan& plan,
                                const TrainingSpec& spec, const Device& device) {
  return PrintSnippet(options.emit, {plan,
                                     spec,
                                     FileName(prepared.question.model.file),
                                     device.name,
                                     DeviceBytes(plan.peak, device.context.likely),
                                     options.allocator_text,
                                     {prepared.trained, SharedPrefix(prepared.layers)},
                                     FinetunedOf(options)});
}

Result<std::string> EmittedStep(const Options& options, StepEnds& steps, const CardFit& card) {
  const TrainingSpec& spec = steps.spec;
  if (spec.mode != Mode::kTrain)
    return Error{ErrorCode::kUsage, "--emit", "is the configuration of a training", "leave out --mode"};
  const StepQuestion& question = steps.prepared.question;
  Plan plan;
  plan.batch = question.batch_given || card.largest.largest_batch == 0 ? question.batch
               : card.safe_batch > 0                                   ? card.safe_batch
                                                                       : card.largest.largest_batch;
  plan.accumulate = spec.accumulate;
  plan.precision = spec.precision;
  plan.optimizer_impl = spec.optimizer_impl;
  plan.checkpoint = spec.checkpoint;
  plan.saved = spec.saved;
  plan.tier = !spec.saved.empty() ? Tier::kOperators : spec.checkpoint.empty() ? Tier::kNone : Tier::kModules;
  const Result<BothEnds> step = steps.At(plan.batch);
  if (!step.ok()) return step.error();
  plan.peak = CardJudge(steps, card.device, options.allocator).Alone(*step, plan.batch).peak;
  return EmittedPlan(options, steps.prepared, plan, spec, card.device);
}

}  // namespace vramplan
