// Unused signatures. Keras' export with the PyTorch backend (keras 3.12, keras/src/export/onnx.py) runs over its
// variables' values: torch.export captures them as constants, and lists parameters that no operator names.
//
//   p_kernel: PARAMETER, c_lifted_tensor_8: CONSTANT_TENSOR, linear(x, c_lifted_tensor_8)
//
// Such a file says less than it seems to: without signature and provenance its stored tensors are what they are used
// as.
#include <cctype>
#include <string>
#include <string_view>
#include <unordered_set>

#include "graph/lift/dynamo/fx_text.h"
#include "graph/lift/dynamo/passes.h"

namespace vramplan {
namespace {

bool IsNameCharacter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

// Whether the text has "%name" with one of the names.
bool NamesOne(std::string_view text, const std::unordered_set<std::string>& names) {
  for (size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1)) {
    size_t end = at + 1;
    while (end < text.size() && IsNameCharacter(text[end])) ++end;
    if (names.contains(std::string(text.substr(at + 1, end - at - 1)))) return true;
  }
  return false;
}

}  // namespace

std::optional<GraphState> WithoutUnusedSignature(const Graph& graph, const Shapes& shapes, Notes*) {
  if (graph.signature.empty()) return std::nullopt;
  std::unordered_set<std::string> parameters;
  bool constants = false;
  for (const SignatureEntry& entry : ParseSignature(graph.signature)) {
    if (entry.kind == SignatureEntry::Kind::kParameter) parameters.insert(entry.placeholder);
    constants |= entry.kind == SignatureEntry::Kind::kConstant;
  }
  if (parameters.empty() || !constants) return std::nullopt;
  for (const Node& node : graph.nodes) {
    if (NamesOne(node.provenance.fx_node, parameters)) return std::nullopt;
  }
  GraphState plain{graph, shapes, {}};
  plain.graph.signature.clear();
  plain.graph.producer = "keras";
  for (Node& node : plain.graph.nodes) node.provenance = Provenance();
  return plain;
}

}  // namespace vramplan
