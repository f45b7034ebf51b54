// Walk: Layers looked at from a result back to what made it; and calls put in the place of the layers that an exporter
// took them apart into.
//
//   mean(sub(mul(rsub(1, y), x), log_sigmoid(x)))   at the mean: Operand(mean, 0, "sub") .. Operand(sub, 1,
//   "log_sigmoid")
//   PutCalls({mean's place: bce_logits(x, y)})      the mean became the call; the others, which nobody reads any more,
//                                                   are gone
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <vector>

#include "graph/lift/layers.h"

namespace vramplan {

class Walk {
 public:
  explicit Walk(const Layers& layers);

  // Operand `i` of a layer; invalid when it is absent (or the layer null).
  static ValueId In(const Layer* layer, size_t i) {
    return layer != nullptr && i < layer->inputs.size() ? layer->inputs[i] : ValueId{};
  }
  // The layer that makes a value; null when none does.
  const Layer* MakerOf(ValueId id) const;
  // The layer that makes operand `i` of `layer`, when it is an `op`; null otherwise.
  const Layer* Operand(const Layer* layer, size_t i, std::string_view op) const;
  // The layer that alone reads a value, once; null when others do or the caller does.
  const Layer* OnlyReaderOf(ValueId id) const;
  // Behind views that only change sizes: the value that they look at.
  ValueId BehindViews(ValueId id) const;
  bool IsStored(ValueId id) const;  // a buffer, or a constant of the program
  size_t PlaceOf(const Layer* layer) const { return static_cast<size_t>(layer - layers_.layers.data()); }
  const Layers& layers() const { return layers_; }

 private:
  const Layers& layers_;
  std::map<ValueId, size_t> maker_;
  std::map<ValueId, std::vector<size_t>> readers_;  // one entry a reading; the caller: past the last layer
};

// Each call takes the place of a layer; the layers at `gone`, whose results calls make now, go, and so do those that
// were read only by what is gone.
void PutCalls(Layers* layers, std::map<size_t, Layer> calls, const std::set<size_t>& gone = {});

}  // namespace vramplan
