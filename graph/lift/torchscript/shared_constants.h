// Shared constants. A buffer that is in no state dict (persistent=False) is a Constant node in TorchScript's files, and
// of nodes that are equal the exporter keeps the first:
//
//   Slice(onnx::Slice_208, ...)     in h.0.attn     register_buffer('bias', mask, persistent=False)
//   Slice(onnx::Slice_208, ...)     in h.1.attn     3 masks of 1 MiB on the card, one in the file
//   Slice(onnx::Slice_208, ...)     in h.2.attn
//
// Modules that are copies of each other have paths that differ in their numbers alone.
#pragma once

#include <optional>

#include "graph/lift/simplifiers/merged_stored.h"

namespace vramplan {

// The graph in which every such module has a constant of its own; nothing when none were shared. Nodes keep their ids;
// new tensors come last.
std::optional<Separated> SeparateSharedConstants(const Graph& graph, const Shapes& shapes);

}  // namespace vramplan
