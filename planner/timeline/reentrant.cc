#include "planner/timeline/reentrant.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "graph/layers/uses.h"
#include "planner/timeline/backward.h"

namespace vramplan {

namespace {

bool IsInARow(const std::vector<size_t>& layers) { return layers.back() - layers.front() + 1 == layers.size(); }

// What is made inside and read behind it, or returned, in the order of values.
std::vector<ValueId> ResultsOf(const Uses& uses, const std::vector<size_t>& inside) {
  std::set<ValueId> results;
  for (const size_t l : inside) {
    for (const ValueId id : uses.layers().layers[l].outputs) {
      const auto readers = id.valid() ? uses.ReadersOf(id) : std::span<const int32_t>();
      if (!readers.empty() && static_cast<size_t>(readers.back()) > inside.back()) results.insert(id);
    }
  }
  return {results.begin(), results.end()};
}

}  // namespace

ReentrantCheckpoints::ReentrantCheckpoints(eager::Eager& e, Recorder& recorder, LayerRunner& runner,
                                           const Layers& layers, std::vector<CheckpointedCall>* calls)
    : e_(e), recorder_(recorder), runner_(runner), begins_(layers.layers.size(), -1) {
  const bool nested = std::ranges::any_of(*calls, [](const CheckpointedCall& call) { return call.around >= 0; });
  const bool any = std::ranges::any_of(*calls, [](const CheckpointedCall& call) { return call.reentrant; });
  if (nested || !any) return;
  const Uses uses(layers);
  for (const CheckpointedCall& call : *calls) {
    if (!call.reentrant || !IsInARow(call.layers)) continue;
    begins_[call.layers.front()] = static_cast<int>(calls_.size());
    calls_.push_back({call.layers, call.arguments, ResultsOf(uses, call.layers)});
  }
  std::erase_if(*calls, [&](const CheckpointedCall& call) { return begins_[call.layers.front()] >= 0; });
}

std::optional<size_t> ReentrantCheckpoints::Run(size_t layer, std::vector<eager::Tensor>& values) {
  if (begins_[layer] < 0) return std::nullopt;
  const ReentrantCall& call = calls_[static_cast<size_t>(begins_[layer])];
  std::vector<eager::Tensor> arguments;
  for (const ValueId id : call.arguments) arguments.push_back(values[id.index()]);
  {
    const eager::NoGradGuard no_grad(e_);
    for (const size_t l : call.layers) runner_.Run(l, values);
  }
  std::vector<eager::Tensor> results;
  for (const ValueId id : call.results) {
    eager::Tensor& value = values[id.index()];
    if (value) value = e_.Alias(value);
    results.push_back(value);
  }
  eager::GradNode* node = e_.Record("CheckpointFunctionBackward", arguments, results);
  if (node == nullptr) return call.layers.back();
  for (const eager::Tensor& argument : arguments) node->Save(argument);
  node->Backward([this, &call](eager::GradContext& g) {
    std::vector<eager::Tensor> detached;  // detach_variable
    for (size_t i = 0; i < g.node.saved.size(); ++i) {
      detached.push_back(g.saved(static_cast<int>(i)) ? g.e.Alias(g.saved(static_cast<int>(i))) : eager::Tensor());
      if (detached.back()) detached.back()->requires_grad = g.Needs(static_cast<int>(i));
    }
    const std::vector<eager::Tensor> made_again = RunAgain(call, detached);
    BackwardInside(g.e, made_again, g.grads);
    for (size_t i = 0; i < detached.size(); ++i) {
      if (g.Needs(static_cast<int>(i))) g.Set(static_cast<int>(i), std::move(detached[i]->grad));
    }
  });
  return call.layers.back();
}

std::vector<eager::Tensor> ReentrantCheckpoints::RunAgain(const ReentrantCall& call,
                                                          const std::vector<eager::Tensor>& arguments) {
  const Origin origin = e_.origin;
  const Category category = std::exchange(e_.category, Category::kActivations);
  const Phase phase = recorder_.Enter(Phase::kRecompute);
  e_.grad_mode = true;
  std::vector<eager::Tensor> values = runner_.resident();
  for (size_t i = 0; i < arguments.size(); ++i) values[call.arguments[i].index()] = arguments[i];
  for (const size_t l : call.layers) runner_.Run(l, values);
  runner_.LeaveAutocast();
  std::vector<eager::Tensor> results;
  for (const ValueId id : call.results) results.push_back(values[id.index()]);
  e_.grad_mode = false;
  recorder_.Enter(phase);
  e_.category = category;
  e_.origin = origin;
  return results;
}

}  // namespace vramplan
