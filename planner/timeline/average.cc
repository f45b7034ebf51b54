#include "planner/timeline/average.h"

namespace vramplan {

Average::Average(eager::Eager& e, const ModelRun& model, const eager::ParameterUses& uses) : e_(e) {
  if (e.spec().ema == Ema::kNone) return;
  const Category before = std::exchange(e.category, Category::kOptimizerState);
  e.origin = Origin();
  e.origin.op = "deepcopy";
  for (const eager::Tensor& t : model.StateDict()) {
    const auto layer = uses.layer_of.find(t.get());
    e.origin.owner = layer == uses.layer_of.end() ? -1 : layer->second;
    copies_.push_back(e.EmptyLike(t));
  }
  e.origin.owner = -1;
  e.category = before;
}

void Average::Update() {
  const Category before = std::exchange(e_.category, Category::kTemporaries);
  const eager::OpScope scope(e_, "ema.update");
  switch (e_.spec().ema) {
    case Ema::kAveragedModel:
      // torch/optim/swa_utils.py (PyTorch 2.10) update_parameters: the first copies; n_averaged.to(device), then
      // _foreach_lerp_. use_buffers=False: buffers are copied.
      if (updates_ > 0) e_.Empty(Shape(), DType::kInt64);
      break;
    case Ema::kModelEmaV2:  // timm/utils/model_ema.py 1.0.31: decay * e + (1. - decay) * m
      for (const eager::Tensor& t : copies_) {
        const DType type = IsFloating(t->dtype) ? t->dtype : DType::kFloat32;
        eager::Tensor kept = e_.EmptyLike(t, type);
        eager::Tensor added = e_.EmptyLike(t, type);
        const eager::Tensor sum = e_.EmptyLike(t, type);
        kept = eager::Tensor();
        added = eager::Tensor();
      }
      break;
    case Ema::kModelEmaV3:  // timm/utils/model_ema.py: _foreach_lerp_ in place
    case Ema::kNone:
      break;
  }
  ++updates_;
  e_.category = before;
}

}  // namespace vramplan
