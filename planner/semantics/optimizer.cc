#include "planner/semantics/optimizer.h"

#include <deque>

namespace vramplan::eager {
namespace {

// A statement of the for-loop implementation: how many tensors of the parameter's size it makes, and whether Python's
// name keeps the last until the next parameter rebinds it.
struct Statement {
  int made = 0;
  bool bound = false;
};

struct Row {
  Optimizer optimizer;
  int states;           // tensors like the parameter, made at the first step
  bool in_constructor;  // ... or already in the constructor
  bool fused;           // has a fused implementation
  int foreach_lists;    // lists like the parameters that live together while foreach runs
  bool decay_stays;     // the decayed copy of the gradients (weight_decay) lives beside those lists
  bool decay_reused;    // ... and takes the place of the last of them
  bool decoupled;       // weight decay multiplies the parameter in place
  Statement loop[2];    // per parameter, in order
};

constexpr Row kRows[] = {
    // torch/optim/sgd.py: params are updated in place; the momentum buffer is a clone of the first gradient.
    {Optimizer::kSgd, 0, false, true, 0, true, false, false, {{}, {}}},
    {Optimizer::kSgdMomentum, 1, false, true, 0, false, false, false, {{}, {}}},
    // adam.py: exp_avg_sq_sqrt = _foreach_sqrt(exp_avg_sqs); the decayed gradients are deleted before. for-loop: denom
    // = (exp_avg_sq.sqrt() / c).add_(eps)
    {Optimizer::kAdam, 2, false, true, 1, false, false, false, {{2, true}, {}}},
    {Optimizer::kAdamW, 2, false, true, 1, false, false, true, {{2, true}, {}}},
    {Optimizer::kAdamAmsgrad, 3, false, true, 1, false, false, false, {{2, true}, {}}},
    // rmsprop.py: avg = _foreach_sqrt(square_avgs); for-loop: avg = square_avg.sqrt()
    {Optimizer::kRmsprop, 1, false, false, 1, true, false, false, {{1, true}, {}}},
    // adagrad.py: std = _foreach_sqrt(state_sums), numerator = _foreach_mul(grads, -lr), or the decayed gradients in
    // place; its fused form is for
    // the CPU (_device_dtype_check_for_fused(cuda_unsupported=True)); for-loop: std = state_sum.sqrt().add_(eps)
    {Optimizer::kAdagrad, 1, true, false, 2, true, true, false, {{1, true}, {}}},
    // adadelta.py: std and deltas; for-loop: std, then delta
    {Optimizer::kAdadelta, 2, false, false, 2, true, false, false, {{1, true}, {1, true}}},
    // nadam.py: exp_avg_sq_sqrt; for-loop: denom = exp_avg_sq.div(c).sqrt()
    {Optimizer::kNadam, 2, false, false, 1, true, false, false, {{2, true}, {}}},
    // radam.py: del grouped_grads; buffer = _foreach_sqrt(exp_avg_sqs); for-loop: bias_corrected_exp_avg = exp_avg / c,
    // then times lr (rho_t is
    // above 5 from the sixth step only)
    {Optimizer::kRadam, 2, false, false, 1, false, false, false, {{1, true}, {1, false}}},
    // adamax.py: _foreach_abs(grads), in place when they are decayed copies; for-loop: grad.abs().add_(eps) inside
    // torch.maximum
    {Optimizer::kAdamax, 2, false, false, 1, true, true, false, {{1, false}, {}}},
};

const Row* FindRow(Optimizer optimizer) {
  for (const Row& row : kRows) {
    if (row.optimizer == optimizer) return &row;
  }
  return nullptr;  // none
}

// A list of new tensors like the parameters. Python lets go of a list from its end.
class List {
 public:
  List(Eager& e, const std::vector<Tensor>& like) {
    tensors_.reserve(like.size());
    for (const Tensor& t : like) tensors_.push_back(e.EmptyLike(t));
  }
  List(List&&) = default;
  ~List() {
    while (!tensors_.empty()) tensors_.pop_back();
  }

 private:
  std::vector<Tensor> tensors_;
};

}  // namespace

bool HasFused(Optimizer optimizer) {
  const Row* row = FindRow(optimizer);
  return row != nullptr && row->fused;
}

OptimizerState::OptimizerState(Eager& e, std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {
  const Row* row = FindRow(e.spec().optimizer);
  if (row != nullptr && row->in_constructor) MakeState(e);
}

std::vector<Tensor> OptimizerState::WithGradient() const {
  std::vector<Tensor> with;
  for (const Tensor& p : parameters_) {
    if (p->grad) with.push_back(p);
  }
  return with;
}

void OptimizerState::MakeState(Eager& e) {
  const Row& row = *FindRow(e.spec().optimizer);
  const Category before = e.category;
  e.category = Category::kOptimizerState;
  const bool counters =
      e.spec().optimizer_impl == OptimizerImpl::kFused && row.states >= 2;  // adam.py: step on the card when fused
  for (const Tensor& p : row.in_constructor ? parameters_ : WithGradient()) {
    if (counters) state_.push_back(e.Empty(Shape(), DType::kFloat32));
    for (int i = 0; i < row.states; ++i) state_.push_back(e.EmptyLike(p));
  }
  e.category = before;
  initialised_ = true;
}

void OptimizerState::StepForeach(Eager& e) {
  const Row& row = *FindRow(e.spec().optimizer);
  const std::vector<Tensor> with = WithGradient();
  const bool decayed_copy = e.spec().weight_decay != 0 && !row.decoupled;
  // sgd.py clones its buffers from the decayed gradients; the others have made their state before.
  const bool cloned = row.optimizer == Optimizer::kSgdMomentum;
  if (!initialised_ && row.states > 0 && !cloned) MakeState(e);
  std::deque<List> lists;
  if (decayed_copy) lists.emplace_back(e, with);  // _foreach_add(grads, params, alpha=weight_decay)
  if (!initialised_ && cloned) MakeState(e);
  if (decayed_copy && !row.decay_stays) lists.clear();
  const int made = row.foreach_lists - (decayed_copy && row.decay_reused ? 1 : 0);
  for (int i = 0; i < made; ++i) lists.emplace_back(e, with);
  while (!lists.empty()) lists.pop_front();  // a Python frame lets go of its names in their order
}

void OptimizerState::StepForLoop(Eager& e) {
  const Row& row = *FindRow(e.spec().optimizer);
  const bool decayed_copy = e.spec().weight_decay != 0 && !row.decoupled;
  // SGD clones its buffer from the decayed gradient, one parameter at a time; the others make all state before they
  // begin.
  const bool cloned = row.optimizer == Optimizer::kSgdMomentum && !initialised_;
  if (!initialised_ && row.states > 0 && !cloned) MakeState(e);
  Tensor decayed, bound[2];
  for (const Tensor& p : WithGradient()) {
    decayed = Tensor();
    if (decayed_copy) decayed = e.EmptyLike(p);
    if (cloned) {
      const Category before = e.category;
      e.category = Category::kOptimizerState;
      state_.push_back(e.EmptyLike(p));
      e.category = before;
    }
    if (row.optimizer == Optimizer::kSgdMomentum) decayed = Tensor();  // grad = buf
    for (int s = 0; s < 2; ++s) {
      Tensor last;
      for (int i = 0; i < row.loop[s].made; ++i) {
        Tensor next = e.EmptyLike(p);
        last = std::move(next);
      }
      if (row.loop[s].bound && row.loop[s].made > 0) bound[s] = std::move(last);
    }
  }
  decayed = Tensor();  // a Python frame lets go of its names in their order
  for (Tensor& t : bound) t = Tensor();
  initialised_ = true;
}

void OptimizerState::Step(Eager& e) {
  const Row* row = FindRow(e.spec().optimizer);
  if (row == nullptr) return;
  const Category before = e.category;
  e.category = Category::kTemporaries;
  e.grad_mode = false;
  switch (e.spec().optimizer_impl) {
    case OptimizerImpl::kForeach:
      StepForeach(e);
      break;
    case OptimizerImpl::kForLoop:
      StepForLoop(e);
      break;
    case OptimizerImpl::kFused:
      if (!initialised_ && row->states > 0) MakeState(e);
      break;
  }
  e.grad_mode = true;
  e.category = before;
}

void OptimizerState::ZeroGrad() {
  for (const Tensor& p : parameters_) p->grad = Tensor();
}

}  // namespace vramplan::eager
