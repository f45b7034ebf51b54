#include "graph/layers/uses.h"

#include "graph/base/text.h"

namespace vramplan {

bool IsCreation(const Layer& layer) { return IsOneOf(layer.op, {"zeros", "ones", "full", "empty"}); }

Uses::Uses(const Layers& layers) : layers_(layers), maker_(layers.values.size(), -1), first_(layers.values.size() + 1) {
  const auto each_reading = [&](const auto& visit) {
    for (size_t l = 0; l < layers.layers.size(); ++l) {
      for (const ValueId id : layers.layers[l].inputs) {
        if (id.valid()) visit(id.index(), static_cast<int32_t>(l));
      }
    }
    for (const ValueId id : layers.outputs) visit(id.index(), static_cast<int32_t>(layers.layers.size()));
  };
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (const ValueId id : layers.layers[l].outputs) {
      if (id.valid()) maker_[id.index()] = static_cast<int32_t>(l);
    }
  }
  each_reading([&](size_t value, int32_t) { ++first_[value + 1]; });
  for (size_t v = 1; v < first_.size(); ++v) first_[v] += first_[v - 1];
  reading_.resize(static_cast<size_t>(first_.back()));
  std::vector<int32_t> next(first_.begin(), first_.end() - 1);
  each_reading([&](size_t value, int32_t place) { reading_[static_cast<size_t>(next[value]++)] = place; });
}

const Layer* Uses::MakerOf(ValueId id) const {
  const int place = PlaceOfMaker(id);
  return place < 0 ? nullptr : &layers_.layers[static_cast<size_t>(place)];
}

const Layer* Uses::Operand(const Layer* layer, size_t i, std::string_view op) const {
  const Layer* maker = MakerOf(In(layer, i));
  return maker != nullptr && maker->op == op ? maker : nullptr;
}

std::span<const int32_t> Uses::ReadersOf(ValueId id) const {
  if (!id.valid() || id.index() + 1 >= first_.size()) return {};
  return {reading_.begin() + first_[id.index()], reading_.begin() + first_[id.index() + 1]};
}

std::span<const int32_t> Uses::LayersReading(ValueId id) const {
  std::span<const int32_t> readers = ReadersOf(id);
  while (!readers.empty() && static_cast<size_t>(readers.back()) >= layers_.layers.size())
    readers = readers.first(readers.size() - 1);
  return readers;
}

const Layer* Uses::OnlyReaderOf(ValueId id) const {
  const std::span<const int32_t> readers = ReadersOf(id);
  if (readers.size() != 1 || static_cast<size_t>(readers[0]) >= layers_.layers.size()) return nullptr;
  return &layers_.layers[static_cast<size_t>(readers[0])];
}

ValueId Uses::Behind(std::initializer_list<std::string_view> ops, ValueId id) const {
  for (const Layer* maker = MakerOf(id); maker != nullptr && IsOneOf(maker->op, ops); maker = MakerOf(id))
    id = In(maker, 0);
  return id;
}

bool Uses::IsStored(ValueId id) const {
  return id.valid() && (layers_[id].role == Role::kBuffer || layers_[id].role == Role::kConstant);
}

}  // namespace vramplan
