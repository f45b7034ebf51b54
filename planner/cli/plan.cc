#include "planner/report/plan.h"

#include <algorithm>
#include <set>

#include "graph/architectures/named.h"
#include "planner/answers/doubts.h"
#include "planner/answers/emitted.h"
#include "planner/answers/judge.h"
#include "planner/answers/other_plans.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/recorded.h"
#include "planner/cli/settings.h"
#include "planner/cli/step_alone.h"
#include "planner/cli/verbs.h"
#include "planner/picture/plan_page.h"
#include "planner/report/parts/breakdown.h"
#include "planner/semantics/optimizer.h"
#include "planner/timeline/checkpointed_calls.h"

namespace vramplan {
namespace {

bool Given(const TrainingSpec& spec, const char* option) { return spec.given.count(option) != 0; }

// Mixed precision as the card likes it: bf16 needs no scaler, and capability 8.0 to be more than emulated.
std::vector<Precision> AllowedPrecisions(const TrainingSpec& spec, bool nvidia) {
  if (Given(spec, "precision") || spec.precision_of_file) return {spec.precision};
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
std::vector<Halved> HalveDims(const Options& options) {
  std::vector<Halved> halved;
  for (const auto& [name, length] : options.bind.dims) {
    if (length < 2) continue;
    Options other = options;
    other.bind.dims[name] = length / 2;
    Result<Prepared> prepared = Prepare(other);
    if (prepared.ok() && prepared->question.batch_given == options.batch.has_value())
      halved.push_back({name, length, *std::move(prepared)});
  }
  return halved;
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
Result<JudgedPlan> JudgePlan(const Prepared& prepared, const TrainingSpec& spec, const Options& options,
                             const Plan& plan, const Device& device) {
  StepEnds steps(prepared, spec);
  Result<CardFit> fit = CardJudge(steps, device, options.allocator).At(plan.batch);
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

// The plan may have chosen autocast, which the step as it is was laid out without.
void NoteOfPrecision(const Prepared& prepared, const TrainingSpec& planned, int64_t batch, Notes* notes) {
  const Result<Timeline> step = LayOut(prepared, planned, batch, nullptr);
  if (step.ok() && !step->refused.empty()) notes->Add(NoteOfRefusal(step->refused));
}

}  // namespace

Result<Outcome> RunPlan(const Options& options, const Style& style, Probe* machine) {
  if (IsRecord(options.file)) return RunRecorded(options, style, machine);
  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) return prepared.error();
  if (*chosen) prepared->notes.Append((*chosen)->notes);
  const ChosenDevice& on = **chosen;
  const TrainingSpec spec = SpecOn(on, options.spec);
  const Device& device = on.device;
  const PlanProblem problem{prepared->layers,
                            prepared->lifetimes.likely,
                            spec,
                            AllocatorOn(device, options.allocator),
                            device.CapacityWith(device.context.likely),
                            on.rates};

  PlanWishes wishes = options.wishes;
  const bool has_batch = prepared->question.model.has_batch;
  if (prepared->question.batch_given) wishes.batch = prepared->question.batch;
  if (!has_batch) wishes.batch = 1;
  wishes.precisions = AllowedPrecisions(spec, on.nvidia);
  wishes.impls = {AllowedImpl(spec)};

  PlanReport report;
  // Notes of the step as it is, once.
  const int64_t smallest = wishes.batch.value_or(1);
  const Result<Timeline> as_it_is = LayOut(*prepared, spec, smallest, &prepared->notes);
  if (!as_it_is.ok()) return as_it_is.error();
  if (!on.rates_known) {
    prepared->notes.Add({"assumed-rates", Severity::kNote, "--gpu",
                         "the rates of this card are not known; times are those of a T4", "name a card with --gpu"});
  }
  Result<Decision> decision = Decide(problem, wishes);
  if (!decision.ok()) return decision.error();
  report.decision = *std::move(decision);
  const std::optional<Plan>& plan = report.decision.chosen;

  Plan start;
  start.precision = spec.precision;
  start.optimizer_impl = spec.optimizer_impl;
  start.accumulate = spec.accumulate;
  start.batch = plan ? plan->batch : smallest;
  std::vector<Precision> precisions = {AllowedPrecisions(spec, on.nvidia).back(), spec.precision};
  if (spec.precision_of_file) {
    precisions = {spec.precision};
  } else if (Given(spec, "precision")) {
    precisions = {Precision::kFp32,
                  on.nvidia && spec.capability < Capability{8, 0} ? Precision::kAmpFp16 : Precision::kAmpBf16};
  }
  if (has_batch) {
    const std::vector<Halved> halved = HalveDims(options);
    std::vector<ChangedProblem> others;
    for (const Halved& half : halved) {
      const std::string shorter = half.dim + "=" + std::to_string(half.from / 2);
      others.push_back({shorter + " instead of " + std::to_string(half.from),
                        "--dim " + shorter,
                        {half.prepared.layers, half.prepared.lifetimes.likely, problem.spec, problem.config,
                         problem.capacity, problem.rates}});
    }
    Options on_card = options;
    on_card.spec = spec;
    const std::vector<AdaptedStep> adapted = AdaptedSteps(on_card);
    for (const AdaptedStep& step : adapted) {
      others.push_back({step.change,
                        step.option,
                        {step.prepared.layers, step.prepared.lifetimes.likely, step.spec, problem.config,
                         problem.capacity, problem.rates}});
    }
    Result<PlanLadder> ladder = ClimbLadder(problem, start, precisions, others);
    if (!ladder.ok()) return ladder.error();
    report.ladder = *std::move(ladder);
  }
  if (plan) {
    report.ideal = IdealOf(problem, *plan);
    const TrainingSpec planned = problem.With(*plan);
    const Result<JudgedPlan> judged = JudgePlan(*prepared, planned, options, *plan, device);
    if (!judged.ok()) return judged.error();
    report.on = static_cast<const OnCard&>(judged->fit);
    report.safe_batch = judged->fit.safe_batch;
    report.assumptions = Doubts(
        {*prepared, options, planned, plan->batch, *judged->step, judged->fit.peak.peak.requested, IsBrief(options)});
  } else {
    report.parts = PartsOf(*as_it_is, smallest);
    report.assumptions =
        Doubts({*prepared, options, spec, smallest, *as_it_is, RequestedPeak(*as_it_is, smallest), IsBrief(options)});
    if (wishes.batch && has_batch) report.instead = Accumulated(problem, wishes, on.nvidia);
  }
  // Only where a batch was asked for is one of no use for what the plan does.
  if (!plan || (wishes.batch && report.ladder.largest < start.batch && has_batch)) {
    Options on_card = options;
    on_card.gpu_memory.reset();
    if (const Card* card = SmallestCard(on_card, *prepared, start.batch))
      report.next_card = card->name + " (--gpu " + card->id + ")";
  }
  if (plan && !plan->checkpoint.empty()) {
    NoteBatchNorms(prepared->layers, *plan, &prepared->notes);
  }

  report.question = prepared->question;
  report.question.batch = start.batch;
  report.question.spec = SpecRows(options, spec, report.question, on, device.context);
  SayLoss(as_it_is->loss, &report.question.spec);
  // Those the plan chooses.
  std::erase_if(report.question.spec, [](const SpecRow& row) {
    return !row.given && (row.option == "batch" || row.option == "precision" || row.option == "optimizer-impl" ||
                          row.option == "accumulate" || row.option == "mode");
  });
  report.device = device;
  report.id = on.id;
  if (spec.optimizer != Optimizer::kNone) report.optimizer = Name(spec.optimizer);
  if (plan) NoteOfPrecision(*prepared, problem.With(*plan), plan->batch, &prepared->notes);
  report.notes = prepared->notes;
  std::optional<std::string> stream;
  if (plan && options.emit != Emit::kNone) {
    Result<std::string> snippet = EmittedPlan(options.emit, options, *prepared, *plan, problem.With(*plan), device);
    if (!snippet.ok()) return snippet.error();
    if (options.format != Format::kAll && (options.out.empty() || options.out == "-"))
      return Outcome{*snippet, 0, report.notes, std::nullopt};
    stream = *std::move(snippet);
  }
  const int exit_code = plan ? 0 : kExitDoesNotFit;
  if (options.format == Format::kJson) return Outcome{Print(ToJson(report)), exit_code, Notes(), std::move(stream)};
  if (IsPicture(options.format)) {
    const TrainingSpec drawn = plan ? problem.With(*plan) : spec;
    const int64_t batch = plan ? plan->batch : as_it_is->batch;
    Notes already_told;
    const Result<Timeline> step = LayOut(*prepared, drawn, batch, &already_told);
    if (!step.ok()) return step.error();
    const DrawnStep drawn_step{*prepared, report.question,   *step,          batch,
                               drawn,     options.allocator, device.context, device};
    if (options.format == Format::kAll) {
      const std::string page = PrintPlanPage(report, DrawnPictures(drawn_step));
      return Outcome{AllForms(ToJson(report), PrintPlan(report, style), page, stream.value_or("")), exit_code, Notes()};
    }
    std::string text = IsStepAlone(options.format) ? StepAlone(options.format, drawn_step)
                                                   : PrintPlanPage(report, DrawnPictures(drawn_step));
    return Outcome{std::move(text), exit_code, Notes(), std::move(stream)};
  }
  return Outcome{PrintPlan(report, style), exit_code, report.notes, std::move(stream)};
}

}  // namespace vramplan
