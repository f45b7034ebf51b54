#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"

namespace vramplan {
namespace {

struct StepOf {
  const StepPeak* step;
  bool validates;
};

}  // namespace

template <>
struct Described<StepOf> {
  static constexpr const char* kName = "";
  static Fields<StepOf> Make() {
    return Fields<StepOf>()
        .Has("step", "from 1", &StepOf::step, &StepPeak::step)
        .All<Levels>(&StepOf::step, &StepPeak::peak)
        .Has("phase", "where requested peaks: forward, backward or update", &StepOf::step, &StepPeak::phase)
        .Has("after_forward", "requested", &StepOf::step, &StepPeak::after_forward)
        .Has("after_backward", "requested", &StepOf::step, &StepPeak::after_backward)
        .May("validation", "a batch of --eval-batch, not of the training",
             [](const StepOf& of) { return of.validates ? std::optional(true) : std::nullopt; });
  }
};

template <>
struct Described<Estimate> {
  static constexpr const char *kName = "", *kAnswer = "estimate", *kTitle = "what a step takes";
  static Fields<Estimate> Make() {
    return Fields<Estimate>()
        .Has("model", "", &Estimate::head, &AnswerHead::model)
        .Has("batch", "", &Estimate::head, &AnswerHead::batch)
        .Has("spec", "the options behind the answer", &Estimate::head, &AnswerHead::spec)
        .Has("peak", "",
             [](const Estimate& of) {
               return PeakAt{{&of.peak, of.context.likely}, &of.place};
             })
        .Has("device", "how sure the bytes on the device are", [](const Estimate& of) { return of.band; })
        .Has("steps", "of inference: the first forward",
             [](const Estimate& of) {
               std::vector<StepOf> steps;
               const bool train = of.head.mode == Mode::kTrain;
               for (size_t i = 0; i < StepsToPrint(of.head, of.peak); ++i)
                 steps.push_back({&of.peak.steps[i], train && of.peak.steps[i].step > of.training_steps});
               return steps;
             })
        .Has("categories", "bytes at the peak by what they are", &Estimate::peak, As<CategoriesOf>)
        .Has("context", "the CUDA context and loaded kernels", &Estimate::context)
        .Has("layers", "in order of execution", &Estimate::layers)
        .Has("assumptions", "what the input does not say", &Estimate::assumptions)
        .Has("assumptions_together", "the ends that they have together", &Estimate::assumptions, As<JointlyOf>)
        .Has("notes", "", &Estimate::notes)
        .May("verdict", "fits, tight or does-not-fit, where a card is named",
             [](const Estimate& of) { return of.device ? std::optional(of.verdict) : std::nullopt; })
        .May("on_a_larger_card", kOnALargerCard,
             [](const Estimate& of) { return of.device ? std::optional(of.OnALargerCard()) : std::nullopt; })
        .May("pool", "of a runtime that takes its memory before it needs it",
             [](const Estimate& of) {
               const bool has = of.device && !of.device->pool.source.empty();
               return has ? std::optional(of.device->pool) : std::nullopt;
             })
        .May("segments", "--segments: how the allocator's memory lies at the peak",
             [](const Estimate& of) { return of.segments ? std::optional(of.segments->segments) : std::nullopt; });
  }
};

Json ToJson(const Estimate& estimate) { return AnswerJson(estimate); }

Json EstimateSchema() { return AnswerSchema<Estimate>(); }

}  // namespace vramplan
