// Compact: an ONNX model without what vramplan never looks at, so that protobuf parses kilobytes where the file has
// gigabytes.
//
// Copied: structure, names, attributes, tensors of at most ConstantValues::kMaxElements elements, the five provenance
// strings of a node (stack traces as long as all of them together are small), what a stored tensor was folded from, the
// graph signature and vramplan.facts. Left out: weight bytes (raw_data and the typed fields of larger tensors, which are jumped over, never read), external_data entries,
// doc strings, other metadata (namespaces), training_info, and every field that no rule names.
//
//   ResNet-50 with its weights: 102'469'000 B in the file, 47'000 B here
//
// What is left out is a matter of the table in compact.cc and of nothing else.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/result.h"
#include "graph/onnx/tables.h"

namespace vramplan {

inline constexpr int kMaxNesting = 256;  // subgraphs within subgraphs

// Messages within messages: a subgraph takes three (attribute, graph, node), what is in its nodes a few more.
inline constexpr int kMaxMessageDepth = 3 * kMaxNesting + 8;

struct CompactLimits {
  size_t bytes = size_t{128} << 20;     // of structure; the largest graph we know of has 60 MB
  int64_t messages = int64_t{1} << 22;  // nodes, attributes, tensors, declared values
  size_t traces = size_t{32} << 20;     // of stack traces, the first of the file: what comes behind is left out
};

// `file` is the whole serialized ModelProto; `name` is what errors call it. Errors: not a protobuf message, no graph
// inside, truncated, damaged, nested too deep, more structure than the limits.
// `raw`: gets the places of the raw_data that is left out, by the tensors' names.
Result<std::string> Compact(const std::string& name, std::string_view file, const CompactLimits& limits = {},
                            RawPlaces* raw = nullptr);

// The key and the value of a serialized StringStringEntryProto; empty views where they are absent.
struct MetadataEntry {
  std::string_view key, value;
};
MetadataEntry ReadMetadataEntry(std::string_view message);

inline constexpr std::string_view kFxNodeKey = "pkg.torch.onnx.fx_node";
inline constexpr std::string_view kNameScopesKey = "pkg.torch.onnx.name_scopes";
inline constexpr std::string_view kClassHierarchyKey = "pkg.torch.onnx.class_hierarchy";
inline constexpr std::string_view kRewriteRulesKey = "pkg.onnxscript.rewriter.rule_name";
inline constexpr std::string_view kStackTraceKey = "pkg.torch.onnx.stack_trace";
inline constexpr std::string_view kGraphSignatureKey = "pkg.torch.export.ExportedProgram.graph_signature";

}  // namespace vramplan
