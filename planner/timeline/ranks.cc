#include "planner/timeline/ranks.h"

#include <algorithm>
#include <utility>

namespace vramplan {
namespace {

using eager::Eager;
using eager::Storage;

constexpr uint8_t kGathers = 1, kReductions = 2;  // streams (_fsdp_param_group.py, FSDPCommContext)
constexpr int64_t kFirstBucket = int64_t{1} << 20, kBucket = int64_t{25} << 20;  // reducer.hpp

bool IsInside(const std::string& path, const std::string& unit) {
  return path == unit || (path.starts_with(unit) && path[unit.size()] == '.');
}

// Storage of a tensor that keeps its sizes: resize_(nbytes), resize_(0).
void TakeBlock(const eager::Tensor& tensor, const Storage& block) { std::swap(tensor->storage->block, block->block); }
void FreeBlock(const eager::Tensor& tensor) {
  if (tensor->storage->block.valid()) tensor->storage->memory->Free(std::exchange(tensor->storage->block, BlockId()));
}

}  // namespace

std::vector<Storage> BucketsOf(Eager& e, const std::vector<eager::Tensor>& trained) {
  e.origin.op = "DistributedDataParallel";
  std::vector<Storage> buckets;
  Bytes filled;
  for (size_t i = trained.size(); i-- > 0;) {
    filled += StoredBytes(trained[i]->dtype, trained[i]->numel());
    if (filled.count() < (buckets.empty() ? kFirstBucket : kBucket) && i > 0) continue;
    buckets.push_back(e.Scratch(filled, Category::kGradients));
    filled = Bytes();
  }
  return buckets;
}

Sharding::Sharding(Eager& e, const Layers& layers)
    : e_(e), ranks_(e.spec().ranks), unit_of_(layers.layers.size(), -1), place_of_(layers.values.size()) {
  for (const std::string& path : e.spec().units) {
    Unit unit;
    unit.first = layers.layers.size();
    for (size_t l = 0; l < layers.layers.size(); ++l) {
      const ModuleId module = layers.layers[l].module;
      if (!module.valid() || !IsInside(layers[module].path, path)) continue;
      unit.first = std::min(unit.first, l);
      unit.last = l;
      unit_of_[l] = static_cast<int>(units_.size());
    }
    if (unit.first < layers.layers.size()) units_.push_back(std::move(unit));
  }
  for (size_t v = 0; v < layers.values.size(); ++v) {
    size_t unit = units_.size();  // the root
    for (size_t u = 0; u < units_.size(); ++u)
      if (IsInside(layers.values[v].name, e.spec().units[u])) unit = u;
    place_of_[v] = {unit, 0};
  }
  units_.emplace_back();
  FindValues(layers);
}

void Sharding::FindValues(const Layers& layers) {
  std::vector<int> made_in(layers.values.size(), -1);
  std::vector<bool> made(layers.values.size(), false);
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (const ValueId id : layers.layers[l].outputs) {
      if (id.valid()) made[id.index()] = true, made_in[id.index()] = unit_of_[l];
    }
  }
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (const ValueId id : layers.layers[l].inputs) {
      if (!id.valid() || !made[id.index()] || made_in[id.index()] == unit_of_[l]) continue;
      const auto add = [&](std::vector<ValueId>& to) {
        if (std::ranges::find(to, id) == to.end()) to.push_back(id);
      };
      if (unit_of_[l] >= 0) add(units_[static_cast<size_t>(unit_of_[l])].inputs);
      if (made_in[id.index()] >= 0) add(units_[static_cast<size_t>(made_in[id.index()])].outputs);
    }
  }
}

eager::Tensor Sharding::Add(const Value& value, ValueId id, bool trained) {
  const DType type = e_.ModelType(value.type);
  const int64_t rows = value.shape.rank() == 0 ? 1 : e_.At(value.shape[0]);
  const int64_t of_part = (rows + ranks_ - 1) / ranks_;
  Shape part = value.shape;
  if (part.rank() > 0) part[0] = Dim(of_part);
  Parameter parameter;
  parameter.part = e_.Empty(part, type);
  parameter.part->requires_grad = trained;
  const bool given_up = std::exchange(e_.given_up, true);
  parameter.whole = e_.Empty(value.shape, type);
  e_.given_up = given_up;
  parameter.whole->requires_grad = trained;
  parameter.padded = parameter.part->numel() * ranks_;
  auto& [unit, number] = place_of_[id.index()];
  number = units_[unit].parameters.size();
  units_[unit].parameters.push_back(parameter);
  return parameter.whole;
}

const eager::Tensor& Sharding::PartOf(ValueId id) const {
  const auto& [unit, number] = place_of_[id.index()];
  return units_[unit].parameters[number].part;
}

// foreach_all_gather
void Sharding::Gather(Unit& unit) {
  if (unit.gathered || unit.whole || unit.parameters.empty()) return;
  e_.origin.op = "fsdp::all_gather";
  Bytes bytes;
  for (const Parameter& parameter : unit.parameters) bytes += StoredBytes(parameter.whole->dtype, parameter.padded);
  e_.origin.stream = kGathers;
  unit.gathered = e_.Scratch(bytes, Category::kTemporaries);
  e_.origin.stream = 0;
}

// foreach_all_gather_copy_out
void Sharding::MakeWhole(Unit& unit) {
  if (unit.whole) return;
  e_.origin.op = "fsdp::all_gather_copy_out";
  for (const Parameter& parameter : unit.parameters)
    TakeBlock(parameter.whole,
              e_.Scratch(StoredBytes(parameter.whole->dtype, parameter.padded), Category::kParameters));
  unit.whole = true;
}

void Sharding::Split(Unit& unit) {
  for (const Parameter& parameter : unit.parameters) FreeBlock(parameter.whole);
  unit.whole = false;
}

void Sharding::BeginForward() {
  Unit& root = units_.back();
  Gather(root);
  MakeWhole(root);
  last_gathered_ = std::move(root.gathered);
  root.gathered = Storage();
}

void Sharding::Before(size_t layer, std::vector<eager::Tensor>& values) {
  if (unit_of_[layer] < 0) return;
  Unit& unit = units_[static_cast<size_t>(unit_of_[layer])];
  if (unit.first != layer) return;
  Gather(unit);
  last_gathered_ = Storage();  // wait_for_unshard: that of the unit before
  MakeWhole(unit);
  last_gathered_ = std::move(unit.gathered);
  unit.gathered = Storage();
  unit.reduced = false;
  // RegisterPostBackwardFunction: when the gradients of its inputs are there, it is over.
  std::vector<eager::Tensor> inputs, outputs;
  std::vector<ValueId> ids;
  for (const ValueId id : unit.inputs) {
    const eager::Tensor& value = values[id.index()];
    if (!value || !value->tracked()) continue;
    ids.push_back(id);
    inputs.push_back(value);
    outputs.push_back(e_.Alias(value));
  }
  eager::GradNode* node = inputs.empty() ? nullptr : e_.Record("RegisterPostBackwardFunctionBackward", inputs, outputs);
  if (node == nullptr) return;
  node->Backward([this, &unit](eager::GradContext& g) {
    AfterBackward(unit);
    for (size_t i = 0; i < g.grads.size(); ++i) g.Set(static_cast<int>(i), g.grads[i]);
  });
  unit.outside.clear();
  for (size_t i = 0; i < ids.size(); ++i) {
    unit.outside.emplace_back(ids[i], values[ids[i].index()]);
    values[ids[i].index()] = outputs[i];
  }
}

void Sharding::After(size_t layer, std::vector<eager::Tensor>& values) {
  if (unit_of_[layer] < 0) return;
  const auto number = static_cast<size_t>(unit_of_[layer]);
  Unit& unit = units_[number];
  if (unit.last != layer) return;
  for (auto& [id, value] : unit.outside)
    if (values[id.index()]) values[id.index()] = std::move(value);
  unit.outside.clear();
  for (const ValueId id : unit.outputs) {
    const eager::Tensor& value = values[id.index()];
    if (value && value->grad_fn) value->grad_fn->before = [this, number] { BeforeBackward(number); };
  }
  Split(unit);
}

void Sharding::EndForward() { last_gathered_ = Storage(); }

void Sharding::BeginBackward() { BeforeBackward(units_.size() - 1); }

// pre_backward, with the gather of the unit whose turn is next.
void Sharding::BeforeBackward(size_t number) {
  Unit& unit = units_[number];
  Gather(unit);
  MakeWhole(unit);
  unit.gathered = Storage();
  if (number > 0) Gather(units_[number - 1]);
}

// post_backward and foreach_reduce
void Sharding::AfterBackward(Unit& unit) {
  if (std::exchange(unit.reduced, true)) return;
  std::vector<eager::Tensor> gradients;
  Bytes bytes;
  int64_t elements = 0;
  DType type = DType::kFloat32;
  for (const Parameter& parameter : unit.parameters) {
    if (!parameter.whole->grad) continue;
    type = parameter.whole->grad->dtype;
    elements += parameter.padded;
    gradients.push_back(std::move(parameter.whole->grad));
    parameter.whole->grad = eager::Tensor();
  }
  Split(unit);
  if (gradients.empty()) return;
  reducing_ = Storage();
  e_.origin.op = "fsdp::chunk_cat";
  reducing_ = e_.Scratch(StoredBytes(type, elements), Category::kTemporaries);
  std::vector<eager::Tensor> whole = std::exchange(gradients, {});
  whole.clear();
  e_.origin.op = "c10d::_reduce_scatter_base_";
  const Category before = std::exchange(e_.category, Category::kGradients);
  e_.origin.stream = kReductions;
  const eager::Tensor reduced = e_.Empty(Shape{Dim(elements / ranks_)}, type);
  e_.category = before;
  e_.origin.stream = 0;
  for (const Parameter& parameter : unit.parameters) {
    if (!parameter.whole->requires_grad || parameter.part->grad) continue;  // added to what is there
    parameter.part->grad = e_.AsStrided(reduced, parameter.part->sizes, parameter.part->strides);
  }
}

void Sharding::EndBackward() {
  for (Unit& unit : units_) AfterBackward(unit);
  for (Unit& unit : units_) unit.gathered = Storage();
  reducing_ = Storage();
  units_.back().reduced = false;
}

}  // namespace vramplan
