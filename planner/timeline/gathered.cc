#include "planner/timeline/gathered.h"

#include <algorithm>
#include <utility>

namespace vramplan {
namespace {

constexpr uint8_t kGatherStream = 1;  // stream (parameter_offload.py, __allgather_stream)

}  // namespace

GatheredParameters::GatheredParameters(eager::Eager& e)
    : e_(e), nothing_(MakeRef<eager::StorageImpl>(nullptr, BlockId(), SizeExpr())) {}

eager::Tensor GatheredParameters::Add(const Shape& shape, DType type, bool trained) {
  Parameter& added = parameters_.emplace_back();
  added.tensor = e_.Empty(shape, type);
  added.tensor->requires_grad = trained;
  added.elements = added.tensor->numel();
  added.part = (added.elements + e_.spec().ranks - 1) / e_.spec().ranks;
  added.persistent = added.elements <= kPersistent;
  added.of_rank = e_.Empty(Shape{Dim(added.part)}, type)->storage;
  added.tensor->storage = nothing_;
  numbers_.emplace(added.tensor.get(), parameters_.size() - 1);
  return added.tensor;
}

std::optional<size_t> GatheredParameters::NumberOf(const eager::TensorImpl& tensor) const {
  const auto found = numbers_.find(&tensor);
  return found != numbers_.end() ? std::optional(found->second) : std::nullopt;
}

size_t GatheredParameters::AddModule(std::vector<size_t> parameters) {
  modules_.push_back({std::move(parameters), {}});
  return modules_.size() - 1;
}

void GatheredParameters::Give(size_t number, int64_t elements, uint8_t stream) {
  Parameter& parameter = parameters_[number];
  const Category before = std::exchange(e_.category, Category::kParameters);
  const uint8_t stream_before = std::exchange(e_.origin.stream, stream);
  parameter.tensor->storage = e_.Empty(Shape{Dim(elements)}, parameter.tensor->dtype)->storage;
  e_.origin.stream = stream_before;
  e_.category = before;
}

// all_gather_coalesced
void GatheredParameters::Gather(std::vector<size_t> numbers) {
  std::erase_if(numbers, [&](size_t p) { return parameters_[p].state != State::kAway; });
  if (numbers.empty()) return;
  std::ranges::sort(numbers);
  e_.origin.op = "deepspeed.all_gather";
  auto handle = std::make_shared<Handle>();
  int64_t parts = 0;
  for (const size_t p : numbers) {
    parts += parameters_[p].part;
    there_ += parameters_[p].elements;
    parameters_[p].state = State::kInFlight;
    parameters_[p].handle = handle;
  }
  const int64_t ranks = e_.spec().ranks;
  if (numbers.size() == 1) {
    Give(numbers.front(), parts * ranks, kGatherStream);
    handle->copied = true;
  } else {
    const uint8_t before = std::exchange(e_.origin.stream, kGatherStream);
    const Category category = std::exchange(e_.category, Category::kTemporaries);
    handle->parts = e_.Empty(Shape{Dim(parts * ranks)}, parameters_[numbers.front()].tensor->dtype)->storage;
    e_.category = category;
    e_.origin.stream = before;
  }
  handle->parameters = std::move(numbers);
}

void GatheredParameters::Wait(size_t number) {
  const std::shared_ptr<Handle> handle = std::exchange(parameters_[number].handle, nullptr);
  if (!handle) return;
  for (const size_t p : handle->parameters)
    if (parameters_[p].handle == handle || p == number) parameters_[p].state = State::kThere;
  if (std::exchange(handle->copied, true)) return;
  e_.origin.op = "deepspeed.all_gather";
  for (const size_t p : handle->parameters) Give(p, parameters_[p].elements, kGatherStream);
}

void GatheredParameters::BeginForward() {
  for (size_t p = 0; p < parameters_.size(); ++p) {
    if (!parameters_[p].handle) continue;
    Wait(p);
    ReleaseIfIdle(p);
  }
  if (++forwards_ == 2) KnowOrder();
  queue_.assign(uses_.begin(), uses_.end());
  for (Parameter& parameter : parameters_) parameter.fetched_for = kNever;
  call_ = there_ = 0;
}

// construct_parameter_trace_from_module_trace
void GatheredParameters::KnowOrder() {
  knows_order_ = true;
  passed_.assign(1, 0);
  for (size_t call = 0; call < order_.size(); ++call) {
    std::vector<size_t> own = modules_[order_[call]].own;
    std::ranges::sort(own);
    passed_.push_back(passed_.back());
    for (const size_t p : own) {
      uses_.emplace_back(p, static_cast<int64_t>(call));
      parameters_[p].calls.push_back(static_cast<int64_t>(call));
      passed_.back() += parameters_[p].elements;
    }
  }
}

// fetch_sub_module
void GatheredParameters::Fetch(size_t number, In phase) {
  Module& module = modules_[number];
  if (phase == In::kBackward && std::ranges::find(in_backward_, number) == in_backward_.end())
    in_backward_.push_back(number);
  if (!knows_order_) order_.push_back(number);
  Gather(module.own);
  for (const size_t p : module.own) {
    Parameter& parameter = parameters_[p];
    parameter.active.insert(number);
    if (phase == In::kRecompute && !in_backward_.empty() && !parameter.tensor->requires_grad) {
      modules_[in_backward_.back()].recomputed.insert(p);
      parameter.active.insert(in_backward_.back());
    }
    Wait(p);
  }
  if (knows_order_) Prefetch(module);
  ++call_;
}

void GatheredParameters::Prefetch(const Module& module) {
  std::set<size_t> waiting, seen;
  for (const size_t p : module.own)
    if (parameters_[p].fetched_for < call_) waiting.insert(p);
  while (!queue_.empty() && seen.size() < waiting.size()) {
    const auto [p, call] = queue_.front();
    queue_.pop_front();
    parameters_[p].fetched_for = call;
    seen.insert(p);
  }
  const int64_t most = std::min(kMostThere - there_, kPrefetched);
  std::vector<size_t> next;
  int64_t elements = 0;
  while (!queue_.empty() && elements < most) {
    const auto [p, call] = queue_.front();
    queue_.pop_front();
    Parameter& parameter = parameters_[p];
    parameter.fetched_for = std::max(parameter.fetched_for, call);
    if (parameter.state != State::kAway || std::ranges::find(next, p) != next.end()) continue;
    next.push_back(p);
    elements += parameter.elements;
  }
  Gather(std::move(next));
}

// __params_to_release: none that is taken again within the distance of reuse.
bool GatheredParameters::IsReleased(const Parameter& parameter) const {
  if (!knows_order_) return true;
  if (parameter.persistent || parameter.fetched_for > call_) return false;
  const auto next = std::ranges::lower_bound(parameter.calls, call_);
  return next == parameter.calls.end() ||
         passed_[static_cast<size_t>(*next)] - passed_[static_cast<size_t>(call_)] >= kReuse;
}

void GatheredParameters::ReleaseIfIdle(size_t number) {
  const Parameter& parameter = parameters_[number];
  if (parameter.state != State::kThere || !parameter.active.empty()) return;
  Free(number);
  there_ -= parameter.elements;
}

// release_sub_module
void GatheredParameters::Release(size_t number, In phase) {
  Module& module = modules_[number];
  const auto release = [&](size_t p, bool released) {
    parameters_[p].active.erase(number);
    if (released) ReleaseIfIdle(p);
  };
  if (phase == In::kBackward) std::erase(in_backward_, number);
  const std::set<size_t> recomputed =
      phase == In::kBackward ? std::exchange(module.recomputed, {}) : std::set<size_t>();
  for (const size_t p : module.own) release(p, IsReleased(parameters_[p]));
  for (const size_t p : recomputed) release(p, !parameters_[p].persistent);
}

void GatheredParameters::ReleaseLeftovers() {
  while (!in_backward_.empty()) {
    const size_t number = in_backward_.back();
    in_backward_.pop_back();
    std::set<size_t> held = std::exchange(modules_[number].recomputed, {});
    held.insert(modules_[number].own.begin(), modules_[number].own.end());
    for (const size_t p : held) {
      parameters_[p].active.erase(number);
      if (!parameters_[p].persistent) ReleaseIfIdle(p);
    }
  }
}

// release_and_reset_all
void GatheredParameters::FreeAll() {
  for (size_t p = 0; p < parameters_.size(); ++p) {
    Wait(p);
    parameters_[p].active.clear();
    ReleaseIfIdle(p);
  }
}

// persistent_parameters[0].all_gather(persistent_parameters)
void GatheredParameters::GatherPersistent() {
  for (size_t p = 0; p < parameters_.size(); ++p)
    if (parameters_[p].persistent) GatherAlone(p);
}

void GatheredParameters::GatherAlone(size_t number) {
  Parameter& parameter = parameters_[number];
  if (parameter.state != State::kAway) return;
  e_.origin.op = "deepspeed.all_gather";
  Give(number, parameter.part * e_.spec().ranks, 0);
  parameter.state = State::kThere;
}

void GatheredParameters::Free(size_t number) {
  parameters_[number].tensor->storage = nothing_;
  parameters_[number].state = State::kAway;
}

bool GatheredParameters::GatherAlone(eager::TensorImpl& tensor) {
  if (tensor.storage->block.valid()) return false;
  const std::optional<size_t> number = NumberOf(tensor);
  if (number) GatherAlone(*number);
  return number.has_value();
}

void GatheredParameters::FreeAlone(eager::TensorImpl& tensor) { Free(NumberOf(tensor).value()); }

}  // namespace vramplan
