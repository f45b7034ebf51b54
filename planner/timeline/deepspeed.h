// DeepSpeed's ZeRO stages 1 and 2: what the first of several processes holds when they share gradients and states.
//
//   made      the trained weights move into one flat block; a part of it, its N-th, is copied to fp32 (the master)
//   backward  a bucket of reduce_bucket_size elements, made for the first gradient. Stage 2: each gradient moves into it as
//             it is ready; a full one is summed over the ranks, and what lies in this rank's part moves on to a block that
//             has room for all tensors of the part. Stage 1: the same, when the backward is over.
//   step      the part's gradients are made flat, then fp32; the optimizer has one parameter, the master.
//
// Sources: DeepSpeed 0.19.8, runtime/zero/stage_1_and_2.py, runtime/engine.py and runtime/fp16/loss_scaler.py, at the
// defaults of runtime/zero/config.py: reduce_bucket_size 5e8, contiguous_gradients, no overlap_comm, no offload. What NCCL
// holds itself is not counted.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan {

// Elements of its bucket of gradients: the default of reduce_bucket_size.
inline constexpr int64_t kReduceBucket = 500'000'000;

inline Shape Flat(int64_t elements) { return Shape{Dim(elements)}; }

// deepspeed.initialize's engine: what the stages have in common.
class DeepspeedEngine {
 public:
  explicit DeepspeedEngine(eager::Eager& e) : e_(e) {}
  DeepspeedEngine(const DeepspeedEngine&) = delete;
  DeepspeedEngine& operator=(const DeepspeedEngine&) = delete;
  virtual ~DeepspeedEngine() { e_.accumulated = nullptr; }

  // What the optimizer has.
  const std::vector<eager::Tensor>& masters() const { return masters_; }
  // engine.backward(loss): what is differentiated.
  eager::Tensor Scale(const eager::Tensor& loss);
  virtual void EndBackward(bool last_micro_batch) = 0;
  // engine.step(), around the optimizer's. True: another one follows, of other masters.
  virtual void BeforeStep() = 0;
  virtual bool AfterStep() = 0;

 protected:
  void DropScaled();
  eager::Eager& e_;
  std::vector<eager::Tensor> masters_;

 private:
  std::vector<eager::Tensor> scaled_;
};

// Stages 1 and 2.
class DeepspeedZero : public DeepspeedEngine {
 public:
  // `trained`: model.parameters() that are, which move into the flat block. The engine's hooks are in `e` from now on.
  DeepspeedZero(eager::Eager& e, std::vector<eager::Tensor> trained);
  void EndBackward(bool last_micro_batch) override;
  void BeforeStep() override;
  bool AfterStep() override;

 private:
  bool IsMine(size_t parameter) const { return begins_[parameter] < part_; }
  void Accumulated(eager::TensorImpl& parameter);
  void MakeBucket();
  void IntoBucket(size_t parameter);
  void Reduce();

  const bool partitions_gradients_;  // stage 2
  std::vector<eager::Tensor> trained_;
  std::vector<int64_t> begins_;  // of each, in the flat block
  DType type_ = DType::kBFloat16;
  int64_t part_ = 0;  // elements
  eager::Storage flat_;
  eager::Tensor master_;
  eager::Tensor bucket_;
  std::vector<size_t> in_bucket_;
  int64_t filled_ = 0;
  eager::Tensor mine_, averaged_;  // gradients of this rank's part: of this micro-batch, and of all
  eager::Tensor norm_, last_norm_, norm_of_engine_;
};

}  // namespace vramplan
