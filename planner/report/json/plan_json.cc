#include "planner/report/parts/breakdown.h"
#include "planner/report/plan.h"

namespace vramplan {
namespace {

Json LevelsJson(const Peak& peak, Bytes context) {
  Json object = Json::Object();
  object.Set("requested", peak.peak.requested)
      .Set("allocated", peak.peak.allocated)
      .Set("reserved", peak.peak.reserved)
      .Set("device", DeviceBytes(peak, context));
  return object;
}

Json PlanJson(const Plan& plan, Bytes context) {
  Json paths = Json::Array();
  for (const std::string& path : plan.checkpoint) paths.Push(path);
  Json saved = Json::Array();
  for (const SavedCall& call : plan.saved) {
    Json row = Json::Object();
    row.Set("module", call.module).Set("operator", call.op).Set("occurrence", int64_t{call.occurrence});
    saved.Push(std::move(row));
  }
  Json object = Json::Object();
  object.Set("batch", plan.batch)
      .Set("accumulate", plan.accumulate)
      .Set("precision", Name(plan.precision))
      .Set("optimizer_impl", Name(plan.optimizer_impl))
      .Set("tier", Name(plan.tier))
      .Set("checkpoint", std::move(paths))
      .Set("saved", std::move(saved))
      .Set("peak", LevelsJson(plan.peak, context))
      .Set("overhead", plan.overhead)
      .Set("bound", plan.bound)
      .Set("gap", plan.gap())
      .Set("proved_optimal", plan.proved_optimal())
      .Set("step_seconds", plan.seconds);
  return object;
}

Json PlanLadderJson(const PlanReport& report) {
  Json ladder = Json::Array();
  for (const PlanRung& rung : report.ladder.rungs) {
    Json object = Json::Object();
    object.Set("change", rung.change)
        .Set("option", rung.option)
        .Set("saves", rung.saves)
        .Set("largest_batch", rung.batch)
        .Set("time", rung.time);
    ladder.Push(std::move(object));
  }
  return ladder;
}

Json ShardingJson(const PlanReport& report) {
  const Bytes capacity = report.device.CapacityWith(report.device.context.likely);
  const auto cards = CardsUnderZero(report.parts, capacity);
  Json object = Json::Object();
  object.Set("parameters", report.parts.parameters)
      .Set("gradients", report.parts.gradients)
      .Set("optimizer_state", report.parts.optimizer_state)
      .Set("rest", report.parts.rest)
      .Set("exceeds_alone", ExceedsAlone(report.parts, capacity))
      .Set("zero", ZeroInWords(report.parts, capacity))
      .Set("zero_1_cards", cards[0])
      .Set("zero_2_cards", cards[1])
      .Set("zero_3_cards", cards[2]);
  return object;
}

// What rematerialising tensor by tensor takes, of the chosen plan's step: {"bound", "overhead"}.
Json IdealJson(const std::optional<Ideal>& ideal) {
  if (!ideal) return Json();
  Json object = Json::Object();
  object.Set("bound", ideal->bound).Set("overhead", ideal->overhead ? Json(*ideal->overhead) : Json());
  return object;
}

}  // namespace

Json ToJson(const PlanReport& report) {
  const Bytes context = report.device.context.likely;
  Json alternatives = Json::Array();
  for (const Plan& plan : report.decision.alternatives) alternatives.Push(PlanJson(plan, context));
  const std::optional<Plan>& chosen = report.decision.chosen;
  Json gpu = Json::Object();
  gpu.Set("id", report.id)
      .Set("name", report.device.name)
      .Set("usable_bytes", report.device.usable)
      .Set("reserve_bytes", report.device.reserve)
      .Set("held_bytes", report.device.held)
      .Set("context_bytes", context);
  Json object = Json::Object();
  object.Set("schema", "vramplan.plan/1")
      .Set("model", ToJson(report.question.model))
      .Set("spec", SpecJson(report.question.spec))
      .Set("gpu", std::move(gpu))
      .Set("verdict", Name(report.on.verdict))
      .Set("chosen", chosen ? PlanJson(*chosen, context) : Json())
      .Set("instead", report.instead ? PlanJson(*report.instead, context) : Json())
      .Set("safe_batch", report.safe_batch > 0 ? Json(report.safe_batch) : Json())
      .Set("device", chosen ? ToJson(report.on.band) : Json())
      .Set("on_a_larger_card", chosen ? Json(report.on.OnALargerCard()) : Json())
      .Set("first_failing_batch", chosen ? chosen->first_failing_batch : Json())
      .Set("most_of_any_plan", report.decision.most_of_any_plan)
      .Set("alternatives", std::move(alternatives))
      .Set("tensors", IdealJson(report.ideal))
      .Set("ladder", PlanLadderJson(report))
      .Set("next_card", report.next_card ? Json(*report.next_card) : Json())
      .Set("does_not_fit", chosen ? Json() : ShardingJson(report))
      .Set("assumptions", ToJson(report.assumptions))
      .Set("assumptions_together", TogetherJson(report.assumptions))
      .Set("notes", ToJson(report.notes));
  return object;
}

}  // namespace vramplan
