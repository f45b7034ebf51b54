#include "graph/layers/trained.h"
#include "planner/lifetimes/lifetimes.h"
#include "planner/report/inspect.h"
#include "planner/report/json/parts.h"
#include "planner/report/parts/inspect_parts.h"
#include "planner/spec/trained.h"

namespace vramplan {
namespace {

Json TensorJson(const Inspection& inspection, TensorId id) {
  // "shape" is what is known; "at_most" is there when data decides a length that has an upper bound.
  Json shape, at_most;
  bool bounded = false;
  if (const auto dims = ShapeOf(inspection, id)) {
    shape = Json::Array();
    at_most = Json::Array();
    for (const PrintedDim& d : *dims) {
      const Json length = d.length ? Json(*d.length) : d.expression.empty() ? Json() : Json(d.expression);
      shape.Push(d.at_most ? Json() : length);
      at_most.Push(length);
      bounded = bounded || d.at_most;
    }
  }
  Json object = Json::Object();
  object.Set("name", inspection.graph[id].name).Set("type", TypeOf(inspection, id)).Set("shape", std::move(shape));
  if (bounded) object.Set("at_most", std::move(at_most));
  return object;
}

Json TensorsJson(const Inspection& inspection, const std::vector<TensorId>& ids) {
  Json array = Json::Array();
  for (const TensorId id : ids) array.Push(TensorJson(inspection, id));
  return array;
}

Json ValueNames(const Layers& layers, const std::vector<ValueId>& ids) {
  Json array = Json::Array();
  for (const ValueId id : ids) array.Push(id.valid() ? Json(layers[id].name) : Json());
  return array;
}

Json ParametersJson(const Layers& layers) {
  Json array = Json::Array();
  for (const ValueId id : layers.parameters) {
    Json shape = Json::Array();
    for (const Dim& length : layers[id].shape) shape.Push(length.IsConstant() ? Json(length.At(1)) : Json());
    Json object = Json::Object();
    object.Set("name", layers[id].name)
        .Set("type", Name(layers[id].type))
        .Set("shape", std::move(shape))
        .Set("trained", IsTrained(layers, id));
    array.Push(std::move(object));
  }
  return array;
}

Json HoldsJson(const Layers& layers) {
  Json array = Json::Array();
  for (const Held& held : HoldsOf(layers)) {
    Json object = Json::Object();
    object.Set("name", layers[held.value].name)
        .Set("until", held.until < 0 ? Json() : Json(layers.layers[static_cast<size_t>(held.until)].name))
        .Set("rule", held.rule);
    array.Push(std::move(object));
  }
  return array;
}

Json LayersJson(const Inspection& inspection) {
  const Layers& layers = *inspection.layers;
  Json array = Json::Array();
  for (const Layer& layer : layers.layers) {
    Json nodes = Json::Array();
    for (const NodeId id : layer.nodes) nodes.Push(inspection.graph[id].name);
    Json object = Json::Object();
    object.Set("name", layer.name)
        .Set("op", layer.op)
        .Set("module", layer.module.valid() ? layers[layer.module].path : std::string())
        .Set("evidence", Name(layer.evidence))
        .Set("inputs", ValueNames(layers, layer.inputs))
        .Set("outputs", ValueNames(layers, layer.outputs))
        .Set("nodes", std::move(nodes));
    array.Push(std::move(object));
  }
  return array;
}

Json PassesJson(const std::vector<PassCount>& passes) {
  Json array = Json::Array();
  for (const PassCount& pass : passes) {
    Json row = Json::Object();
    row.Set("pass", std::string(pass.name))
        .Set("files", std::string(pass.files))
        .Set("changes", pass.changes)
        .Set("because", std::string(pass.why));
    array.Push(std::move(row));
  }
  return array;
}

Json WhyJson(const Inspection& inspection) {
  const Why& why = *inspection.why;
  const auto texts = [](const std::vector<std::string>& lines) {
    Json array = Json::Array();
    for (const std::string& line : lines) array.Push(line);
    return array;
  };
  Json asked = Json::Array();
  for (const Why::Asked& rule : why.asked) {
    Json row = Json::Object();
    row.Set("rule", rule.rule).Set("matched", rule.matched).Set("reasons", texts(rule.reasons));
    asked.Push(std::move(row));
  }
  Json stages = Json::Array();
  for (const Why::Stage& stage : why.stages) {
    Json row = Json::Object();
    row.Set("stage", stage.name).Set("calls", texts(stage.calls));
    stages.Push(std::move(row));
  }
  Json object = Json::Object();
  object.Set("node", inspection.graph[why.node].name).Set("asked", std::move(asked)).Set("stages", std::move(stages));
  return object;
}

}  // namespace

Json ToJson(const Inspection& inspection, Dump dump) {
  const Graph& graph = inspection.graph;
  Json opsets = Json::Object();
  for (const auto& [domain, version] : graph.opsets) opsets.Set(domain.empty() ? "ai.onnx" : domain, version);
  Json operators = Json::Object();
  for (const auto& [op, count] : CountOperators(graph)) operators.Set(op, count);
  Json object = Json::Object();
  object.Set("schema", "vramplan.inspect/1")
      .Set("file", graph.file)
      .Set("graph", graph.name)
      .Set("ir_version", graph.ir_version)
      .Set("opset", graph.opset())
      .Set("opsets", std::move(opsets))
      .Set("producer", graph.producer)
      .Set("nodes", static_cast<int64_t>(graph.nodes.size()))
      .Set("inputs", TensorsJson(inspection, graph.inputs))
      .Set("outputs", TensorsJson(inspection, graph.outputs))
      .Set("batch_symbol", inspection.binding ? inspection.binding->batch_symbol : std::string())
      .Set("fixed_batch",
           inspection.binding && inspection.binding->fixed_batch ? Json(*inspection.binding->fixed_batch) : Json());
  Json lengths = Json::Array();
  for (const FreeLength& length : inspection.lengths) {
    Json row = Json::Object();
    lengths.Push(row.Set("name", length.name).Set("usual", length.usual));
  }
  object.Set("free_lengths", std::move(lengths));
  if (inspection.layers) {
    const StoredCount parameters = CountStored(*inspection.layers, inspection.layers->parameters);
    const StoredCount buffers = CountStored(*inspection.layers, inspection.layers->buffers);
    const TrainedCount trained = CountTrained(*inspection.layers);
    object.Set("parameters", parameters.elements)
        .Set("parameter_bytes", parameters.bytes)
        .Set("parameter_tensors", parameters.tensors)
        .Set("trained_parameters", trained.trained)
        .Set("frozen_parameters", trained.frozen)
        .Set("buffer_bytes", buffers.bytes)
        .Set("buffer_tensors", buffers.tensors);
  }
  object.Set("operators", std::move(operators));
  if (inspection.layers) {
    Json lifted = Json::Array();
    for (const auto& [op, count] : CountLayers(*inspection.layers)) {
      Json row = Json::Object();
      row.Set("op", op)
          .Set("layers", count.layers)
          .Set("node", count.node)
          .Set("pattern", count.pattern)
          .Set("provenance", count.provenance);
      lifted.Push(std::move(row));
    }
    object.Set("lifted", std::move(lifted));
    if (dump == Dump::kParameters) object.Set("parameter_list", ParametersJson(*inspection.layers));
    if (dump == Dump::kHolds) object.Set("holds", HoldsJson(*inspection.layers));
    if (dump == Dump::kLayers) object.Set("layers", LayersJson(inspection));
    if (inspection.why) object.Set("why", WhyJson(inspection));
    if (dump == Dump::kPasses) object.Set("passes", PassesJson(inspection.passes));
  }
  std::vector<TensorId> all;
  for (size_t i = 0; i < graph.tensors.size(); ++i) all.push_back({static_cast<int32_t>(i)});
  Json unknown = Json::Array();
  for (const TensorId id : UnknownTensors(inspection)) unknown.Push(graph[id].name);
  object.Set("tensors", TensorsJson(inspection, all))
      .Set("unknown_shapes", std::move(unknown))
      .Set("notes", JsonOf(inspection.notes));
  return object;
}

}  // namespace vramplan
