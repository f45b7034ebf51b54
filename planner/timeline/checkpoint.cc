#include "planner/timeline/checkpoint.h"

#include <algorithm>
#include <utility>

namespace vramplan {

using eager::Eager;
using eager::GradNode;
using eager::PackedTensor;

// Hooks that know how far a call has run: autograd saves an operator's inputs before it runs and its results after
// (torch/csrc/autograd, generated VariableType), the rules do both at its end.
class CheckpointHooks : public eager::SavedTensorHooks {
 public:
  struct Place {
    size_t layer = 0;
    int entry = -1;       // of the layer's operator; -1: before it, where an inner call's arguments are saved
    bool result = false;  // one of the tensors was made by the operator itself
  };

  explicit CheckpointHooks(Eager& e) : e_(e) {}
  virtual void BeginLayer(size_t layer) {
    layer_ = layer;
    entries_ = -1;
  }
  virtual void BeginOperator() {
    entries_ = 0;
    youngest_ = e_.newest();
  }
  void Recorded() override {
    if (entries_ < 0) return;  // a cast of autocast, which saves nothing
    ++entries_;
    youngest_before_ = std::exchange(youngest_, e_.newest());
  }

 protected:
  Place PlaceOf(const eager::Tensor& saved) const {
    return {layer_, entries_ < 0 ? -1 : entries_ - 1, entries_ > 0 && saved->storage->block > youngest_before_};
  }
  Eager& e_;
  size_t layer_ = 0;
  int entries_ = -1;  // of the operator so far
  BlockId youngest_, youngest_before_;
};

// One call (_CheckpointFrame): its arguments, who waits for its tensors, and the tensors once they are there again.
// Lives as long as a holder does.
class CheckpointFrame : public RefCounted<CheckpointFrame>, public CheckpointHooks {
 public:
  CheckpointFrame(Checkpoints& owner, Eager& e, int call) : CheckpointHooks(e), owner_(owner), call_(call) {}

  int call() const { return call_; }
  const Place& last() const { return last_; }
  size_t saves() const { return holders_.size(); }

  // _NoopSaveInputs: saved like any input of an operator, by the call around this one when there is one.
  void KeepArguments(const CheckpointedCall& call, const std::vector<eager::Tensor>& values, CheckpointHooks* around) {
    arguments_.resize(call.arguments.size());
    for (size_t i = 0; i < arguments_.size(); ++i) {
      Argument& argument = arguments_[i];
      const eager::Tensor& value = values[static_cast<size_t>(call.arguments[i].value)];
      if (argument.known || !value) continue;  // made later, by an operator that the file lists in between
      argument = {true, value, Ref<PackedTensor>(), value->grad_fn, value->output_number};
      if (around != nullptr) argument.packed = around->Pack(&argument.tensor);
      if (argument.packed) argument.tensor = eager::Tensor();
    }
  }

  // The arguments on the tape again; may run the call around this one.
  std::vector<eager::Tensor> Arguments() {
    std::vector<eager::Tensor> tensors;
    for (Argument& argument : arguments_) {
      eager::Tensor tensor = argument.packed ? argument.packed->Unpack() : argument.tensor;
      if (argument.packed && tensor) {
        tensor = e_.Alias(tensor);
        tensor->grad_fn = argument.grad_fn;
        tensor->output_number = argument.output_number;
      }
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

  Ref<PackedTensor> Pack(eager::Tensor* tensor) override {
    const Place place = PlaceOf(*tensor);
    const bool same = saves() > 0 && place.layer == last_.layer && place.entry == last_.entry;
    const bool result = place.result || (same && last_.result);
    last_ = place;
    last_.result = result;
    Ref<PackedTensor> holder(new Holder(Ref<CheckpointFrame>(this), saves()));
    holders_.push_back(holder.get());
    return holder;
  }

  // From the recomputation, in the order of the forward. Nobody may be waiting any more.
  void Recomputed(size_t index, eager::Tensor tensor) {
    if (holders_[index] != nullptr) recomputed_[index] = std::move(tensor);
  }

 private:
  struct Argument {
    bool known = false;
    eager::Tensor tensor;
    Ref<PackedTensor> packed;
    Ref<GradNode> grad_fn;
    int output_number = 0;
  };

  class Holder : public PackedTensor {
   public:
    Holder(Ref<CheckpointFrame> frame, size_t index) : frame_(std::move(frame)), index_(index) {}
    ~Holder() override {
      frame_->holders_[index_] = nullptr;
      if (index_ < frame_->recomputed_.size()) frame_->recomputed_[index_] = eager::Tensor();
    }
    eager::Tensor Unpack() override { return frame_->Unpack(index_); }

   private:
    Ref<CheckpointFrame> frame_;
    size_t index_;
  };

  eager::Tensor Unpack(size_t index) {
    if (recomputed_.empty()) {
      recomputed_.resize(saves());
      owner_.Recompute(*this);
    }
    return std::move(recomputed_[index]);
  }

  Checkpoints& owner_;
  int call_;
  std::vector<Argument> arguments_;
  std::vector<PackedTensor*> holders_;  // by number of the save; null: let go
  std::vector<eager::Tensor> recomputed_;
  Place last_;  // of the last save
};

namespace {

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

Checkpoints::~Checkpoints() = default;

void Checkpoints::Use(CheckpointHooks* hooks) { e_.hooks = hooks_ = hooks; }

void Checkpoints::Open(size_t layer, const std::vector<eager::Tensor>& values) {
  std::vector<int> chain;
  for (int call = innermost_[layer]; call != pass_.call; call = CallOf(call).around) chain.push_back(call);
  Use(pass_.hooks);
  if (hooks_ != nullptr) hooks_->BeginLayer(layer);
  for (auto call = chain.rbegin(); call != chain.rend(); ++call) {
    Ref<CheckpointFrame>& frame = pass_.open[static_cast<size_t>(*call)];
    if (!frame) frame = MakeRef<CheckpointFrame>(*this, e_, *call);
    frame->KeepArguments(CallOf(*call), values, hooks_);
    Use(frame.get());
    hooks_->BeginLayer(layer);
  }
}

void Checkpoints::BeginOperator() {
  if (hooks_ != nullptr) hooks_->BeginOperator();
}

void Checkpoints::Close(size_t layer) {
  for (int call = innermost_[layer]; call != pass_.call; call = CallOf(call).around) {
    if (CallOf(call).layers.back() == layer) pass_.open[static_cast<size_t>(call)] = Ref<CheckpointFrame>();
  }
  Use(pass_.hooks);
}

void Checkpoints::Recompute(CheckpointFrame& frame) {
  const std::vector<eager::Tensor> arguments = frame.Arguments();
  const Origin origin = e_.origin;
  const Category category = std::exchange(e_.category, Category::kActivations);
  const bool grad_mode = std::exchange(e_.grad_mode, true);
  const Phase phase = recorder_.Enter(Phase::kRecompute);
  std::vector<eager::Tensor> values = runner_.resident();
  for (size_t i = 0; i < arguments.size(); ++i) {
    values[static_cast<size_t>(CallOf(frame.call()).arguments[i].value)] = arguments[i];
  }
  RunAgain(frame, std::move(values));
  recorder_.Enter(phase);
  e_.grad_mode = grad_mode;
  e_.category = category;
  e_.origin = origin;
}

void Checkpoints::RunAgain(CheckpointFrame& frame, std::vector<eager::Tensor> values) {
  Recomputation recomputation(e_, frame);
  Pass around = std::exchange(pass_, Pass{frame.call(), &recomputation, {}});
  pass_.open.resize(calls_.size());
  for (const size_t layer : CallOf(frame.call()).layers) {
    Open(layer, values);
    if (recomputation.stopped()) break;
    runner_.Run(layer, values);
    if (recomputation.stopped()) break;
    Close(layer);
  }
  // A handle that was asked for by the operator that did not run is not there.
  if (e_.given_up) std::erase_if(e_.handles, [](const auto& handle) { return !handle.second->block.valid(); });
  e_.given_up = false;
  runner_.LeaveAutocast();
  Use(nullptr);
  pass_ = std::move(around);
}

}  // namespace vramplan
