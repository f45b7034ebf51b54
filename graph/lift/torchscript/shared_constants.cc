// Shared constants. A buffer that is in no state dict (persistent=False) is a Constant node in TorchScript's files, and
// of nodes that are equal the exporter keeps the first:
//
//   Slice(onnx::Slice_208, ...)     in h.0.attn     register_buffer('bias', mask, persistent=False)
//   Slice(onnx::Slice_208, ...)     in h.1.attn     3 masks of 1 MiB on the card, one in the file
//   Slice(onnx::Slice_208, ...)     in h.2.attn
//
// Modules that are copies of each other have paths that differ in their numbers alone.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/text.h"
#include "graph/lift/liveness.h"
#include "graph/lift/torchscript/passes.h"
#include "graph/lift/torchscript/patterns_modules.h"

namespace vramplan {
namespace {

struct ConstantReader {
  NodeId node;
  size_t input = 0;
};

// Long enough for a buffer of a module; shorter ones are numbers that code writes down, and cost nothing.
bool IsConstantTable(const Graph& graph, TensorId tensor) {
  constexpr int64_t kMostOfCode = 64;
  if (!graph.IsStored(tensor) || !graph[tensor].stored->literal) return false;
  int64_t elements = 1;
  for (const int64_t length : graph[tensor].stored->dims) {
    elements = SaturatingMultiply(elements, length);
    if (elements <= 0 || elements > int64_t{1} << 40) return false;
  }
  return elements > kMostOfCode;
}

}  // namespace

std::optional<GraphState> SeparateSharedConstants(const Graph& graph, const Shapes& shapes, Notes*) {
  // The dynamo exporter stores such buffers under their names.
  if (!graph.signature.empty()) return std::nullopt;
  std::map<TensorId, std::vector<ConstantReader>> readers;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (IsConstantTable(graph, node.inputs[i]) && !IsShapeOperand(node, i))
        readers[node.inputs[i]].push_back({NodeId::At(n), i});
    }
  }
  std::erase_if(readers, [](const auto& entry) { return entry.second.size() < 2; });
  if (readers.empty()) return std::nullopt;
  const ModulePaths modules(graph);
  std::optional<GraphState> apart;
  for (const auto& [tensor, reading] : readers) {
    std::map<std::string, TensorId> homes;  // by module; the first keeps the one that is there
    const std::string first = modules.InnermostOf(reading[0].node);
    const bool copies = !first.empty() && std::ranges::all_of(reading, [&](const ConstantReader& reader) {
      return WithoutDigits(modules.InnermostOf(reader.node)) == WithoutDigits(first);
    });
    if (!copies) continue;
    homes[first] = tensor;
    for (const ConstantReader& reader : reading) {
      const auto [home, fresh] = homes.try_emplace(modules.InnermostOf(reader.node), TensorId{});
      if (!fresh && home->second == tensor) continue;
      if (!apart) apart = GraphState{graph, shapes, {}};
      if (fresh) {
        home->second = TensorId::At(apart->graph.tensors.size());
        apart->graph.tensors.push_back(
            {.name = graph[tensor].name + "_" + std::to_string(homes.size()), .stored = graph[tensor].stored});
        apart->shapes.tensors.push_back(shapes[tensor]);
      }
      apart->graph.nodes[reader.node.index()].inputs[reader.input] = home->second;
    }
  }
  return apart;
}

}  // namespace vramplan
