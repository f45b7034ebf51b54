#include "graph/onnx/load.h"

#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>
#include <onnx/onnx_pb.h>

#include <string_view>

#include "graph/onnx/build.h"
#include "graph/onnx/compact.h"
#include "graph/onnx/kind_of_file.h"
#include "graph/onnx/mapped_file.h"
#include "graph/onnx/unroll.h"

namespace vramplan {
namespace {

bool Parse(const std::string& bytes, onnx::ModelProto* model) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxMessageDepth + 32);  // types and tensors, which Compact does not look into
  return model->ParsePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

Result<std::string> CompactModel(const std::string& name, std::string_view bytes) {
  if (const auto kind = KindOfFile(bytes)) {
    return Error{ErrorCode::kBadInput, name, "not an ONNX model: it is " + std::string(kind->what),
                 std::string(kind->hint)};
  }
  return Compact(name, bytes);
}

Result<Graph> LoadCompact(const std::string& name, Result<std::string> compact, Notes* notes) {
  if (!compact) return compact.error();
  google::protobuf::ArenaOptions options;
  options.start_block_size = std::min<size_t>(std::max<size_t>(2 * compact->size(), 4096), size_t{4} << 20);
  options.max_block_size = size_t{1} << 20;
  google::protobuf::Arena arena(options);
  auto* model = google::protobuf::Arena::CreateMessage<onnx::ModelProto>(&arena);
  const bool parsed = Parse(*compact, model);
  *compact = std::string();  // the messages have copies: a large graph is not held twice
  if (!parsed) {
    return Error{ErrorCode::kBadInput, name, "damaged: protobuf cannot read its structure",
                 "copy, download or export it again"};
  }
  UnrollSequences(model->mutable_graph());
  Notes unheard;
  Result<Graph> graph = BuildGraph(*model, notes != nullptr ? notes : &unheard);
  if (!graph) {
    Error error = graph.error();
    error.subject = name;
    return error;
  }
  graph->file = name;
  return graph;
}

// The file is let go before its messages are parsed.
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
