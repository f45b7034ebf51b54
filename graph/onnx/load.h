// Load: an .onnx file becomes a Graph, and a .pt2 file does (graph/pt2). The only folder that sees protobuf and ONNX.
#pragma once

#include <optional>
#include <string>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/ir/graph.h"

namespace vramplan {

// Reads structure only: weight bytes (raw_data and the typed data fields of large tensors) are skipped on the wire, so
// a file of 2 GB with its weights inside loads like its stripped twin, but for 64 elements of matrices that may be tied
// (tables.h); external data files are never opened. Errors
// (each names the file): unreadable, not ONNX, truncated, no nodes, a cycle, a name given twice, an input that nobody
// makes.
Result<Graph> Load(const std::string& path, Notes* notes);

// The same from bytes in memory; `name` stands for the file in messages.
Result<Graph> LoadFromBytes(const std::string& name, const void* data, size_t size, Notes* notes);

// Only the facts of a file (docs/facts.md), without its graph: nothing where there are none, or none that can be read;
// Load says why.
std::optional<Facts> FactsIn(const std::string& path);

}  // namespace vramplan
