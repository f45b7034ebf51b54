#include "graph/onnx/load.h"

#include <string_view>

#include "graph/onnx/build.h"
#include "graph/onnx/compact.h"
#include "graph/onnx/kind_of_file.h"
#include "graph/onnx/mapped_file.h"
#include "graph/onnx/messages.h"
#include "graph/onnx/unroll.h"

namespace vramplan {
namespace {

Result<std::string> CompactModel(const std::string& name, std::string_view bytes) {
  if (const auto kind = KindOfFile(bytes)) {
    return Error{ErrorCode::kBadInput, name, "not an ONNX model: it is " + std::string(kind->what),
                 std::string(kind->hint)};
  }
  return Compact(name, bytes);
}

Result<Graph> BuildCompact(std::string_view model, Notes* notes) {
  const std::string_view graph = Payload(model, field::kModelGraph);
  const Result<std::string> unrolled = UnrollSequences(graph);
  if (!unrolled) return unrolled.error();
  Notes unheard;
  return BuildGraph(model, unrolled->empty() ? graph : *unrolled, notes != nullptr ? notes : &unheard);
}

Result<Graph> LoadCompact(const std::string& name, const Result<std::string>& compact, Notes* notes) {
  if (!compact) return compact.error();
  Result<Graph> graph = BuildCompact(*compact, notes);
  if (!graph) {
    Error error = graph.error();
    error.subject = name;
    return error;
  }
  graph->file = name;
  return graph;
}

// The file is let go before its messages are read.
Result<std::string> CompactFile(const std::string& path) {
  const Result<MappedFile> file = MappedFile::Open(path);
  if (!file) return file.error();
  return CompactModel(path, file->bytes());
}

}  // namespace

Result<Graph> Load(const std::string& path, Notes* notes) { return LoadCompact(path, CompactFile(path), notes); }

Result<Graph> LoadFromBytes(const std::string& name, const void* data, size_t size, Notes* notes) {
  return LoadCompact(name, CompactModel(name, {static_cast<const char*>(data), size}), notes);
}

}  // namespace vramplan
