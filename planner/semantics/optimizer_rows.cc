#include "planner/semantics/optimizer_rows.h"

namespace vramplan::eager {
namespace {

using enum OptimizerImpl;

constexpr unsigned kEither = Bit(kForeach) | Bit(kForLoop);
constexpr unsigned kAny = kEither | Bit(kFused);
constexpr std::string_view kSquareRoot = "-g wd:+g +t +u -t d=u";  // denom = (exp_avg_sq.sqrt() / c).add_(eps)
constexpr std::string_view kDecoupledRoot = "+t +u -t d=u";        // the same, weight decay multiplies the parameter
constexpr std::string_view kAverage = "-g wd:+g +a";

// PyTorch 2.10 where no other source is named: torch/optim/NAME.py, _multi_tensor_NAME and _single_tensor_NAME.
constexpr OptimizerRow kOptimizerRows[] = {
    // sgd.py: parameters are updated in place; the momentum buffer is a clone of the (decayed) gradient.
    {Optimizer::kSgd, kAny, kForeach, 0, "wd:+g", "-g wd:+g"},
    {Optimizer::kSgdMomentum, kAny, kForeach, 1, "wd:+g !", "-g wd:+g ! -g"},  // for-loop: grad = buf
    // foreach adds the buffers to the gradients in place; for-loop: grad = grad.add(buf, alpha=momentum)
    {Optimizer::kSgdNesterov, kAny, kForeach, 1, "wd:+g !", "-g wd:+g ! +n g=n"},
    // adam.py: exp_avg_sq_sqrt = _foreach_sqrt(exp_avg_sqs); the decayed gradients are deleted before.
    {Optimizer::kAdam, kAny, kForeach, 2, "wd:+g -g +s", kSquareRoot, nullptr, false, true},
    {Optimizer::kAdamW, kAny, kForeach, 2, "+s", kDecoupledRoot, nullptr, false, true},
    {Optimizer::kAdamAmsgrad, kAny, kForeach, 3, "wd:+g -g +s", kSquareRoot, nullptr, false, true},
    {Optimizer::kAdamWAmsgrad, kAny, kForeach, 3, "+s", kDecoupledRoot, nullptr, false, true},
    // rmsprop.py: avg = _foreach_sqrt(square_avgs), centered: _foreach_addcmul; for-loop: avg = square_avg.sqrt()
    {Optimizer::kRmsprop, kEither, kForeach, 1, "wd:+g +a", kAverage},
    {Optimizer::kRmspropMomentum, kEither, kForeach, 2, "wd:+g +a", kAverage},
    {Optimizer::kRmspropCentered, kEither, kForeach, 2, "wd:+g +a", kAverage},
    {Optimizer::kRmspropCenteredMomentum, kEither, kForeach, 3, "wd:+g +a", kAverage},
    // adagrad.py: std = _foreach_sqrt(state_sums); numerator = _foreach_mul(grads, -lr), or the decayed gradients in
    // place. Its fused form is for the CPU (_device_dtype_check_for_fused(cuda_unsupported=True)).
    {Optimizer::kAdagrad, kEither, kForeach, 1, "wd:+g +s wd:n=g else:+n", "-g wd:+g +s", nullptr, true},
    // adadelta.py: std, then deltas
    {Optimizer::kAdadelta, kEither, kForeach, 2, "wd:+g +s +d", "-g wd:+g +s +d"},
    // nadam.py: exp_avg_sq_sqrt; for-loop: denom = exp_avg_sq.div(c).sqrt()
    {Optimizer::kNadam, kEither, kForeach, 2, "wd:+g +s", kSquareRoot},
    // radam.py: del grouped_grads; buffer = _foreach_sqrt(exp_avg_sqs); for-loop: bias_corrected_exp_avg = exp_avg / c,
    // then times lr (rho_t is above 5 from the sixth step only, which is not laid out)
    {Optimizer::kRadam, kEither, kForeach, 2, "wd:+g -g +s", "-g wd:+g +b +t -t"},
    // adamax.py: _foreach_abs(grads), in place when they are decayed copies; for-loop: grad.abs().add_(eps) inside
    // torch.maximum
    {Optimizer::kAdamax, kEither, kForeach, 2, "+g", "-g wd:+g +t -t"},
    // _adafactor.py, from 2.5: for-loop is its own choice, to save memory
    {Optimizer::kAdafactor, kEither, kForLoop, 0, {}, {}, StepAdafactor},
    // transformers/optimization.py, 5.23
    {Optimizer::kAdafactorHf, Bit(kForLoop), kForLoop, 0, {}, {}, StepAdafactorHf},
    // for-loop: lion_pytorch/lion_pytorch.py 0.2.5, update_fn: exp_avg.clone().mul_(b).add(grad).sgn_();
    // foreach: timm/optim/lion.py 1.0.31: updates = _foreach_lerp(exp_avgs, grads), in one chunk of parameters
    {Optimizer::kLion, kEither, kForLoop, 1, "+u", "! +a +u -a -u"},
    {Optimizer::kLamb, kEither, kForeach, 2, {}, {}, StepLamb},  // timm/optim/lamb.py 1.0.31
    // _muon.py, from 2.9: the matrices; the implementation is AdamW's, of the others
    {Optimizer::kMuon, kAny, kForeach, 1, {}, {}, StepMuon},
    // bitsandbytes/optim/optimizer.py 0.50: Optimizer2State, Optimizer1State; one kernel a parameter
    {Optimizer::kAdam8bit, Bit(kFused), kFused, 2, {}, {}, StepBlockwise8bit},
    {Optimizer::kAdamW8bit, Bit(kFused), kFused, 2, {}, {}, StepBlockwise8bit},
    {Optimizer::kLion8bit, Bit(kFused), kFused, 1, {}, {}, StepBlockwise8bit},
};

}  // namespace

const OptimizerRow* FindOptimizer(Optimizer optimizer) {
  for (const OptimizerRow& row : kOptimizerRows) {
    if (row.optimizer == optimizer) return &row;
  }
  return nullptr;
}

const Tensor& OptimizerStates::Keep(Eager& e, const Tensor& parameter, const std::function<Tensor()>& make) {
  const Category category = std::exchange(e.category, Category::kOptimizerState);
  const auto layer = uses_.layer_of.find(parameter.get());
  e.origin.owner = layer == uses_.layer_of.end() ? -1 : layer->second;
  const Tensor& state = states_[parameter.get()].emplace_back(make());
  e.origin.owner = -1;
  e.category = category;
  return state;
}

const Tensor& OptimizerStates::Add(Eager& e, const Tensor& parameter, const Shape& sizes, DType type) {
  return Keep(e, parameter, [&] { return e.Empty(sizes, type); });
}

const Tensor& OptimizerStates::AddLike(Eager& e, const Tensor& parameter, DType type) {
  return Keep(e, parameter, [&] { return e.EmptyLike(parameter, type); });
}

}  // namespace vramplan::eager
