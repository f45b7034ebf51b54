#include "planner/semantics/grad_scaler.h"

#include "planner/semantics/pointwise.h"

namespace vramplan::eager {

GradScaler::GradScaler(Eager& e)
    : e_(e), active_(e.spec().precision == Precision::kAmpFp16 && e.spec().mode == Mode::kTrain) {}

Tensor GradScaler::Scale(const Tensor& loss) {
  if (!active_) return loss;
  e_.origin.op = "GradScaler.scale";
  if (!scale_) {  // _lazy_init_scale_growth_tracker
    const Category before = e_.category;
    e_.category = Category::kOptimizerState;
    scale_ = e_.Empty(Shape(), DType::kFloat32);
    growth_tracker_ = e_.Empty(Shape(), DType::kInt32);
    e_.category = before;
  }
  return Mul(e_, loss, scale_);
}

void GradScaler::Check(Tensor inverse) {
  Tensor found_inf = e_.Empty(Shape(), DType::kFloat32);
  found_inf_ = e_.EmptyLike(found_inf);
  Tensor copy = e_.EmptyLike(inverse);
  copy = Tensor();
  inverse = Tensor();
  found_inf = Tensor();
}

void GradScaler::Unscale() {
  if (!active_ || !scale_) return;  // a loss without a gradient was never scaled
  const OpScope scope(e_, "GradScaler.unscale_");
  Tensor wide = e_.Empty(Shape(), DType::kFloat64);  // self._scale.double().reciprocal().float()
  Tensor reciprocal = e_.EmptyLike(wide);
  wide = Tensor();
  Tensor inverse = e_.Empty(Shape(), DType::kFloat32);
  reciprocal = Tensor();
  Check(std::move(inverse));
}

void GradScaler::BeforeStep() {
  if (!active_ || !scale_) return;  // a loss without a gradient was never scaled
  if (e_.spec().optimizer_impl != OptimizerImpl::kFused) {
    if (!found_inf_) Unscale();
    return;
  }
  // _step_supports_amp_scaling: the fused kernel unscales, or skips, by itself.
  const OpScope scope(e_, "GradScaler.step");
  const bool unscaled = static_cast<bool>(found_inf_);
  if (!unscaled) Check(e_.Empty(Shape(), DType::kFloat32));  // _check_inf_per_device, with a scale of one
  handed_found_inf_ = e_.EmptyLike(found_inf_);              // sum() over the devices
  if (!unscaled) handed_scale_ = e_.EmptyLike(scale_);
}

void GradScaler::AfterStep() { handed_found_inf_ = handed_scale_ = Tensor(); }

void GradScaler::Update() { found_inf_ = Tensor(); }

}  // namespace vramplan::eager
