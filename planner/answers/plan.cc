#include "planner/answers/plan.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "graph/architectures/named.h"
#include "planner/answers/assumptions.h"
#include "planner/answers/judge.h"
#include "planner/answers/named_model.h"
#include "planner/answers/other_plans.h"
#include "planner/answers/progress.h"
#include "planner/report/parts/breakdown.h"
#include "planner/semantics/optimizer.h"
#include "planner/timeline/checkpointed_calls.h"

namespace vramplan {
namespace {

// How often a plan that is sure is looked for, each time in a part less of the card: in the room of the card at its worst,
// one that just fits may still fail where blocks lie in another order.
constexpr int kSureTries = 3;
constexpr int64_t kSureShare = 64;

bool Given(const TrainingSpec& spec, const char* option) { return spec.given.count(option) != 0; }

// Mixed precision as the card likes it: bf16 needs no scaler, and capability 8.0 to be more than emulated.
std::vector<Precision> AllowedPrecisions(const TrainingSpec& spec, bool nvidia) {
  if (Given(spec, "precision") || spec.precision_of_file || IsDeepspeed(spec.strategy)) return {spec.precision};
  const bool has_bf16 = !nvidia || spec.capability >= Capability{8, 0};
  return {spec.precision, has_bf16 ? Precision::kAmpBf16 : Precision::kAmpFp16};
}

// Fused takes no temporaries and one pass over memory, so that the others are never better.
OptimizerImpl AllowedImpl(const TrainingSpec& spec) {
  const bool fused = !Given(spec, "optimizer-impl") && eager::HasImpl(spec.optimizer, OptimizerImpl::kFused);
  return fused ? OptimizerImpl::kFused : spec.optimizer_impl;
}

// The model with each dim that the user gave at half its length. Those that no longer fit together are left out.
struct Halved {
  std::string dim;
  int64_t from = 0;
  Prepared prepared;
};
std::vector<Halved> HalveDims(const Question& question) {
  std::vector<Halved> halved;
  for (const auto& [name, length] : question.bind.dims) {
    if (length < 2) continue;
    Question other = question;
    other.bind.dims[name] = length / 2;
    Result<Prepared> prepared = Prepare(other);
    if (prepared.ok() && prepared->head.batch_given == question.batch.has_value())
      halved.push_back({name, length, *std::move(prepared)});
  }
  return halved;
}

// A named model as it runs with checkpoints: with some, and with all that its own switch sets, which is another program
// for adapters alone; null: it is a file.
struct UnderCheckpoints {
  std::shared_ptr<Prepared> some, all;
  std::unique_ptr<CheckpointedPrograms> programs;
};

Result<UnderCheckpoints> PrepareWithCheckpoints(const Question& question) {
  UnderCheckpoints with;
  if (question.named == nullptr || question.spec.mode != Mode::kTrain) return with;
  std::vector<std::string> every = EveryLayer(*question.named);
  if (every.empty()) return with;
  Question changed = question;
  changed.spec.checkpoint = every;
  Result<Prepared> all = Prepare(changed);
  if (!all.ok()) return all.error();
  with.some = with.all = std::make_shared<Prepared>(*std::move(all));
  if (question.lora) {
    changed.spec.checkpoint = {every.front()};
    Result<Prepared> some = Prepare(changed);
    if (!some.ok()) return some.error();
    with.some = std::make_shared<Prepared>(*std::move(some));
  }
  with.programs =
      std::make_unique<CheckpointedPrograms>(CheckpointedPrograms{{with.some->layers, with.some->lifetimes.likely},
                                                                  {with.all->layers, with.all->lifetimes.likely},
                                                                  std::move(every)});
  return with;
}

// What the checkpointed calls of this model do beside saving memory.
void NoteBatchNorms(const Layers& layers, const Plan& plan, Notes* notes) {
  const Result<std::vector<CheckpointedCall>> calls = FindCheckpointedCalls(layers, plan.checkpoint);
  if (!calls.ok()) return;
  std::set<size_t> norms;
  for (const CheckpointedCall& call : *calls) {
    for (const size_t l : call.layers) {
      if (layers.layers[l].op == "batch_norm") norms.insert(l);
    }
  }
  if (norms.empty()) return;
  notes->Add({"checkpointed-batch-norm", Severity::kNote, "--emit",
              std::to_string(norms.size()) + " batch norms run twice a step; the emitted prepare() keeps the second "
                                             "run from updating their running statistics",
              ""});
}

// The plan's own step, and the verdict about it.
struct JudgedPlan {
  LaidOut step;
  CardFit fit;
};
Result<JudgedPlan> JudgePlan(const Prepared& prepared, const TrainingSpec& spec, const Question& question,
                             const Plan& plan, const Device& device) {
  StepEnds steps(prepared, spec);
  Result<CardFit> fit = CardJudge(steps, device, question.allocator).At(plan.batch);
  if (!fit.ok()) return fit.error();
  const Result<LaidOut> step = steps.likely.At(plan.batch);
  if (!step.ok()) return step.error();
  return JudgedPlan{*step, *std::move(fit)};
}

// As many samples an optimizer step, in parts that fit; with mixed precision and checkpoints, whatever was asked.
std::optional<Plan> Accumulated(const PlanProblem& problem, PlanWishes wishes, bool nvidia) {
  wishes.effective_batch = wishes.batch;
  wishes.batch.reset();
  wishes.tier = std::max(wishes.tier, Tier::kModules);
  TrainingSpec free = problem.spec;
  free.given.erase("precision");
  wishes.precisions = AllowedPrecisions(free, nvidia);
  const Result<Decision> decision = Decide(problem, wishes);
  return decision.ok() ? decision->chosen : std::nullopt;
}

// The plan of the decision with the precision of `start` that wraps modules and saves no calls; null: none does.
const Plan* WrappedAs(const Plan& start, const Decision& decision) {
  const auto wraps = [&](const Plan& plan) {
    return plan.tier == Tier::kModules && plan.precision == start.precision && plan.accumulate == start.accumulate;
  };
  if (decision.chosen && wraps(*decision.chosen)) return &*decision.chosen;
  const auto found = std::ranges::find_if(decision.alternatives, wraps);
  return found == decision.alternatives.end() ? nullptr : &*found;
}

// The plan may have chosen autocast, which the step as it is was laid out without.
void NoteOfPrecision(const Prepared& prepared, const TrainingSpec& planned, int64_t batch, Notes* notes) {
  const Result<Timeline> step = LayOut(prepared, planned, batch, nullptr);
  if (step.ok() && !step->refused.empty()) notes->Add(NoteOfRefusal(step->refused));
}

}  // namespace

Result<PlannedStep> PlanOf(const Question& question, const ChosenDevice& on, Prepared prepared, PlanWishes wishes,
                           bool brief, Notes notes) {
  const TrainingSpec spec = SpecOn(on, question.spec);
  const Device& device = on.device;
  Result<UnderCheckpoints> checkpointed = PrepareWithCheckpoints(question);
  if (!checkpointed.ok()) return checkpointed.error();
  const PlanProblem problem{
      {prepared.layers, prepared.lifetimes.likely}, spec,     AllocatorOn(device, question.allocator),
      device.CapacityWith(device.context.likely),   on.rates, checkpointed->programs.get()};

  const bool has_batch = prepared.head.model.has_batch;
  if (prepared.head.batch_given) wishes.batch = prepared.head.batch;
  if (!has_batch) wishes.batch = 1;
  wishes.precisions = AllowedPrecisions(spec, on.nvidia);
  wishes.impls = {AllowedImpl(spec)};

  PlanReport report;
  // Notes of the step as it is, once.
  const int64_t smallest = wishes.batch.value_or(1);
  const Result<Timeline> as_it_is = LayOut(prepared, spec, smallest, &notes);
  if (!as_it_is.ok()) return as_it_is.error();
  if (!on.rates_known) {
    notes.Add({"assumed-rates", Severity::kNote, "--gpu",
               "the rates of this card are not known; times are those of a T4", "name a card with --gpu"});
  }
  Progress::Say("looking for the fastest plan that fits");
  Result<Decision> decision = Decide(problem, wishes);
  if (!decision.ok()) return decision.error();
  const auto runs_with = [&](const Plan& plan) -> Prepared& {
    const bool wraps = !plan.checkpoint.empty() && problem.checkpointed != nullptr;
    return !wraps ? prepared : problem.WrapsEvery(plan.checkpoint) ? *checkpointed->all : *checkpointed->some;
  };
  const auto judge = [&](const Plan& plan) {
    return JudgePlan(runs_with(plan), problem.With(plan), question, plan, device);
  };
  std::optional<JudgedPlan> judged;  // the chosen one
  if (decision->chosen) {
    Result<JudgedPlan> of_chosen = judge(*decision->chosen);
    if (!of_chosen.ok()) return of_chosen.error();
    judged = *std::move(of_chosen);
  }
  // Where a batch was asked for, or none is safe with the fastest plan, one that surely fits comes before one that takes less
  // time; and so does one with more checkpoints at the same batch.
  const bool none_is_safe = prepared.head.batch_given || (judged && judged->fit.safe_batch < 1);
  const bool may_wrap_more = judged && !decision->chosen->checkpoint.empty() && !wishes.effective_batch;
  if (judged && judged->fit.verdict != Verdict::kFits && (none_is_safe || may_wrap_more)) {
    PlanWishes sure_wishes = wishes;
    if (!none_is_safe) sure_wishes.batch = decision->chosen->batch;
    PlanProblem within = problem;
    const CardRooms rooms = RoomsOf(device);
    within.capacity = CudnnChooses(prepared.layers, spec) ? rooms.measured : rooms.worst;
    for (int tried = 0; tried < kSureTries;
         ++tried, within.capacity -= Bytes::Of(within.capacity.count() / kSureShare)) {
      Result<Decision> sure = Decide(within, sure_wishes);
      if (!sure.ok() || !sure->chosen) break;
      Result<JudgedPlan> of_sure = judge(*sure->chosen);
      if (!of_sure.ok() || of_sure->fit.verdict != Verdict::kFits) continue;
      if (const Status proved = ProveWithin(problem, &*sure->chosen); !proved.ok()) return proved.error();
      // Of choices that only may fit, too.
      sure->chosen->bound = std::min(sure->chosen->bound, decision->chosen->bound);
      decision = std::move(sure);
      judged = *std::move(of_sure);
      break;
    }
  }
  report.decision = *std::move(decision);
  const std::optional<Plan>& plan = report.decision.chosen;

  Plan start;
  start.precision = spec.precision;
  start.optimizer_impl = spec.optimizer_impl;
  start.accumulate = spec.accumulate;
  start.batch = plan ? plan->batch : smallest;
  std::vector<Precision> precisions = {AllowedPrecisions(spec, on.nvidia).back(), spec.precision};
  if (spec.precision_of_file || IsDeepspeed(spec.strategy)) {
    precisions = {spec.precision};
  } else if (Given(spec, "precision")) {
    precisions = {Precision::kFp32,
                  on.nvidia && spec.capability < Capability{8, 0} ? Precision::kAmpFp16 : Precision::kAmpBf16};
  }
  if (has_batch) {
    const std::vector<Halved> halved = HalveDims(question);
    std::vector<ChangedProblem> others;
    for (const Halved& half : halved) {
      const std::string shorter = half.dim + "=" + std::to_string(half.from / 2);
      others.push_back({shorter + " instead of " + std::to_string(half.from),
                        "--dim " + shorter,
                        {{half.prepared.layers, half.prepared.lifetimes.likely},
                         problem.spec,
                         problem.config,
                         problem.capacity,
                         problem.rates}});
    }
    Question on_card = question;
    on_card.spec = spec;
    const std::vector<AdaptedStep> adapted = AdaptedSteps(on_card);
    for (const AdaptedStep& step : adapted) {
      others.push_back({step.change,
                        step.option,
                        {{step.prepared.layers, step.prepared.lifetimes.likely},
                         step.spec,
                         problem.config,
                         problem.capacity,
                         problem.rates}});
    }
    Progress::Say("comparing single changes");
    const bool largest = !wishes.batch && !wishes.effective_batch;
    Result<PlanLadder> ladder =
        ClimbLadder(problem, start, precisions, others, largest ? WrappedAs(start, report.decision) : nullptr);
    if (!ladder.ok()) return ladder.error();
    report.ladder = *std::move(ladder);
  }
  Prepared& runs = plan ? runs_with(*plan) : prepared;
  if (plan) {
    report.ideal = IdealOf(problem, *plan);
    report.on = static_cast<const OnCard&>(judged->fit);
    report.safe_batch = judged->fit.safe_batch;
    report.largest = judged->fit.largest;
    report.assumptions = AssumptionsOf(
        {runs, question, problem.With(*plan), plan->batch, *judged->step, judged->fit.peak.peak.requested, brief});
  } else {
    report.parts = PartsOf(*as_it_is, smallest);
    report.assumptions =
        AssumptionsOf({prepared, question, spec, smallest, *as_it_is, RequestedPeak(*as_it_is, smallest), brief});
    if (wishes.batch && has_batch) report.instead = Accumulated(problem, wishes, on.nvidia);
  }
  if (!plan || report.safe_batch < smallest)
    report.remedies =
        RemediesOf(question, prepared.head.model, on, smallest, plan ? report.on.verdict : Verdict::kDoesNotFit);
  // Only where a batch was asked for is one of no use for what the plan does.
  if (!plan || (wishes.batch && report.ladder.largest < start.batch && has_batch)) {
    Question on_card = question;
    on_card.gpu_memory.reset();
    if (const Card* card = SmallestCard(on_card, prepared, start.batch))
      report.next_card = card->name + " (--gpu " + card->id + ")";
  }
  if (plan && !plan->checkpoint.empty()) {
    NoteBatchNorms(runs.layers, *plan, &notes);
  }

  report.head = prepared.head;
  report.head.batch = start.batch;
  report.head.loss = as_it_is->loss;
  report.device = device;
  report.id = on.id;
  if (spec.optimizer != Optimizer::kNone) report.optimizer = Name(spec.optimizer);
  if (plan) NoteOfPrecision(runs, problem.With(*plan), plan->batch, &notes);
  report.notes = std::move(notes);
  TrainingSpec planned = plan ? problem.With(*plan) : spec;
  const int64_t batch = plan ? plan->batch : as_it_is->batch;
  runs.head = prepared.head;  // of what was asked
  return PlannedStep{std::move(runs), std::move(planned), batch, std::move(report)};
}

}  // namespace vramplan
