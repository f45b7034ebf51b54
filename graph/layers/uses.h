// Uses: who makes and who reads each value of Layers, and the look from a result back to what made it.
//
//   mean(sub(mul(rsub(1, y), x), log_sigmoid(x)))   at the mean: Operand(mean, 0, "sub"), Operand(sub, 1,
//   "log_sigmoid")
//
// Built once for Layers that do not change while it is asked.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "graph/layers/layers.h"

namespace vramplan {

// A tensor that the code makes of nothing: zeros, ones, full, empty. An input gives the type alone.
bool IsCreation(const Layer& layer);

class Uses {
 public:
  explicit Uses(const Layers& layers);

  // Operand `i` of a layer; invalid when it is absent (or the layer null).
  static ValueId In(const Layer* layer, size_t i) {
    return layer != nullptr && i < layer->inputs.size() ? layer->inputs[i] : ValueId{};
  }
  // The layer that makes a value; null when none does.
  const Layer* MakerOf(ValueId id) const;
  // The layer that makes operand `i` of `layer`, when it is an `op`; null otherwise.
  const Layer* Operand(const Layer* layer, size_t i, std::string_view op) const;
  // The places of the layers that read a value, in order, one entry a reading; the caller's: past the last layer.
  std::span<const int32_t> ReadersOf(ValueId id) const;
  // The same without the caller.
  std::span<const int32_t> LayersReading(ValueId id) const;
  // The layer that alone reads a value, once; null when others do or the caller does.
  const Layer* OnlyReaderOf(ValueId id) const;
  // What a value was made of by these operators, each by its first operand; the value itself where another made it.
  ValueId Behind(std::initializer_list<std::string_view> ops, ValueId id) const;
  // Behind views that only change sizes: the value that they look at.
  ValueId BehindViews(ValueId id) const { return Behind({"reshape", "view", "unsqueeze", "squeeze", "expand"}, id); }
  bool IsStored(ValueId id) const;  // a buffer, or a constant of the program
  size_t PlaceOf(const Layer* layer) const { return static_cast<size_t>(layer - layers_.layers.data()); }
  // -1 when no layer makes it.
  int PlaceOfMaker(ValueId id) const { return id.valid() && id.index() < maker_.size() ? maker_[id.index()] : -1; }
  const Layers& layers() const { return layers_; }

 private:
  const Layers& layers_;
  std::vector<int32_t> maker_;            // place, by value; -1: none
  std::vector<int32_t> first_, reading_;  // of value v: reading_[first_[v] .. first_[v + 1])
};

}  // namespace vramplan
