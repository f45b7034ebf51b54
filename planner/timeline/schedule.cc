// Schedule: the training loop of a plain script, three times:
//
//   out = model(x); loss = criterion(out, y); loss.backward(); optimizer.step(); optimizer.zero_grad()
//
// or the forward of inference, twice under no_grad, `out` bound from the first while the second runs.
#include "planner/semantics/optimizer.h"
#include "planner/timeline/backward.h"
#include "planner/timeline/recorder.h"
#include "planner/timeline/run.h"
#include "planner/timeline/timeline.h"

namespace vramplan {
namespace {

using eager::Eager;
using eager::OptimizerState;

constexpr int kForwardsOfInference = 2;

Status CheckSpec(const TrainingSpec& spec) {
  if (spec.mode == Mode::kTrain && spec.optimizer_impl == OptimizerImpl::kFused && spec.optimizer != Optimizer::kNone &&
      !eager::HasFused(spec.optimizer)) {
    return Error{ErrorCode::kUsage, "--optimizer-impl", "torch.optim has no fused " + std::string(Name(spec.optimizer)),
                 "use foreach or for-loop"};
  }
  return Done{};
}

Status Train(Eager& e, ModelRun& model, Recorder& recorder, int steps) {
  OptimizerState optimizer(e, model.parameters());
  model.MakeInputs();
  if (const Status target = model.MakeTarget(); !target) return target;
  eager::GradScaler scaler(e);
  for (int step = 1; step <= steps; ++step) {
    recorder.Enter(step, Phase::kForward);
    model.Forward();
    recorder.Mark(EventKind::kBeforeLoss);
    const eager::Tensor loss = model.ComputeLoss();
    model.LeaveAutocast();
    recorder.Mark(EventKind::kAfterForward);
    recorder.Enter(step, Phase::kBackward);
    if (loss->grad_fn) Backward(e, scaler.Scale(loss));
    recorder.Mark(EventKind::kAfterBackward);
    recorder.Enter(step, Phase::kUpdate);
    e.origin = Origin();
    e.origin.op = "optimizer.step";
    scaler.BeforeStep();
    optimizer.Step(e);
    scaler.Update();
    recorder.Mark(EventKind::kBeforeZeroGrad);
    optimizer.ZeroGrad();
    recorder.Mark(EventKind::kStepEnd);
  }
  recorder.Stop();
  return Done{};
}

Status Infer(Eager& e, ModelRun& model, Recorder& recorder) {
  e.grad_mode = false;
  model.MakeInputs();
  if (const Status target = model.MakeTarget(); !target) return target;
  for (int step = 1; step <= kForwardsOfInference; ++step) {
    recorder.Enter(step, Phase::kForward);
    model.Forward();
    recorder.Mark(EventKind::kAfterForward);
    recorder.Mark(EventKind::kStepEnd);
  }
  recorder.Stop();
  return Done{};
}

}  // namespace

Result<Timeline> Schedule(const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes) {
  if (const Status checked = CheckSpec(spec); !checked) return checked.error();
  Result<std::vector<CheckpointedCall>> calls = FindCheckpointedCalls(layers, spec.checkpoint);
  if (!calls.ok()) return calls.error();
  if (!calls->empty() && spec.mode != Mode::kTrain && notes != nullptr) {
    notes->Add({"checkpoint-without-gradient", Severity::kNote, "--checkpoint",
                "without gradients nothing is saved, so nothing is run again", ""});
  }
  Timeline timeline;
  timeline.batch = batch;
  timeline.steps = spec.mode == Mode::kTrain ? spec.steps : kForwardsOfInference;
  Recorder recorder(timeline);
  recorder.Enter(0, Phase::kSetup);
  Eager e(recorder, spec, batch, notes);
  recorder.Follow(&e.origin);
  ModelRun model(e, recorder, layers, *std::move(calls));
  const Status run = spec.mode == Mode::kTrain ? Train(e, model, recorder, spec.steps) : Infer(e, model, recorder);
  if (!run) return run.error();
  recorder.Stop();
  return timeline;
}

}  // namespace vramplan
