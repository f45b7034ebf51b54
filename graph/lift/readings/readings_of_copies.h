// Readings of copies that an exporter writes once, or does not write.
//
//   x - mean(x), read by a variance and by a quotient                    computed once, or once for each
//   x.transpose(1, 2), beside a norm, read by a convolution or reshaped  with contiguous() behind it, or as it lies
//   a table in each copy of a module, computed by the export             the table that all of them are given, or its own
//   F.leaky_relu(conv(x), 0.2), called without a module of its own       or with inplace=True
//   Dropout of a map                                                     nn.Dropout(p), or with inplace=True
//   out = self.conv2(out) + x                                            or out += x; products likewise
#pragma once

#include <optional>

#include "graph/lift/readings/readings.h"

namespace vramplan {

// Each gives nothing where the file leaves no such doubt.
std::optional<Reading> CentringTwiceInstead(const Layers& layers);
std::optional<Reading> DenseTransposesInstead(const Layers& layers);
std::optional<Reading> OneTableInstead(const Layers& layers);
std::optional<Reading> InPlaceCallsInstead(const Layers& layers);
std::optional<Reading> InPlaceDropoutsInstead(const Layers& layers);
std::optional<Reading> InPlaceSumsInstead(const Layers& layers);
std::optional<Reading> InPlaceProductsInstead(const Layers& layers);

}  // namespace vramplan
