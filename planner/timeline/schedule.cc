// Schedule: the training loop of a plain script, three times:
//
//   out = model(x); loss = criterion(out, y); loss.backward(); optimizer.step(); optimizer.zero_grad()
//
// with what the spec puts around it: N micro-batches a step, unscale_ and clip_grad_norm_ before the step, an average
// of the weights after it, zero_grad elsewhere;
//
// or the forward of inference, twice under no_grad, `out` bound from the first while the second runs.
#include <algorithm>

#include "planner/semantics/grad_norm.h"
#include "planner/semantics/grad_scaler.h"
#include "planner/semantics/optimizer.h"
#include "planner/timeline/around.h"
#include "planner/timeline/average.h"
#include "planner/timeline/backward.h"
#include "planner/timeline/known_sizes.h"
#include "planner/timeline/name_ends.h"
#include "planner/timeline/recorder.h"
#include "planner/timeline/run.h"
#include "planner/timeline/selective.h"
#include "planner/timeline/timeline.h"

namespace vramplan {
namespace {

using eager::Eager;
using eager::OptimizerState;

constexpr int kForwardsOfInference = 2;

// The third micro-batch is like all that follow it: gradients are there, `out` and `loss` are a micro-batch's.
constexpr int kMicroBatches = 3;

Error Unusable(const char* option, std::string text, std::string hint) {
  return Error{ErrorCode::kUsage, option, std::move(text), std::move(hint)};
}

Status CheckSpec(const TrainingSpec& spec) {
  if (spec.mode != Mode::kTrain || spec.optimizer == Optimizer::kNone) return Done{};
  const std::string name(Name(spec.optimizer));
  if (!eager::HasImpl(spec.optimizer, spec.optimizer_impl)) {
    std::string choices;
    for (OptimizerImpl impl : {OptimizerImpl::kForeach, OptimizerImpl::kFused, OptimizerImpl::kForLoop}) {
      if (eager::HasImpl(spec.optimizer, impl)) choices += (choices.empty() ? "" : " or ") + std::string(Name(impl));
    }
    return Unusable("--optimizer-impl", name + " has no " + std::string(Name(spec.optimizer_impl)) + " implementation",
                    "use " + choices);
  }
  // torch.optim.Adafactor is new in 2.5, torch.optim.Muon in 2.9.
  if (spec.optimizer == Optimizer::kAdafactor && spec.framework < Framework{2, 5})
    return Unusable("--optimizer", "torch.optim has adafactor from 2.5 on", "use adafactor-hf");
  if (spec.optimizer == Optimizer::kMuon && spec.framework < Framework{2, 9})
    return Unusable("--optimizer", "torch.optim has muon from 2.9 on", "use --framework pytorch@2.9");
  const bool eight_bits = spec.optimizer == Optimizer::kAdam8bit || spec.optimizer == Optimizer::kAdamW8bit ||
                          spec.optimizer == Optimizer::kLion8bit;
  if (eight_bits && spec.precision == Precision::kFp64)  // bitsandbytes/backends/cuda/ops.py: no kernel
    return Unusable("--optimizer", name + " takes no fp64 gradients", "use adam");
  return Done{};
}

void NoteMuon(Eager& e) {
  if (e.spec().optimizer != Optimizer::kMuon || e.notes() == nullptr) return;
  e.notes()->Add({"muon-parameters", Severity::kNote, "--optimizer",
                  "muon takes the matrices, adamw the embeddings and everything that is not a matrix",
                  "both step one after the other"});
}

Status Train(Eager& e, ModelRun& model, Recorder& recorder, int steps) {
  LossTotal total(recorder, e.spec().around);
  const TrainingSpec& spec = e.spec();
  const eager::ParameterUses uses = model.Uses();
  OptimizerState optimizer(e, model.trained(), uses);
  NoteMuon(e);
  Average average(e, model, uses);
  model.MakeInputs();
  if (const Status target = model.MakeTarget(); !target) return target;
  eager::GradScaler scaler(e);
  const auto zero_grad_at = [&](ZeroGrad place) {
    if (spec.zero_grad != place || !spec.set_to_none) return;  // filled in place otherwise
    recorder.Mark(EventKind::kBeforeZeroGrad);
    optimizer.ZeroGrad();
    recorder.Mark(EventKind::kAfterZeroGrad);
  };
  for (int step = 1; step <= steps; ++step) {
    const int micro_batches = std::min(spec.accumulate, kMicroBatches);
    for (int micro_batch = 1; micro_batch <= micro_batches; ++micro_batch) {
      recorder.Enter(step, Phase::kForward);
      if (micro_batch == 1) zero_grad_at(ZeroGrad::kStart);
      model.Forward();
      recorder.Mark(EventKind::kBeforeLoss);
      const eager::Tensor loss = model.ComputeLoss();
      model.LeaveAutocast();
      total.Add(loss);
      if (micro_batch == micro_batches) recorder.Mark(EventKind::kAfterForward);
      recorder.Enter(step, Phase::kBackward);
      if (micro_batch == 1) zero_grad_at(ZeroGrad::kAfterForward);
      if (loss->grad_fn) {
        const eager::Tensor scaled = model.BeginBackward(scaler.Scale(loss));
        Backward(e, scaled);
        model.EndBackward(micro_batch == micro_batches);
      } else if (model.FreezesSome()) {
        return Unusable("--frozen", "no trained parameter takes part in the loss, so that it has no gradient",
                        "train a layer that the output depends on: --trainable PATTERN");
      }
    }
    recorder.Mark(EventKind::kAfterBackward);
    recorder.Enter(step, Phase::kUpdate);
    e.origin = Origin();
    if (spec.clip_grad_norm > 0 && !IsDeepspeed(spec.strategy)) {  // which scales its own gradients in place
      scaler.Unscale();
      ClipGradNorm(e, model.trained());
    }
    e.origin.op = "optimizer.step";
    scaler.BeforeStep();
    do {
      model.BeforeStep();
      optimizer.Step(e);
    } while (model.AfterStep());
    scaler.AfterStep();
    scaler.Update();
    average.Update();
    zero_grad_at(ZeroGrad::kEnd);
    recorder.Mark(EventKind::kStepEnd);
  }
  recorder.Stop();
  return Done{};
}

Status Infer(Eager& e, ModelRun& model, Recorder& recorder) {
  e.grad_mode = e.spec().mode == Mode::kEval;
  LossTotal total(recorder, e.spec().around);
  model.MakeInputs();
  if (const Status target = model.MakeTarget(); !target) return target;
  for (int step = 1; step <= kForwardsOfInference; ++step) {
    recorder.Enter(step, Phase::kForward);
    model.Forward();
    if (e.spec().around.keep_loss_graph && model.loss() != Loss::kNone) total.Add(model.ComputeLoss());
    recorder.Mark(EventKind::kAfterForward);
    recorder.Mark(EventKind::kStepEnd);
  }
  recorder.Stop();
  return Done{};
}

void NoteCheckpoints(const std::vector<CheckpointedCall>& calls, const TrainingSpec& spec, Notes* notes) {
  if (!spec.checkpoint.empty() && IsWithoutGradients(spec.mode)) {
    notes->Add({"checkpoint-without-gradient", Severity::kNote, "--checkpoint",
                "without gradients nothing is saved, so nothing is run again", ""});
    return;
  }
  // torch/utils/checkpoint.py, 2.10: only positional arguments go through the hooks of the call around; keywords are
  // held as they are (measured: llama's self_attn(hidden_states=...) inside a checkpointed layer).
  if (std::any_of(calls.begin(), calls.end(), [](const CheckpointedCall& call) { return call.around >= 0; })) {
    notes->Add({"checkpoint-nested", Severity::kNote, "--checkpoint",
                "arguments of modules inside other checkpointed modules are assumed to be positional; a tensor passed "
                "by keyword would be kept through the forward",
                ""});
  }
}

// Every operator call that is to be saved was there, and nothing wrote into its result: PyTorch raises "Tensor cached
// during selective activation checkpoint has been mutated".
Status CheckSaved(const TrainingSpec& spec, const Timeline& timeline) {
  for (const SavedCall& call : spec.saved) {
    if (const Status known = CheckOverload(call); !known) return known;
    bool found = false;
    for (const CheckpointRun& run : timeline.checkpoints) {
      if (!run.module.ends_with(call.module)) continue;
      for (const OperatorCall& made : run.calls) {
        if (made.op != call.op || made.occurrence != call.occurrence) continue;
        found = true;
        if (made.overwritten) {
          return Unusable("--saved", "what " + ToString(call) + " gives is overwritten later, by an operator in place",
                          "save another call");
        }
      }
    }
    if (!found) return Unusable("--saved", call.module + " makes no call " + ToString(call), "count from 0");
  }
  return Done{};
}

// Into `timeline`, by `recorder`: all but the models beside it.
Status LayOut(const Releases& releases, const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes,
              Recorder& recorder, Timeline* timeline) {
  if (const Status checked = CheckSpec(spec); !checked) return checked.error();
  Result<std::vector<CheckpointedCall>> calls = FindCheckpointedCalls(layers, spec.checkpoint, spec.saved);
  if (!calls.ok()) return calls.error();
  if (notes != nullptr) NoteCheckpoints(*calls, spec, notes);
  timeline->batch = batch;
  timeline->steps = spec.mode == Mode::kTrain ? spec.steps : kForwardsOfInference;
  recorder.Enter(0, Phase::kSetup);
  Eager e(recorder, spec, batch, notes);
  recorder.Follow(&e.origin);
  ModelRun model(e, recorder, layers, *std::move(calls), releases);
  KeepResident(spec.around, recorder);
  Result<Retained> retained = Retained::Of(layers, spec.around);
  if (!retained.ok()) return retained.error();
  if (!spec.around.retain.empty()) {
    model.Observe([&](size_t layer, const std::vector<eager::Tensor>& values) { retained->After(layer, values); });
  }
  const Status run = spec.mode == Mode::kTrain ? Train(e, model, recorder, spec.steps) : Infer(e, model, recorder);
  if (!run) return run.error();
  recorder.Stop();
  timeline->loss = model.loss();
  timeline->refused = model.Refused();
  if (const Status saved = CheckSaved(spec, *timeline); !saved) return saved.error();
  return CheckKnownSizes(layers, *timeline);
}

}  // namespace

Result<Timeline> Schedule(const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes) {
  return ScheduleAs(ReleasesAfter(layers), layers, spec, batch, notes);
}

Result<Timeline> ScheduleAs(const Releases& releases, const Layers& layers, const TrainingSpec& spec, int64_t batch,
                            Notes* notes) {
  Timeline timeline;
  // What most steps ask for, so that the lists are copied seldom while they grow.
  timeline.blocks.reserve(16 * layers.layers.size());
  timeline.events.reserve(32 * layers.layers.size());
  Recorder recorder(timeline);
  if (const Status laid_out = LayOut(releases, layers, spec, batch, notes, recorder, &timeline); !laid_out)
    return laid_out.error();
  if (const Status added = AddModels(layers, spec, batch, &timeline); !added) return added.error();
  return timeline;
}

Result<PeaksByPhase> PeaksAs(const Releases& releases, const Layers& layers, const TrainingSpec& spec, int64_t batch,
                             Notes* notes) {
  CHECK(!HasModelsBeside(spec));
  Timeline timeline;
  Recorder recorder(timeline, batch);
  if (const Status laid_out = LayOut(releases, layers, spec, batch, notes, recorder, &timeline); !laid_out)
    return laid_out.error();
  return recorder.peaks();
}

}  // namespace vramplan
