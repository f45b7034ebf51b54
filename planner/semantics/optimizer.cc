#include "planner/semantics/optimizer.h"

#include <algorithm>

#include "planner/semantics/optimizer_program.h"

namespace vramplan::eager {
namespace {

std::vector<Tensor> WithGradient(const std::vector<Tensor>& parameters) {
  std::vector<Tensor> with;
  for (const Tensor& p : parameters) {
    if (p->grad) with.push_back(p);
  }
  return with;
}

}  // namespace

bool HasImpl(Optimizer optimizer, OptimizerImpl impl) {
  const OptimizerRow* row = FindOptimizer(optimizer);
  return row != nullptr && (row->impls & Bit(impl)) != 0;
}

OptimizerImpl UsualImpl(Optimizer optimizer) {
  const OptimizerRow* row = FindOptimizer(optimizer);
  return row == nullptr ? OptimizerImpl::kForeach : row->usual;
}

OptimizerState::OptimizerState(Eager& e, std::vector<Tensor> parameters, const ParameterUses& uses) : states_(uses) {
  const OptimizerRow* row = FindOptimizer(e.spec().optimizer);
  groups_.push_back({row, {}});
  if (e.spec().optimizer == Optimizer::kMuon) {
    groups_.push_back({FindOptimizer(Optimizer::kAdamW), {}});
    for (Tensor& p : parameters) {
      const bool embeds = std::find(uses.embeddings.begin(), uses.embeddings.end(), p) != uses.embeddings.end();
      groups_[p->dim() == 2 && !embeds ? 0 : 1].parameters.push_back(std::move(p));
    }
  } else {
    groups_[0].parameters = std::move(parameters);
  }
  if (row == nullptr || !row->in_constructor) return;
  for (const Tensor& p : groups_[0].parameters) MakeState(e, *row, p);
}

void OptimizerState::MakeState(Eager& e, const OptimizerRow& row, const Tensor& parameter) {
  if (row.states == 0 || states_.Has(parameter)) return;
  if (row.counts_on_card && e.spec().optimizer_impl == OptimizerImpl::kFused)  // adam.py: step on the card when fused
    states_.Add(e, parameter, Shape(), DType::kFloat32);
  for (int i = 0; i < row.states; ++i) states_.AddLike(e, parameter, parameter->dtype);
}

void OptimizerState::StepGroup(Eager& e, const Group& group) {
  const OptimizerRow& row = *group.row;
  const std::vector<Tensor> with = WithGradient(group.parameters);
  if (with.empty()) return;
  if (row.step != nullptr) return row.step(e, row, with, states_);
  const OptimizerImpl impl = e.spec().optimizer_impl;
  const std::string_view program = impl == OptimizerImpl::kForeach   ? row.foreach
                                   : impl == OptimizerImpl::kForLoop ? row.loop
                                                                     : std::string_view();
  const auto make_all = [&] {
    for (const Tensor& p : with) MakeState(e, row, p);
  };
  if (!MakesState(program)) make_all();
  ProgramFrame frame(e, program);
  if (impl == OptimizerImpl::kForeach) {
    frame.Run(with, make_all);
  } else if (impl == OptimizerImpl::kForLoop) {
    for (const Tensor& p : with) frame.Run({p}, [&] { MakeState(e, row, p); });
  }
}

void OptimizerState::Step(Eager& e) {
  const Category before = std::exchange(e.category, Category::kTemporaries);
  e.grad_mode = false;
  for (const Group& group : groups_) {
    if (group.row != nullptr) StepGroup(e, group);
  }
  e.grad_mode = true;
  e.category = before;
}

void OptimizerState::ZeroGrad() {
  for (const Group& group : groups_) {
    for (const Tensor& p : group.parameters) p->grad = Tensor();
  }
}

}  // namespace vramplan::eager
