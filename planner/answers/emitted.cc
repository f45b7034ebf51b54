#include "planner/answers/emitted.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "graph/architectures/named.h"
#include "planner/answers/named_model.h"
#include "planner/report/parts/breakdown.h"
#include "planner/report/snippets/snippets.h"
#include "planner/spec/trained.h"

namespace vramplan {
namespace {

// A length that --dim gave, or what is usual.
std::optional<int64_t> LengthOf(const Question& question, const AnswerHead& asked, const char* name) {
  if (const auto given = question.bind.dims.find(name); given != question.bind.dims.end()) return given->second;
  if (const auto usual = asked.usual_lengths.find(name); usual != asked.usual_lengths.end()) return usual->second;
  return std::nullopt;
}

std::optional<Denoiser> DenoiserOf(const Question& question, const AnswerHead& asked) {
  const NamedModel& model = *question.named;
  if (!model.templates.OfDiffusers()) return std::nullopt;
  const auto pixels = [&](const char* name, int64_t of_image) {
    return question.bind.image ? of_image : LengthOf(question, asked, name).value_or(0);
  };
  const ImageSize image = question.bind.image.value_or(ImageSize());
  return Denoiser{model.of_class, model.settings.Text("addition_embed_type") == "text_time",
                  pixels("height", image.height), pixels("width", image.width)};
}

// What the files of those who finetune say besides the plan.
std::optional<Finetuned> FinetunedOf(const Question& question, const AnswerHead& asked, const Plan& plan) {
  if (question.named == nullptr) return std::nullopt;
  Finetuned finetuned;
  finetuned.model = question.named->source;
  finetuned.of_class = question.named->of_class;
  finetuned.lora = question.lora;
  if (finetuned.lora && finetuned.lora->targets.empty())
    finetuned.lora->targets = question.named->templates.lora_targets;
  finetuned.length = LengthOf(question, asked, "sequence");
  finetuned.denoiser = DenoiserOf(question, asked);
  if (question.quant) finetuned.packed = question.quant->type;
  if (question.weights && IsHalf(*question.weights))
    finetuned.weights = *question.weights == DType::kFloat16 ? "float16" : "bfloat16";
  finetuned.nested = question.quant && question.quant->nested;
  finetuned.liger = question.liger;
  finetuned.every_layer = ChecksEveryLayer(*question.named, plan.checkpoint);
  return finetuned;
}

// What a U-Net is given, if this is one: it makes as many pixels as it is given, goes up again in between, and joins what
// it makes there to what it made before.
std::vector<int64_t> PatchOf(const Layers& layers) {
  if (layers.inputs.size() != 1 || layers.outputs.empty()) return {};
  const Shape& given = layers[layers.inputs.front()].shape;
  const Shape& made = layers[layers.outputs.front()].shape;
  if ((given.rank() != 4 && given.rank() != 5) || made.rank() != given.rank()) return {};
  std::vector<int64_t> patch;
  for (int axis = 2; axis < given.rank(); ++axis) {
    if (!given[axis].IsConstant() || given[axis] != made[axis]) return {};
    patch.push_back(given[axis].At(1));
  }
  const auto goes_up = [&](const Layer& layer) {
    if (layer.inputs.empty() || layer.outputs.empty() || !layer.inputs.front().valid()) return false;
    const Shape &before = layers[layer.inputs.front()].shape, &after = layers[layer.outputs.front()].shape;
    return before.rank() == given.rank() && after.rank() == given.rank() && before[2].IsConstant() &&
           after[2].IsConstant() && after[2].At(1) > before[2].At(1);
  };
  const bool joins = std::ranges::any_of(layers.layers, [](const Layer& layer) { return layer.op == "cat"; });
  return joins && std::ranges::any_of(layers.layers, goes_up) ? patch : std::vector<int64_t>();
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
                             FinetunedOf(question, prepared.head, plan),
                             PatchOf(prepared.layers)});
}

Result<std::string> EmittedStep(Emit emit, const Question& question, StepEnds& steps, const CardFit& card) {
  const TrainingSpec& spec = steps.spec;
  if (spec.mode != Mode::kTrain)
    return Error{ErrorCode::kUsage, "--emit", "writes the configuration of a training", "leave out --mode"};
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
