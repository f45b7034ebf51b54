#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/plan.h"

namespace vramplan {
namespace {

struct PlanOf {
  const Plan* plan;
  Bytes context;
};

struct ShardingOf {
  const StepParts* parts;
  Bytes capacity;
  std::optional<int64_t> Cards(size_t stage) const { return CardsUnderZero(*parts, capacity)[stage - 1]; }
};

std::optional<PlanOf> ChosenOf(const PlanReport& of) {
  if (!of.decision.chosen) return std::nullopt;
  return PlanOf{&*of.decision.chosen, of.device.context.likely};
}

}  // namespace

template <>
struct Described<SavedCall> {
  static constexpr const char* kName = "";
  static Fields<SavedCall> Make() {
    return Fields<SavedCall>()
        .Has("module", "", &SavedCall::module)
        .Has("operator", "overload, as PyTorch prints it", &SavedCall::op)
        .Has("occurrence", "of the overload, within one call of the module", &SavedCall::occurrence);
  }
};

template <>
struct Described<PlanOf> {
  static constexpr const char* kName = "plan";
  static Fields<PlanOf> Make() {
    return Fields<PlanOf>()
        .Has("batch", "the micro-batch", &PlanOf::plan, &Plan::batch)
        .Has("accumulate", "micro-batches a step", &PlanOf::plan, &Plan::accumulate)
        .Has("precision", "", &PlanOf::plan, &Plan::precision)
        .Has("optimizer_impl", "", &PlanOf::plan, &Plan::optimizer_impl)
        .Has("tier", "what is recomputed", &PlanOf::plan, &Plan::tier)
        .Has("checkpoint", "paths of the modules that are checkpointed", &PlanOf::plan, &Plan::checkpoint)
        .Has("saved", "calls in there that do not run again", &PlanOf::plan, &Plan::saved)
        .Has("peak", "",
             [](const PlanOf& of) {
               return LevelsAt{&of.plan->peak, of.context};
             })
        .Has("overhead", "time of recomputing, as a share of the step without it", &PlanOf::plan, &Plan::overhead)
        .Has("bound", "no plan of this tier has a smaller overhead", &PlanOf::plan, &Plan::bound)
        .Has("gap", "between both, as a share of the step", &PlanOf::plan, &Plan::gap)
        .Has("proved_optimal", "", &PlanOf::plan, &Plan::proved_optimal)
        .Has("step_seconds", "an estimate", &PlanOf::plan, &Plan::seconds);
  }
};

template <>
struct Described<PlanRung> {
  static constexpr const char* kName = "";
  static Fields<PlanRung> Make() {
    return Fields<PlanRung>()
        .Has("change", "in words", &PlanRung::change)
        .Has("option", "as typed", &PlanRung::option)
        .Has("saves", "of the reserved peak; below zero: it takes more", &PlanRung::saves)
        .Has("largest_batch", "with this change alone; 0: none", &PlanRung::batch)
        .Has("time", "a sample takes so much more: 0.09 is 9 %", &PlanRung::time);
  }
};

template <>
struct Described<Ideal> {
  static constexpr const char* kName = "";
  static Fields<Ideal> Make() {
    return Fields<Ideal>()
        .Has("bound", "no schedule of this order of operators has a smaller overhead", &Ideal::bound)
        .Has("overhead", "of one that was found", &Ideal::overhead);
  }
};

template <>
struct Described<ShardingOf> {
  static constexpr const char* kName = "";
  static Fields<ShardingOf> Make() {
    return Fields<ShardingOf>()
        .Has("parameters", "", &ShardingOf::parts, &StepParts::parameters)
        .Has("gradients", "", &ShardingOf::parts, &StepParts::gradients)
        .Has("optimizer_state", "", &ShardingOf::parts, &StepParts::optimizer_state)
        .Has("rest", "", &ShardingOf::parts, &StepParts::rest)
        .Has("exceeds_alone", "which part does",
             [](const ShardingOf& of) { return ExceedsAlone(*of.parts, of.capacity); })
        .Has("zero", "in words", [](const ShardingOf& of) { return ZeroInWords(*of.parts, of.capacity); })
        .Has("zero_1_cards", "", [](const ShardingOf& of) { return of.Cards(1); })
        .Has("zero_2_cards", "", [](const ShardingOf& of) { return of.Cards(2); })
        .Has("zero_3_cards", "", [](const ShardingOf& of) { return of.Cards(3); });
  }
};

template <>
struct Described<PlanReport> {
  static constexpr const char *kName = "", *kAnswer = "plan", *kTitle = "what to change so that a step fits";
  static Fields<PlanReport> Make() {
    return Fields<PlanReport>()
        .Has("model", "", &PlanReport::head, &AnswerHead::model)
        .Has("spec", "the options behind the answer", &PlanReport::head, &AnswerHead::spec)
        .Has("gpu", "",
             [](const PlanReport& of) {
               return CardOf{of.id, &of.device};
             })
        .Has("verdict", "of the chosen plan: fits, tight or does-not-fit", &PlanReport::on, &OnCard::verdict)
        .Has("chosen", "null: no plan fits", ChosenOf)
        .Has("instead", "if no plan holds the batch: the same samples a step, accumulated",
             [](const PlanReport& of) {
               return of.instead ? std::optional(PlanOf{&*of.instead, of.device.context.likely}) : std::nullopt;
             })
        .May("remedies", "options that make a named model fit, where no plan surely does",
             [](const PlanReport& of) { return of.remedies.empty() ? std::nullopt : std::optional(of.remedies); })
        .Has("safe_batch", "the largest with the chosen plan's settings", &PlanReport::safe_batch, OrNone)
        .Has("device", "how sure the bytes on the device are",
             [](const PlanReport& of) { return of.decision.chosen ? std::optional(of.on.band) : std::nullopt; })
        .Has("on_a_larger_card", kOnALargerCard,
             [](const PlanReport& of) {
               return of.decision.chosen ? std::optional(of.on.OnALargerCard()) : std::nullopt;
             })
        .Has("first_failing_batch", "",
             [](const PlanReport& of) {
               return of.decision.chosen ? of.decision.chosen->first_failing_batch : std::nullopt;
             })
        .Has("most_of_any_plan", "the largest batch", &PlanReport::decision, &Decision::most_of_any_plan)
        .Has("alternatives", "",
             [](const PlanReport& of) {
               std::vector<PlanOf> plans;
               for (const Plan& plan : of.decision.alternatives) plans.push_back({&plan, of.device.context.likely});
               return plans;
             })
        .Has("tensors", "what rematerialising tensor by tensor takes, of the chosen plan's step", &PlanReport::ideal)
        .Has("ladder", "single changes", &PlanReport::ladder, &PlanLadder::rungs)
        .Has("next_card", "the smallest that holds the batch unchanged", &PlanReport::next_card)
        .Has("does_not_fit", "what the unchanged step is made of, where no plan fits",
             [](const PlanReport& of) {
               const Bytes capacity = of.device.CapacityWith(of.device.context.likely);
               return of.decision.chosen ? std::nullopt : std::optional(ShardingOf{&of.parts, capacity});
             })
        .Has("assumptions", "what the input does not say", &PlanReport::assumptions)
        .Has("assumptions_together", "the ends that they have together", &PlanReport::assumptions, As<JointlyOf>)
        .Has("notes", "", &PlanReport::notes);
  }
};

Json ToJson(const PlanReport& report) { return AnswerJson(report); }

Json PlanSchema() { return AnswerSchema<PlanReport>(); }

}  // namespace vramplan
