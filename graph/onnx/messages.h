// The messages of a compact model, read in place: names, nodes and subgraphs are views into its bytes, which outlive
// them. Only leaves become protobuf messages, one at a time: a tensor, a type, an attribute without subgraphs.
//
//   100'000 nodes: 5.5 MB of bytes; as protobuf messages, all at once, 50 MB
//
// A field that a message may have once and has several times counts as it stands last.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/base/result.h"

namespace google::protobuf {
class MessageLite;
}

namespace vramplan {

// Field numbers: onnx/onnx.proto of ONNX 1.22.
namespace field {
inline constexpr uint32_t kModelGraph = 7, kModelOpset = 8, kModelMetadata = 14, kModelFunction = 25;
inline constexpr uint32_t kGraphNode = 1, kGraphName = 2, kGraphInitializer = 5, kGraphInput = 11, kGraphOutput = 12,
                          kGraphValue = 13, kGraphSparseInitializer = 15, kGraphMetadata = 16;
inline constexpr uint32_t kFunctionName = 1, kFunctionInput = 4, kFunctionOutput = 5, kFunctionNode = 7,
                          kFunctionOpset = 9, kFunctionDomain = 10, kFunctionDefault = 11, kFunctionOverload = 13;
inline constexpr uint32_t kTensorName = 8, kSparseValues = 1, kValueName = 1, kValueType = 2;
}  // namespace field

// The payloads of the fields of one number, in the order of the file; of one of them, the last.
std::vector<std::string_view> Payloads(std::string_view message, uint32_t number);
std::string_view Payload(std::string_view message, uint32_t number);  // empty when there is none

struct NodeView {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attributes, metadata;  // messages

  // Takes another node in; the vectors keep their memory.
  void Read(std::string_view message);
};

struct AttributeView {
  std::string_view message, name;
  std::string_view reference;             // ref_attr_name: the function's attribute that it stands for
  std::optional<std::string_view> graph;  // of type GRAPH
  std::vector<std::string_view> graphs;   // of type GRAPHS

  explicit AttributeView(std::string_view bytes);
};

// A leaf as a protobuf message; of a model, its header: all that is neither graph nor functions.
Status Parse(std::string_view bytes, google::protobuf::MessageLite* message);
Status ParseHeader(std::string_view model, google::protobuf::MessageLite* header);

}  // namespace vramplan
