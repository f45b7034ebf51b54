// Changed, ReadAs: the reading of layers of which some are meant otherwise, each for itself.
//
//   ReadAs(Changed(layers, is_sum, set_in_place), "in-place-sums", "assumed: ...", "what tells")     nothing: none is
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "graph/lift/readings/readings.h"

namespace vramplan {

template <typename Is>
bool Any(const Layers& layers, const Is& is) {
  return std::ranges::any_of(layers.layers, is);
}

// The layers with those changed that are meant; nothing: none is.
template <typename Is, typename Change>
std::optional<Layers> Changed(const Layers& layers, const Is& is, const Change& change) {
  if (!Any(layers, is)) return std::nullopt;
  Layers other = layers;
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    if (is(layers.layers[l])) change(other.layers[l]);
  }
  return other;
}

inline std::optional<Reading> ReadAs(std::optional<Layers> other, const char* code, std::string text,
                                     std::string hint) {
  if (!other) return std::nullopt;
  return Reading{code, std::move(text), std::move(hint), *std::move(other)};
}

}  // namespace vramplan
