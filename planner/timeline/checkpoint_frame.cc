#include "planner/timeline/checkpoint_frame.h"

#include <algorithm>
#include <utility>

namespace vramplan {

void CheckpointHooks::BeginLayer(size_t layer) {
  layer_ = layer;
  entries_ = -1;
}

void CheckpointHooks::BeginOperator() {
  entries_ = 0;
  youngest_ = e_.newest();
}

void CheckpointHooks::Recorded() {
  if (entries_ < 0) return;  // a cast of autocast, which saves nothing
  ++entries_;
  youngest_before_ = std::exchange(youngest_, e_.newest());
}

CheckpointHooks::Place CheckpointHooks::PlaceOf(const eager::Tensor& saved) const {
  return {layer_, entries_ < 0 ? -1 : entries_ - 1,
          entries_ > 0 && (e_.saves_at_end || saved->storage->block > youngest_before_)};
}

// What stands on the tape: one saved tensor of the frame.
class CheckpointFrame::Holder : public eager::PackedTensor {
 public:
  Holder(Ref<CheckpointFrame> frame, size_t index) : frame_(std::move(frame)), index_(index) {}
  ~Holder() override { frame_->LetGo(index_); }
  eager::Tensor Unpack() override { return frame_->Unpack(index_); }

 private:
  Ref<CheckpointFrame> frame_;
  size_t index_;
};

void CheckpointFrame::KeepArguments(const std::vector<eager::Tensor>& values, CheckpointHooks* around) {
  arguments_.resize(call_.arguments.size());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    Argument& argument = arguments_[i];
    const eager::Tensor& value = values[static_cast<size_t>(call_.arguments[i].value)];
    if (argument.known || !value) continue;  // made later, by an operator that the file lists in between
    argument = {true, value, Ref<eager::PackedTensor>(), value->grad_fn, value->output_number};
    if (around != nullptr) argument.packed = around->Pack(&argument.tensor);
    if (argument.packed) argument.tensor = eager::Tensor();
  }
}

std::vector<eager::Tensor> CheckpointFrame::Arguments() {
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

void CheckpointFrame::BeginLayer(size_t layer) {
  CheckpointHooks::BeginLayer(layer);
  e_.noted = nullptr;
  running_ = nullptr;
  just_ran_ = false;
}

void CheckpointFrame::BeginCall(const char* op) {
  const SaveableOperator* row = CallCounter::Begins(op);
  if (row == nullptr) return;  // another operator, or a part of the one that runs
  running_ = row;
  just_ran_ = false;
  noted_.clear();
  e_.noted = &noted_;
}

void CheckpointFrame::EndCall(const char* node, const std::vector<eager::Tensor>& results) {
  just_ran_ = false;
  const int occurrence = counter_.Ended(node);
  if (running_ == nullptr || running_->node != node) return;
  e_.noted = nullptr;
  const SavedCall call{"", std::string(running_->overload), occurrence};
  running_ = nullptr;
  just_ran_ = true;
  std::vector<OperatorCall>& calls = owner_.RunOf(run_).calls;
  calls.push_back({static_cast<int32_t>(layer_), call.op, occurrence, {}, false});
  keeps_ = std::ranges::any_of(call_.saved,
                               [&](const SavedCall& s) { return s.op == call.op && s.occurrence == occurrence; });
  if (keeps_) kept_.push_back({call, std::vector<eager::Storage>(noted_.size())});
  for (const eager::Tensor& result : results) Result(result);
}

void CheckpointFrame::Result(const eager::Tensor& tensor) {
  if (!tensor || !tensor->storage->block.valid()) return;
  const auto noted = std::find(noted_.begin(), noted_.end(), tensor->storage->block);
  if (noted == noted_.end()) return;
  std::vector<BlockId>& results = owner_.RunOf(run_).calls.back().results;
  if (std::find(results.begin(), results.end(), *noted) == results.end()) results.push_back(*noted);
  if (keeps_) kept_.back().by_request[static_cast<size_t>(noted - noted_.begin())] = tensor->storage;
}

KeptCall* CheckpointFrame::Kept(std::string_view overload, int occurrence) {
  for (KeptCall& kept : kept_) {
    if (kept.call.op == overload && kept.call.occurrence == occurrence) return &kept;
  }
  return nullptr;
}

Ref<eager::PackedTensor> CheckpointFrame::Pack(eager::Tensor* tensor) {
  if (just_ran_) Result(*tensor);
  const Place place = PlaceOf(*tensor);
  const bool same = saves() > 0 && place.layer == last_.layer && place.entry == last_.entry;
  const bool result = place.result || (same && last_.result);
  last_ = place;
  last_.result = result;
  waited_for_.push_back(true);
  return Ref<eager::PackedTensor>(new Holder(Ref<CheckpointFrame>(this), saves() - 1));
}

void CheckpointFrame::Recomputed(size_t index, eager::Tensor tensor) {
  if (waited_for_[index]) recomputed_[index] = std::move(tensor);
}

eager::Tensor CheckpointFrame::Unpack(size_t index) {
  if (recomputed_.empty()) {
    recomputed_.resize(saves());
    owner_.Recompute(*this);
  }
  return std::move(recomputed_[index]);
}

void CheckpointFrame::LetGo(size_t index) {
  waited_for_[index] = false;
  if (index < recomputed_.size()) recomputed_[index] = eager::Tensor();
}

}  // namespace vramplan
