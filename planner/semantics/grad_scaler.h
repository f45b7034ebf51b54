// GradScaler: torch.amp.GradScaler around a step (torch/amp/grad_scaler.py, PyTorch 2.10).
//
//   scale(loss).backward()   the scale and its growth counter, 4 B each, for ever; the scaled loss
//   unscale_(optimizer)      1/scale in fp64, then fp32; a flag; a copy of both for the card: the flag's copy stays
//   step(optimizer)          a fused optimizer takes the flag and, when it unscales itself, the scale as tensors
//   update()                 the flag is let go
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// Active under amp-fp16 training only, where a plain script uses one.
class GradScaler {
 public:
  explicit GradScaler(Eager& e);
  Tensor Scale(const Tensor& loss);  // the loss itself when inactive
  void Unscale();                    // unscale_: a script calls it before it clips
  void BeforeStep();                 // the beginning of step(): unscales what was not, hands over to a fused optimizer
  void AfterStep();                  // its end
  void Update();

 private:
  // _amp_foreach_non_finite_check_and_unscale_: reads copies of a new flag and of the scale (_MultiDeviceReplicator);
  // the flag's copy is kept until Update.
  void Check(Tensor inverse);

  Eager& e_;
  bool active_ = false;
  Tensor scale_, growth_tracker_;
  Tensor found_inf_;                        // of this step, once unscaled or checked
  Tensor handed_found_inf_, handed_scale_;  // optimizer.found_inf, optimizer.grad_scale
};

}  // namespace vramplan::eager
