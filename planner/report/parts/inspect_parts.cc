#include "planner/report/parts/inspect_parts.h"

#include <algorithm>

namespace vramplan {

std::string BatchName(const Inspection& inspection) {
  const bool named = inspection.binding && !inspection.binding->batch_symbol.empty();
  return named ? inspection.binding->batch_symbol : "B";
}

namespace {

PrintedDim Printed(Dim dim, const std::string& batch, bool at_most) {
  if (dim.IsConstant()) return {dim.c0(), "", at_most};
  return {std::nullopt, dim.known() ? ToString(dim, batch) : "", at_most && dim.known()};
}

}  // namespace

std::optional<std::vector<PrintedDim>> ShapeOf(const Inspection& inspection, TensorId id) {
  std::vector<PrintedDim> dims;
  if (inspection.shapes) {
    const std::string batch = BatchName(inspection);
    const std::optional<Shape>& shape = (*inspection.shapes)[id].shape;
    const std::optional<Shape> bound = inspection.bounds ? (*inspection.bounds)[id].shape : std::nullopt;
    if (shape) {
      for (int axis = 0; axis < shape->rank(); ++axis) {
        const bool bounded = !(*shape)[axis].known() && bound && bound->rank() == shape->rank();
        dims.push_back(Printed(bounded ? (*bound)[axis] : (*shape)[axis], batch, bounded));
      }
      return dims;
    }
  }
  const Tensor& tensor = inspection.graph[id];
  if (tensor.stored) {
    for (const int64_t length : tensor.stored->dims) dims.push_back({length, ""});
    return dims;
  }
  if (!tensor.declared || !tensor.declared->dims) return std::nullopt;
  for (const DeclaredDim& d : *tensor.declared->dims) dims.push_back({d.length, d.symbol});
  return dims;
}

std::string_view TypeOf(const Inspection& inspection, TensorId id) {
  if (inspection.shapes && (*inspection.shapes)[id].type != DType::kUndefined)
    return Name((*inspection.shapes)[id].type);
  const Tensor& tensor = inspection.graph[id];
  if (tensor.stored) return Name(tensor.stored->type);
  return Name(tensor.declared ? tensor.declared->type : DType::kUndefined);
}

std::string ShapeText(const Inspection& inspection, TensorId id) {
  const auto dims = ShapeOf(inspection, id);
  if (!dims) return "?";
  std::string text = "[";
  for (size_t i = 0; i < dims->size(); ++i) {
    const PrintedDim& d = (*dims)[i];
    if (i > 0) text += ", ";
    if (d.at_most) text += "<=";
    text += d.length ? std::to_string(*d.length) : d.expression.empty() ? "?" : d.expression;
  }
  return text + "]";
}

std::vector<TensorId> UnknownTensors(const Inspection& inspection) {
  std::vector<TensorId> unknown;
  if (!inspection.shapes) return unknown;
  for (size_t i = 0; i < inspection.graph.tensors.size(); ++i) {
    const TensorFacts& facts = inspection.shapes->tensors[i];
    if (facts.is_tensor && !(facts.shape && facts.shape->known())) unknown.push_back({static_cast<int32_t>(i)});
  }
  return unknown;
}

std::vector<std::pair<std::string, int64_t>> CountOperators(const Graph& graph) {
  std::map<std::string, int64_t> counts;
  for (const Node& node : graph.nodes) ++counts[node.domain.empty() ? node.op : node.domain + "." + node.op];
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return sorted;
}

std::map<std::string, LiftCount> CountLayers(const Layers& layers) {
  std::map<std::string, LiftCount> counts;
  for (const Layer& layer : layers.layers) {
    LiftCount& count = counts[layer.op];
    ++count.layers;
    if (layer.evidence == Evidence::kNode) ++count.node;
    if (layer.evidence == Evidence::kPattern) ++count.pattern;
    if (layer.evidence == Evidence::kProvenance) ++count.provenance;
  }
  return counts;
}

StoredCount CountStored(const Layers& layers, const std::vector<ValueId>& ids) {
  StoredCount count;
  for (const ValueId id : ids) {
    const Dim elements = layers[id].shape.Elements();
    if (!elements.known()) continue;
    ++count.tensors;
    count.elements = SaturatingAdd(count.elements, elements.At(1));
    count.bytes += StoredBytes(layers[id].type, elements.At(1));
  }
  return count;
}

StoredCount CountInitializers(const Graph& graph) {
  StoredCount count;
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.stored || tensor.producer.valid()) continue;
    int64_t elements = 1;
    for (const int64_t length : tensor.stored->dims) elements = SaturatingMultiply(elements, length);
    ++count.tensors;
    count.elements = SaturatingAdd(count.elements, elements);
    count.bytes += StoredBytes(tensor.stored->type, elements);
  }
  return count;
}

std::string_view Name(Evidence evidence) {
  switch (evidence) {
    case Evidence::kNode:
      return "node";
    case Evidence::kPattern:
      return "pattern";
    case Evidence::kProvenance:
      return "provenance";
  }
  return "";
}

}  // namespace vramplan
