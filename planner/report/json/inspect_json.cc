#include <algorithm>

#include "graph/layers/trained.h"
#include "planner/lifetimes/lifetimes.h"
#include "planner/report/inspect.h"
#include "planner/report/json/parts.h"
#include "planner/report/json/schemas.h"
#include "planner/report/parts/inspect_parts.h"
#include "planner/spec/trained.h"

namespace vramplan {
namespace {

struct InspectAnswer {
  const Inspection* inspection;
  Dump dump;
  const Layers& layers() const { return *inspection->layers; }
  bool Dumps(Dump what) const { return inspection->layers && dump == what; }
};
struct TensorOf {
  const Inspection* inspection;
  TensorId id;
  std::optional<std::vector<PrintedDim>> dims = ShapeOf(*inspection, id);
};
struct LayerOf {
  const Graph* graph;
  const Layers* layers;
  const Layer* layer;
};
struct ParameterOf {
  const Layers* layers;
  ValueId id;
  const Value& operator*() const { return (*layers)[id]; }
};
struct HeldOf {
  const Layers* layers;
  Held held;
};
struct LiftedOf {
  std::string op;
  LiftCount count;
};
struct WhyOf {
  const Inspection* inspection;
};

// Of a shape: a number, an expression of names, or nothing that is known.
struct Length {
  Json value;
};

}  // namespace

template <>
struct JsonType<Length> {
  static Json Value(const Length& length) { return length.value; }
  static Json Schema(SchemaParts*) {
    Json types = Json::Array();
    types.Push("integer").Push("null").Push("string");
    Json schema = Json::Object();
    return schema.Set("type", std::move(types));
  }
};

namespace {

// What is known of it; with `bound` an upper bound where data decides.
std::optional<std::vector<Length>> LengthsOf(const TensorOf& of, bool bound) {
  if (!of.dims) return std::nullopt;
  std::vector<Length> lengths;
  for (const PrintedDim& dim : *of.dims) {
    const bool told = !dim.at_most || bound;
    lengths.push_back({!told                    ? Json()
                       : dim.length             ? Json(*dim.length)
                       : dim.expression.empty() ? Json()
                                                : Json(dim.expression)});
  }
  return lengths;
}
std::optional<std::vector<Length>> BoundsOf(const TensorOf& of) {
  const bool bounded = of.dims && std::ranges::any_of(*of.dims, &PrintedDim::at_most);
  return bounded ? LengthsOf(of, true) : std::nullopt;
}

std::vector<TensorOf> TensorsOf(const Inspection& inspection, const std::vector<TensorId>& ids) {
  std::vector<TensorOf> tensors;
  for (const TensorId id : ids) tensors.push_back({&inspection, id});
  return tensors;
}
std::vector<TensorOf> AllTensors(const Inspection& inspection) {
  std::vector<TensorId> all;
  for (size_t i = 0; i < inspection.graph.tensors.size(); ++i) all.push_back({static_cast<int32_t>(i)});
  return TensorsOf(inspection, all);
}

std::vector<std::optional<std::string>> NamesOf(const Layers& layers, const std::vector<ValueId>& ids) {
  std::vector<std::optional<std::string>> names;
  for (const ValueId id : ids) names.push_back(id.valid() ? std::optional(layers[id].name) : std::nullopt);
  return names;
}

// A field that is there where there are layers.
template <typename... Path>
auto OfLayers(Path... path) {
  const auto layers = [](const InspectAnswer& of) -> const auto& { return of.inspection->layers; };
  return Where(layers, path...);
}
StoredCount ParametersOf(const Layers& layers) { return CountStored(layers, layers.parameters); }
StoredCount BuffersOf(const Layers& layers) { return CountStored(layers, layers.buffers); }

}  // namespace

template <>
struct Described<TensorOf> {
  static constexpr const char* kName = "tensor";
  static Fields<TensorOf> Make() {
    using T = TensorOf;
    return Fields<T>()
        .Has("name", "", [](const T& of) { return of.inspection->graph[of.id].name; })
        .Has("type", "", [](const T& of) { return TypeOf(*of.inspection, of.id); })
        .Has("shape", "lengths, or expressions of names; null: not known",
             [](const T& of) { return LengthsOf(of, false); })
        .May("at_most", "where data decides a length that has an upper bound", BoundsOf);
  }
};

template <>
struct Described<FreeLength> {
  static constexpr const char* kName = "";
  static Fields<FreeLength> Make() {
    return Fields<FreeLength>().Has("name", "", &FreeLength::name).Has("usual", "", &FreeLength::usual);
  }
};

template <>
struct Described<LiftedOf> {
  static constexpr const char* kName = "";
  static Fields<LiftedOf> Make() {
    using L = LiftedOf;
    return Fields<L>()
        .Has("op", "", &L::op)
        .Has("layers", "", &L::count, &LiftCount::layers)
        .Has("node", "of one node each", &L::count, &LiftCount::node)
        .Has("pattern", "of several nodes that have its form", &L::count, &LiftCount::pattern)
        .Has("provenance", "of what the exporter said", &L::count, &LiftCount::provenance);
  }
};

template <>
struct Described<ParameterOf> {
  static constexpr const char* kName = "";
  static Fields<ParameterOf> Make() {
    using P = ParameterOf;
    return Fields<P>()
        .Has("name", "", &Value::name)
        .Has("type", "", &Value::type)
        .Has("shape", "",
             [](const P& of) {
               std::vector<std::optional<int64_t>> shape;
               for (const Dim& length : (*of).shape)
                 shape.push_back(length.IsConstant() ? std::optional(length.At(1)) : std::nullopt);
               return shape;
             })
        .Has("trained", "", [](const P& of) { return IsTrained(*of.layers, of.id); });
  }
};

template <>
struct Described<HeldOf> {
  static constexpr const char* kName = "";
  static Fields<HeldOf> Make() {
    using H = HeldOf;
    return Fields<H>()
        .Has("name", "", [](const H& of) { return (*of.layers)[of.held.value].name; })
        .Has("until", "the layer that is the last to run beside it; null: the end",
             [](const H& of) {
               return of.held.until < 0 ? std::nullopt
                                        : std::optional(of.layers->layers[static_cast<size_t>(of.held.until)].name);
             })
        .Has("rule", "", &H::held, &Held::rule);
  }
};

template <>
struct Described<LayerOf> {
  static constexpr const char* kName = "";
  static Fields<LayerOf> Make() {
    using L = LayerOf;
    return Fields<L>()
        .Has("name", "", &L::layer, &Layer::name)
        .Has("op", "the framework's operator", &L::layer, &Layer::op)
        .Has("module", "",
             [](const L& of) { return of.layer->module.valid() ? (*of.layers)[of.layer->module].path : std::string(); })
        .Has("evidence", "", &L::layer, &Layer::evidence)
        .Has("inputs", "null: left out", [](const L& of) { return NamesOf(*of.layers, of.layer->inputs); })
        .Has("outputs", "", [](const L& of) { return NamesOf(*of.layers, of.layer->outputs); })
        .Has("nodes", "of the file", [](const L& of) {
          std::vector<std::string> names;
          for (const NodeId id : of.layer->nodes) names.push_back((*of.graph)[id].name);
          return names;
        });
  }
};

template <>
struct Described<PassCount> {
  static constexpr const char* kName = "";
  static Fields<PassCount> Make() {
    return Fields<PassCount>()
        .Has("pass", "", &PassCount::name)
        .Has("files", "which it is for", &PassCount::files)
        .Has("changes", "", &PassCount::changes)
        .Has("because", "", &PassCount::why);
  }
};

template <>
struct Described<Why::Asked> {
  static constexpr const char* kName = "";
  static Fields<Why::Asked> Make() {
    using A = Why::Asked;
    return Fields<A>().Has("rule", "", &A::rule).Has("matched", "", &A::matched).Has("reasons", "", &A::reasons);
  }
};

template <>
struct Described<Why::Stage> {
  static constexpr const char* kName = "";
  static Fields<Why::Stage> Make() {
    using S = Why::Stage;
    return Fields<S>().Has("stage", "", &S::name).Has("calls", "", &S::calls);
  }
};

template <>
struct Described<WhyOf> {
  static constexpr const char* kName = "";
  static Fields<WhyOf> Make() {
    return Fields<WhyOf>()
        .Has("node", "", [](const WhyOf& of) { return of.inspection->graph[of.inspection->why->node].name; })
        .Has("nearest", "of the rules that failed the one of whose form the most matched, and where it failed",
             &WhyOf::inspection, &Inspection::why, &Why::nearest)
        .Has("asked", "the rules that looked at it, and why they did not match", &WhyOf::inspection, &Inspection::why,
             &Why::asked)
        .Has("stages", "the calls that it became, stage by stage", &WhyOf::inspection, &Inspection::why, &Why::stages);
  }
};

template <>
struct Described<InspectAnswer> {
  static constexpr const char *kName = "", *kAnswer = "inspect", *kTitle = "what a file says";
  static Fields<InspectAnswer> Make() {
    using A = InspectAnswer;
    return Fields<A>()
        .Has("file", "", &A::inspection, &Inspection::graph, &Graph::file)
        .Has("graph", "its name", &A::inspection, &Inspection::graph, &Graph::name)
        .Has("ir_version", "", &A::inspection, &Inspection::graph, &Graph::ir_version)
        .Has("opset", "", &A::inspection, &Inspection::graph, &Graph::opset)
        .Has("opsets", "by domain",
             [](const A& of) {
               std::vector<std::pair<std::string, int64_t>> opsets;
               for (const auto& [domain, version] : of.inspection->graph.opsets)
                 opsets.emplace_back(domain.empty() ? "ai.onnx" : domain, version);
               return opsets;
             })
        .Has("producer", "", &A::inspection, &Inspection::graph, &Graph::producer)
        .Has("nodes", "", [](const A& of) { return of.inspection->graph.nodes.size(); })
        .Has("inputs", "", [](const A& of) { return TensorsOf(*of.inspection, of.inspection->graph.inputs); })
        .Has("outputs", "", [](const A& of) { return TensorsOf(*of.inspection, of.inspection->graph.outputs); })
        .Has("batch_symbol", "empty where the file has no name for it",
             [](const A& of) { return of.inspection->binding ? of.inspection->binding->batch_symbol : std::string(); })
        .Has("fixed_batch", "",
             [](const A& of) { return of.inspection->binding ? of.inspection->binding->fixed_batch : std::nullopt; })
        .Has("free_lengths",
             "lengths beside the batch that --dim gives; usual: of a named model what is taken without it, else one "
             "that such lengths often have",
             &A::inspection, &Inspection::lengths)
        .May("parameters", "numbers; a tied weight counts once", OfLayers(ParametersOf, &StoredCount::elements))
        .May("parameter_bytes", "", OfLayers(ParametersOf, &StoredCount::bytes))
        .May("parameter_tensors", "", OfLayers(ParametersOf, &StoredCount::tensors))
        .May("trained_parameters", "numbers", OfLayers(CountTrained, &TrainedCount::trained))
        .May("frozen_parameters", "numbers", OfLayers(CountTrained, &TrainedCount::frozen))
        .May("buffer_bytes", "", OfLayers(BuffersOf, &StoredCount::bytes))
        .May("buffer_tensors", "", OfLayers(BuffersOf, &StoredCount::tensors))
        .Has("operators", "of the file, by name", &A::inspection, &Inspection::graph, CountOperators)
        .May("lifted", "the framework's calls that they are", OfLayers([](const Layers& layers) {
               std::vector<LiftedOf> rows;
               for (const auto& [op, count] : CountLayers(layers)) rows.push_back({op, count});
               return rows;
             }))
        .May("parameter_list", "of --dump parameters",
             [](const A& of) {
               std::optional<std::vector<ParameterOf>> rows;
               if (!of.Dumps(Dump::kParameters)) return rows;
               rows.emplace();
               for (const ValueId id : of.layers().parameters) rows->push_back({&of.layers(), id});
               return rows;
             })
        .May("holds", "of --dump holds",
             [](const A& of) {
               std::optional<std::vector<HeldOf>> rows;
               if (!of.Dumps(Dump::kHolds)) return rows;
               rows.emplace();
               for (const Held& held : HoldsOf(of.layers())) rows->push_back({&of.layers(), held});
               return rows;
             })
        .May("layers", "of --dump layers",
             [](const A& of) {
               std::optional<std::vector<LayerOf>> rows;
               if (!of.Dumps(Dump::kLayers)) return rows;
               rows.emplace();
               for (const Layer& layer : of.layers().layers)
                 rows->push_back({&of.inspection->graph, &of.layers(), &layer});
               return rows;
             })
        .May("why", "of --why",
             [](const A& of) {
               const bool asked = of.inspection->layers && of.inspection->why;
               return asked ? std::optional<WhyOf>(WhyOf{of.inspection}) : std::nullopt;
             })
        .May("passes", "of --dump passes",
             [](const A& of) { return of.Dumps(Dump::kPasses) ? std::optional(of.inspection->passes) : std::nullopt; })
        .Has("tensors", "all of the file", &A::inspection, AllTensors)
        .Has("unknown_shapes", "",
             [](const A& of) {
               std::vector<std::string> names;
               for (const TensorId id : UnknownTensors(*of.inspection)) names.push_back(of.inspection->graph[id].name);
               return names;
             })
        .Has("notes", "", &A::inspection, &Inspection::notes);
  }
};

Json ToJson(const Inspection& inspection, Dump dump) { return AnswerJson(InspectAnswer{&inspection, dump}); }
Json InspectSchema() { return AnswerSchema<InspectAnswer>(); }

}  // namespace vramplan
