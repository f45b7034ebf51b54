#include "planner/report/parts/model_facts.h"

#include <algorithm>

#include "graph/base/printable.h"
#include "planner/spec/trained.h"

namespace vramplan {
namespace {

// Elements and bytes of values whose shape never depends on the batch.
void Count(const Layers& layers, const std::vector<ValueId>& ids, int64_t* elements, Bytes* bytes) {
  for (const ValueId id : ids) {
    const Dim count = layers[id].shape.Elements();
    if (!count.known()) continue;
    *elements = SaturatingAdd(*elements, count.At(1));
    *bytes += StoredBytes(layers[id].type, count.At(1));
  }
}

}  // namespace

ModelFacts FactsOf(const Graph& graph, const Binding& binding, const Layers& layers) {
  ModelFacts facts;
  facts.file = graph.file;
  facts.opset = graph.opset();
  facts.nodes = static_cast<int64_t>(graph.nodes.size());
  Count(layers, layers.parameters, &facts.parameters, &facts.parameter_bytes);
  const TrainedCount count = CountTrained(layers);
  facts.trained = count.trained;
  facts.frozen = count.frozen;
  Count(layers, layers.buffers, &facts.buffers, &facts.buffer_bytes);
  facts.trained_known = layers.told.tensors;
  facts.checkpoints_known = layers.told.code || !layers.source.stacks.empty();
  facts.exported = layers.exported;
  facts.has_dropouts = std::ranges::any_of(layers.layers, [](const Layer& layer) { return layer.op == "dropout"; });
  facts.unread_left_out = layers.unread_left_out;
  facts.batch_symbol = binding.batch_symbol;
  facts.has_batch = std::any_of(binding.inputs.begin(), binding.inputs.end(), [](const auto& input) {
    return std::any_of(input.second.begin(), input.second.end(), [](const Dim& d) { return !d.IsConstant(); });
  });
  return facts;
}

std::string FileName(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  return OneLine(slash == std::string::npos ? path : path.substr(slash + 1));
}

}  // namespace vramplan
