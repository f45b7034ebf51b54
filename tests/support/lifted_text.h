// Layers as lines of text, so that a test compares whole results:
//
//   linear(x, fc.weight, fc.bias) -> [B, 10]
//   dropout(linear) -> [B, 10] p=0.5
//
// "-" is an absent operand. Attributes follow in alphabetical order. A module is shown in front: "fc: linear(...)".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/base/note.h"
#include "graph/layers/layers.h"

namespace vramplan::testing {

std::vector<std::string> LinesOf(const Layers& layers);

// Reads the graph (tests/support/onnx_text.h), with the first input's first axis as the batch, and lifts it as if
// `producer` had written it.
Layers Lifted(std::string_view text, Notes* notes = nullptr, const std::string& producer = "pytorch 2.10.0");
std::vector<std::string> LiftedLines(std::string_view text, const std::string& producer = "pytorch 2.10.0");

}  // namespace vramplan::testing
