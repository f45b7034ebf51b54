// Autocast: torch.autocast.
//
//   linear under amp-fp16, x fp16 [8, 768], weight fp32 [3072, 768]
//     the weight is cast once, 4.5 MiB, kept in the cache until the region ends and saved by every operator that used
//     it backward: the gradient arrives in fp16 and is converted: fp16 and fp32 live together for that parameter
//
// aten/src/ATen/autocast_mode.cpp (cached_cast); PyTorch 2.10.
#pragma once

#include <map>
#include <vector>

#include "planner/semantics/table.h"

namespace vramplan::eager {

// What autocast makes lower; without it, the type of the model.
DType LowerType(const Eager& e);

// The type of what the code makes with that of another tensor (dtype=x.dtype), which autocast may have made lower, or
// fp32: attributes like_half (also another reading, graph/lift/readings/readings.h) and like_float.
DType TypeMade(const Call& c, DType otherwise);

class Autocast {
 public:
  explicit Autocast(Eager& e);
  // What the dispatcher does with an operator's tensors before it runs, in mixed precision. In a model of fp16 or bf16,
  // without autocast, convolutions and products must not mix types: where an operator's result is fp32 there (a cumsum
  // with dtype=torch.float32), the code says .to(weight.dtype) before them, which a file exported in fp32 does not
  // show.
  void Apply(Cast cast, std::vector<Tensor>& inputs);
  // The region ends: the cached weights are let go.
  void Leave() {
    place_.clear();
    cache_.clear();
  }

 private:
  Tensor CachedCast(const Tensor& t, DType type);
  void Agree(std::vector<Tensor>& inputs);
  Eager& e_;
  bool active_ = false;
  DType model_ = DType::kFloat32;  // of fp32 in the file
  DType lower_ = DType::kFloat16;
  std::map<const TensorImpl*, size_t> place_;  // in the cache, of fp32 leaves
  std::vector<Tensor> cache_;                  // in order of birth: a run is the same each time
};

}  // namespace vramplan::eager
