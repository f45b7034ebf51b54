#include "planner/timeline/checkpoint_frame.h"

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
  return {layer_, entries_ < 0 ? -1 : entries_ - 1, entries_ > 0 && saved->storage->block > youngest_before_};
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

void CheckpointFrame::KeepArguments(const CheckpointedCall& call, const std::vector<eager::Tensor>& values,
                                    CheckpointHooks* around) {
  arguments_.resize(call.arguments.size());
  for (size_t i = 0; i < arguments_.size(); ++i) {
    Argument& argument = arguments_[i];
    const eager::Tensor& value = values[static_cast<size_t>(call.arguments[i].value)];
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

Ref<eager::PackedTensor> CheckpointFrame::Pack(eager::Tensor* tensor) {
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
