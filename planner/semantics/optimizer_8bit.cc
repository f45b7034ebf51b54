// bitsandbytes' 8-bit optimizers (bitsandbytes/optim/optimizer.py 0.50; run on the counters of PyTorch 2.10): a byte an
// element and state, an fp32 maximum per 256 of them; parameters below 4096 elements keep fp32 states.
//
//   a weight [768, 3072], Adam   2 x 2'359'296 B + 2 x 36'864 B, instead of 2 x 9'437'184 B
#include "planner/semantics/optimizer_rows.h"

namespace vramplan::eager {
namespace {

constexpr int64_t kSmallest = 4096;  // min_8bit_size
constexpr int64_t kBlock = 256;
constexpr int64_t kCodes = 256;

}  // namespace

void StepBlockwise8bit(Eager& e, const OptimizerRow& row, const std::vector<Tensor>& parameters,
                       OptimizerStates& states) {
  for (const Tensor& p : parameters) {
    if (states.Has(p)) continue;  // the kernel works in place
    const int64_t elements = p->numel();
    if (elements < kSmallest) {
      for (int i = 0; i < row.states; ++i) states.AddLike(e, p, DType::kFloat32);
      continue;
    }
    // name2qmap: the values of the codes, signed and unsigned, once for all parameters.
    const Category before = std::exchange(e.category, Category::kOptimizerState);
    while (states.shared.size() < static_cast<size_t>(row.states)) {
      states.shared.push_back(e.Empty(Shape{Dim(kCodes)}, DType::kFloat32));
    }
    e.category = before;
    for (int i = 0; i < row.states; ++i) states.AddLike(e, p, DType::kUint8);
    const Shape blocks{Dim((elements + kBlock - 1) / kBlock)};
    for (int i = 0; i < row.states; ++i) states.Add(e, p, blocks, DType::kFloat32);
  }
}

}  // namespace vramplan::eager
