#include "graph/onnx/load.h"

#include <optional>
#include <string_view>

#include "graph/facts/read_facts.h"
#include "graph/onnx/build.h"
#include "graph/onnx/compact.h"
#include "graph/onnx/kind_of_file.h"
#include "graph/onnx/mapped_file.h"
#include "graph/onnx/messages.h"
#include "graph/onnx/tables.h"
#include "graph/onnx/unroll.h"
#include "graph/onnx/wire.h"
#include "graph/pt2/load_pt2.h"

namespace vramplan {
namespace {

// Of a file that is called a program, and is none: nobody took it for an ONNX model.
Error NotAProgram(const std::string& name, std::string_view bytes) {
  const std::optional<FileKind> kind = KindOfFile(bytes);
  const std::string_view what = !kind                           ? "no zip archive"
                                : kind->what == "a zip archive" ? "another zip archive"
                                                                : kind->what;
  const bool is_elsewhere = kind && kind->hint.find("onnx") == kind->hint.npos;
  return {ErrorCode::kBadInput, name, "not a program of torch.export: it is " + std::string(what),
          is_elsewhere ? std::string(kind->hint) : "give the .pt2 file that torch.export.save wrote"};
}

Result<std::string> CompactModel(const std::string& name, std::string_view bytes, RawPlaces* raw) {
  if (const auto kind = KindOfFile(bytes)) {
    return Error{ErrorCode::kBadInput, name, "not an ONNX model: it is " + std::string(kind->what),
                 std::string(kind->hint)};
  }
  return Compact(name, bytes, {}, raw);
}

Result<Graph> BuildCompact(std::string_view model, Notes* notes) {
  const std::string_view graph = Payload(model, field::kModelGraph);
  const Result<std::string> unrolled = UnrollSequences(graph);
  if (!unrolled) return unrolled.error();
  Notes unheard;
  return BuildGraph(model, unrolled->empty() ? graph : *unrolled, notes != nullptr ? notes : &unheard);
}

// `bytes`: the file's.
Result<Graph> LoadModel(const std::string& name, std::string_view bytes, Notes* notes) {
  if (IsProgramArchive(bytes)) return LoadProgram(name, bytes, notes);
  if (name.ends_with(".pt2")) return NotAProgram(name, bytes);
  RawPlaces raw;
  const Result<std::string> compact = CompactModel(name, bytes, &raw);
  if (!compact) return compact.error();
  Result<Graph> graph = BuildCompact(*compact, notes);
  if (!graph) {
    Error error = graph.error();
    error.subject = name;
    return error;
  }
  graph->file = name;
  SampleTables(raw, &*graph);
  return graph;
}

}  // namespace

Result<Graph> Load(const std::string& path, Notes* notes) {
  const Result<MappedFile> file = MappedFile::Open(path);
  if (!file) return file.error();
  return LoadModel(path == "-" ? "standard input" : path, file->bytes(), notes);
}

Result<Graph> LoadFromBytes(const std::string& name, const void* data, size_t size, Notes* notes) {
  return LoadModel(name, {static_cast<const char*>(data), size}, notes);
}

std::optional<Facts> FactsIn(const std::string& path) {
  const Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return std::nullopt;
  if (IsProgramArchive(file->bytes())) return FactsInProgram(file->bytes());
  std::optional<Facts> facts;
  wire::Reader reader(file->bytes());
  for (wire::Field at; reader.Next(&at);) {
    if (at.number != field::kModelMetadata || at.kind != wire::Kind::kBytes) continue;
    const MetadataEntry entry = ReadMetadataEntry(at.payload);
    if (entry.key != kFactsKey) continue;
    if (Result<Facts> read = ReadFacts(entry.value); read.ok()) facts = *std::move(read);
  }
  return facts;
}

}  // namespace vramplan
