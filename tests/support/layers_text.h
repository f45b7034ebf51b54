// Layers as text, one line a layer, so that tests compare whole answers:
//
//   batch_norm norm @bn (conv2d, bn.weight, bn.bias) -> getitem [B, 8, 6, 6] {training=1}
//   ^op        ^name ^module path, nothing for the root  ^outputs with shapes  ^attributes
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/note.h"
#include "graph/layers/layers.h"

namespace vramplan {

// Graph text (onnx_text.h) through Bind, Infer and Lift; an error ends the test. Notes of Lift go to `notes` when
// given.
Layers LayersFromText(std::string_view text, Notes* notes = nullptr);

// One line of each layer, joined by newlines, with one at the beginning and one at the end (to sit in raw strings).
std::string ToText(const Layers& layers);

// "fc.weight [10, 3]", with the type when it is not float32.
std::string ToText(const Value& value);
std::vector<std::string> ToText(const Layers& layers, const std::vector<ValueId>& values);

}  // namespace vramplan
