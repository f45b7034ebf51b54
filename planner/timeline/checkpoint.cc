#include "planner/timeline/checkpoint.h"

#include <algorithm>
#include <utility>

#include "graph/base/check.h"

namespace vramplan {

using eager::Eager;
using eager::PackedTensor;

namespace {

// A handle that was asked for by an operator that did not run is not there.
void ForgetHandles(Eager& e) {
  std::erase_if(e.handles, [](const auto& handle) { return !handle.second->block.valid(); });
}

// _recomputation_hook: what is saved goes to the frame and onto the new tape; the last one ends the run.
class Recomputation : public CheckpointHooks {
 public:
  Recomputation(Eager& e, CheckpointFrame& frame) : CheckpointHooks(e), frame_(frame) {}

  bool stopped() const { return count_ == frame_.saves(); }
  void BeginOperator() override {
    CheckpointHooks::BeginOperator();
    StopBefore();
  }
  void Recorded() override {
    CheckpointHooks::Recorded();
    StopBefore();
  }
  void BeginCall(const char* op) override {
    const SaveableOperator* row = e_.given_up || stopped() ? nullptr : CallCounter::Begins(op);
    if (row == nullptr) return;
    KeptCall* kept = frame_.Kept(row->overload, counter_.Next(row->overload));
    if (kept == nullptr) return;
    running_ = row;
    given_ = std::move(kept->by_request);
    e_.given = &given_;
    e_.next_given = 0;
  }
  void EndCall(const char* node, const std::vector<eager::Tensor>&) override {
    counter_.Ended(node);
    if (running_ == nullptr || running_->node != node) return;
    running_ = nullptr;
    e_.given = nullptr;
    given_.clear();
    ForgetHandles(e_);
  }
  Ref<PackedTensor> Pack(eager::Tensor* tensor) override {
    if (stopped()) return nullptr;
    if ((*tensor)->tracked()) *tensor = e_.Alias(*tensor);  // x.detach() if x.requires_grad
    frame_.Recomputed(count_++, *tensor);
    if (stopped()) {
      e_.given_up = true;
      e_.grad_mode = false;
    }
    return nullptr;
  }

 private:
  // When the last tensors that were saved are inputs, their operator does not run again.
  void StopBefore() {
    const Place& last = frame_.last();
    if (!last.result && layer_ == last.layer && entries_ == last.entry) e_.given_up = true;
  }

  CheckpointFrame& frame_;
  size_t count_ = 0;
  CallCounter counter_;
  const SaveableOperator* running_ = nullptr;  // whose results are given
  std::vector<eager::Storage> given_;
};

}  // namespace

Checkpoints::Checkpoints(Eager& e, Recorder& recorder, LayerRunner& runner, size_t layers,
                         std::vector<CheckpointedCall> calls)
    : e_(e), recorder_(recorder), runner_(runner), calls_(std::move(calls)), innermost_(layers, -1) {
  pass_.open.resize(calls_.size());
  const auto depth = [this](int call) {
    int calls_around = -1;
    for (; call >= 0; call = CallOf(call).around) ++calls_around;
    return calls_around;
  };
  for (size_t c = 0; c < calls_.size(); ++c) {
    for (const size_t l : calls_[c].layers) {
      if (depth(static_cast<int>(c)) > depth(innermost_[l])) innermost_[l] = static_cast<int>(c);
    }
  }
}

void Checkpoints::Use(CheckpointHooks* hooks) { e_.hooks = hooks_ = hooks; }

void Checkpoints::Open(size_t layer, const std::vector<eager::Tensor>& values) {
  std::vector<int> chain;
  for (int call = innermost_[layer]; call != pass_.call; call = CallOf(call).around) chain.push_back(call);
  Use(pass_.hooks);
  if (hooks_ != nullptr) hooks_->BeginLayer(layer);
  for (auto call = chain.rbegin(); call != chain.rend(); ++call) {
    Ref<CheckpointFrame>& frame = pass_.open[static_cast<size_t>(*call)];
    if (!frame) frame = NewFrame(*call);
    frame->KeepArguments(values, hooks_);
    Use(frame.get());
    hooks_->BeginLayer(layer);
  }
}

void Checkpoints::BeginOperator() {
  if (hooks_ != nullptr) hooks_->BeginOperator();
}

void Checkpoints::Close(size_t layer) {
  e_.noted = nullptr;
  for (int call = innermost_[layer]; call != pass_.call; call = CallOf(call).around) {
    if (CallOf(call).layers.back() != layer) continue;
    Ref<CheckpointFrame>& frame = pass_.open[static_cast<size_t>(call)];
    if (pass_.call < 0) RunOf(frame->run()).closed = recorder_.events();
    frame = Ref<CheckpointFrame>();
  }
  Use(pass_.hooks);
}

CheckpointRun& Checkpoints::RunOf(size_t run) { return recorder_.checkpoints()[run]; }

Ref<CheckpointFrame> Checkpoints::NewFrame(int call) {
  std::vector<CheckpointRun>& runs = recorder_.checkpoints();
  runs.push_back({runner_.PathOf(CallOf(call).module), 0, 0, {}});
  return MakeRef<CheckpointFrame>(static_cast<FrameOwner&>(*this), e_, CallOf(call), runs.size() - 1);
}

void Checkpoints::BeginForward() {
  recorder_.checkpoints().clear();
  e_.overwritten.clear();
}

void Checkpoints::EndForward() {
  for (CheckpointRun& run : recorder_.checkpoints()) {
    for (OperatorCall& call : run.calls) {
      call.overwritten = std::any_of(call.results.begin(), call.results.end(), [&](BlockId block) {
        return std::find(e_.overwritten.begin(), e_.overwritten.end(), block) != e_.overwritten.end();
      });
    }
  }
}

void Checkpoints::Recompute(CheckpointFrame& frame) {
  if (CheckpointRun& run = RunOf(frame.run()); run.again == 0) run.again = recorder_.events();
  const std::vector<eager::Tensor> arguments = frame.Arguments();
  const Origin origin = e_.origin;
  const Category category = std::exchange(e_.category, Category::kActivations);
  const bool grad_mode = std::exchange(e_.grad_mode, true);
  const Phase phase = recorder_.Enter(Phase::kRecompute);
  std::vector<eager::Tensor> values = runner_.resident();
  for (size_t i = 0; i < arguments.size(); ++i) {
    values[static_cast<size_t>(frame.call().arguments[i].value)] = arguments[i];
  }
  RunAgain(frame, std::move(values));
  recorder_.Enter(phase);
  e_.grad_mode = grad_mode;
  e_.category = category;
  e_.origin = origin;
}

void Checkpoints::RunAgain(CheckpointFrame& frame, std::vector<eager::Tensor> values) {
  Recomputation recomputation(e_, frame);
  Pass around = std::exchange(pass_, Pass{static_cast<int>(&frame.call() - calls_.data()), &recomputation, {}});
  pass_.open.resize(calls_.size());
  for (const size_t layer : frame.call().layers) {
    Open(layer, values);
    if (recomputation.stopped()) break;
    runner_.Run(layer, values);
    if (recomputation.stopped()) break;
    Close(layer);
  }
  CHECK(recomputation.stopped());  // as many tensors as in the forward (check_recomputed_tensors_match)
  if (e_.given_up) ForgetHandles(e_);
  e_.given_up = false;
  runner_.LeaveAutocast();
  Use(nullptr);
  pass_ = std::move(around);
}

}  // namespace vramplan
