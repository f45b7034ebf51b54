#include "planner/timeline/deepspeed.h"

#include <algorithm>
#include <utility>

#include "planner/semantics/grad_norm.h"
#include "planner/semantics/pointwise.h"

namespace vramplan {
namespace {

using eager::Eager;
using eager::Storage;

constexpr int64_t kAlignment = 2;  // nccl_start_alignment_factor

}  // namespace

DeepspeedZero::DeepspeedZero(Eager& e, std::vector<eager::Tensor> trained)
    : DeepspeedEngine(e), partitions_gradients_(e.spec().strategy == Strategy::kZero2), trained_(std::move(trained)) {
  if (trained_.empty()) return;
  type_ = trained_.front()->dtype;
  const int64_t ranks = e.spec().ranks;
  int64_t elements = 0;
  for (const eager::Tensor& parameter : trained_) {
    begins_.push_back(elements);
    elements += parameter->numel();
  }
  const int64_t alignment = kAlignment * ranks;
  elements = (elements + alignment - 1) / alignment * alignment;
  part_ = elements / ranks;
  // empty_cache() is in front of it: what plays a timeline does that at the first block that is no weight.
  e.category = Category::kTemporaries;
  e.origin.op = "deepspeed.flatten";
  flat_ = e.Empty(Flat(elements), type_)->storage;
  flat_->memory->Retag(flat_->block, Category::kParameters);
  e.category = Category::kParameters;
  for (const eager::Tensor& parameter : trained_) parameter->storage = flat_;
  master_ = e.Empty(Flat(part_), type_);  // detach().clone().to(fp32)
  if (type_ != DType::kFloat32) master_ = e.Empty(Flat(part_), DType::kFloat32);
  master_->requires_grad = true;
  masters_.push_back(master_);
  e.category = Category::kTemporaries;
  e.origin.op = "deepspeed.initialize_optimizer_states";
  const eager::Tensor zeros = e.Empty(Flat(part_), DType::kFloat32);
  e.accumulated = [this](eager::TensorImpl& parameter) { Accumulated(parameter); };
}

eager::Tensor DeepspeedEngine::Scale(const eager::Tensor& loss) {
  e_.origin.op = "deepspeed.backward";
  scaled_.push_back(Div(e_, loss, eager::Tensor()));            // by the number of micro-batches
  scaled_.push_back(Div(e_, scaled_.back(), eager::Tensor()));  // times the scale of the loss, 1
  return scaled_.back();
}

void DeepspeedEngine::DropScaled() {
  while (!scaled_.empty()) scaled_.pop_back();
}

// setup_buckets
void DeepspeedZero::MakeBucket() {
  if (bucket_) return;
  e_.origin.op = "deepspeed.setup_buckets";
  bucket_ = e_.Empty(Flat(kReduceBucket), type_);
}

// grad_handling_hook, behind AccumulateGrad
void DeepspeedZero::Accumulated(eager::TensorImpl& parameter) {
  MakeBucket();
  if (!partitions_gradients_) return;
  const auto found = std::ranges::find_if(trained_, [&](const eager::Tensor& t) { return t.get() == &parameter; });
  if (found != trained_.end()) IntoBucket(static_cast<size_t>(found - trained_.begin()));
}

// reduce_independent_p_g_buckets_and_remove_grads. A gradient that no bucket holds is reduced where it lies.
void DeepspeedZero::IntoBucket(size_t parameter) {
  const int64_t elements = trained_[parameter]->numel();
  if (filled_ + elements > kReduceBucket) Reduce();
  if (elements <= kReduceBucket) trained_[parameter]->grad->storage = bucket_->storage;
  filled_ += elements;
  in_bucket_.push_back(parameter);
}

// average_tensor, allreduce_and_scatter and copy_grads_in_partition
void DeepspeedZero::Reduce() {
  e_.origin.op = "deepspeed.allreduce_bucket";
  int64_t slices = 0, elements = 0, last_rank = -1;
  const auto reduce = [&] {
    if (slices > 1) const Storage flat = e_.Empty(Flat(elements), type_)->storage;
    slices = elements = 0;
  };
  // Slices of one rank that follow each other are one.
  std::vector<int64_t> lengths;
  for (const size_t parameter : in_bucket_) {
    const int64_t begin = begins_[parameter], end = begin + trained_[parameter]->numel();
    for (int64_t at = begin; at < end;) {
      const int64_t rank = at / part_, next = std::min(end, (rank + 1) * part_);
      if (rank == last_rank) {
        lengths.back() += next - at;
      } else {
        lengths.push_back(next - at);
      }
      last_rank = rank;
      at = next;
    }
  }
  for (const int64_t length : lengths) {
    ++slices;
    elements += length;
    if (elements > kReduceBucket) reduce();
  }
  reduce();
  for (const size_t parameter : in_bucket_) {
    eager::Tensor& gradient = trained_[parameter]->grad;
    if (!IsMine(parameter)) {
      if (partitions_gradients_) gradient = eager::Tensor();
      continue;
    }
    if (!mine_) {
      e_.origin.op = "deepspeed.copy_grads_in_partition";
      int64_t all = 0;
      for (size_t i = 0; i < trained_.size() && IsMine(i); ++i) all += trained_[i]->numel();
      mine_ = e_.Empty(Flat(all), type_);
      mine_->storage->memory->Retag(mine_->storage->block, Category::kGradients);
    }
    gradient->storage = mine_->storage;
  }
  in_bucket_.clear();
  filled_ = 0;
}

// reduce_gradients of stage 1, and independent_gradient_partition_epilogue
void DeepspeedZero::EndBackward(bool last_micro_batch) {
  const Category before = std::exchange(e_.category, Category::kTemporaries);
  if (partitions_gradients_ || last_micro_batch) {
    if (!partitions_gradients_) {
      for (size_t i = 0; i < trained_.size(); ++i)
        if (trained_[i]->grad) IntoBucket(i);
    }
    Reduce();
    if (!averaged_) averaged_ = mine_;  // later ones are added to it
    mine_ = eager::Tensor();
    bucket_ = eager::Tensor();
    for (const eager::Tensor& parameter : trained_) parameter->grad = eager::Tensor();
  }
  DropScaled();
  e_.category = before;
}

void DeepspeedZero::BeforeStep() {
  if (!averaged_) return;
  const Category before = std::exchange(e_.category, Category::kTemporaries);
  e_.origin.op = "deepspeed.get_grad_norm_direct";
  std::vector<eager::Tensor> norms;
  for (size_t i = 0; i < trained_.size() && IsMine(i); ++i) {
    const int64_t elements = std::min(trained_[i]->numel(), part_ - begins_[i]);
    norms.push_back(VectorNorm(e_, e_.Empty(Flat(elements), DType::kFloat64)));
  }
  norm_ = e_.Empty(Shape(), DType::kFloat32);
  const bool one = norms.size() == 1;  // flatten gives a view of it
  norms.clear();
  last_norm_ = e_.EmptyLike(norm_);
  e_.origin.op = "deepspeed.step";
  e_.category = Category::kGradients;
  eager::Tensor flat = one ? averaged_ : e_.Empty(Flat(part_), type_);
  master_->grad = type_ == DType::kFloat32 ? flat : e_.Empty(Flat(part_), DType::kFloat32);
  flat = averaged_ = eager::Tensor();
  e_.category = before;
}

bool DeepspeedZero::AfterStep() {
  if (master_) master_->grad = eager::Tensor();
  norm_ = eager::Tensor();
  norm_of_engine_ = last_norm_;  // engine.get_global_grad_norm()
  return false;
}

}  // namespace vramplan
