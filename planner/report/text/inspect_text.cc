#include <algorithm>
#include <set>
#include <string>

#include "graph/base/text_table.h"
#include "graph/layers/trained.h"
#include "planner/lifetimes/lifetimes.h"
#include "planner/report/inspect.h"
#include "planner/report/parts/inspect_parts.h"
#include "planner/report/parts/model_facts.h"
#include "planner/report/writing/numbers.h"
#include "planner/spec/trained.h"

namespace vramplan {
namespace {

using enum TextTable::Align;

std::string PrintTensors(const Inspection& inspection, const std::string& header, const std::vector<TensorId>& ids,
                         const Style& style) {
  TextTable table({{header, kLeft, true}, {"type"}, {"shape", kLeft, true}});
  for (const TensorId id : ids) {
    table.AddRow({inspection.graph[id].name, std::string(TypeOf(inspection, id)), ShapeText(inspection, id)});
  }
  return table.Print(style.width);
}

std::string BatchLine(const Inspection& inspection) {
  if (!inspection.binding) return "";
  const Binding& binding = *inspection.binding;
  if (!binding.batch_symbol.empty()) return "batch: the symbol " + binding.batch_symbol + "\n";
  if (binding.fixed_batch)
    return "batch: fixed at " + std::to_string(*binding.fixed_batch) + " in the file, assumed to be free (B)\n";
  for (const auto& [id, shape] : binding.inputs) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (!shape[axis].IsConstant()) {
        return "batch: axis " + std::to_string(axis) + " of " + inspection.graph[id].name +
               ", which has no name in the file (B)\n";
      }
    }
  }
  return "batch: no axis of the inputs\n";
}

std::string ShapesLine(const Inspection& inspection) {
  if (!inspection.shapes) return "";
  const std::string all = std::to_string(inspection.shapes->tensors.size());
  const std::vector<TensorId> unknown = UnknownTensors(inspection);
  if (unknown.empty()) return "shapes: all of " + all + " tensors are known\n";
  constexpr size_t kNamed = 3;
  const auto bounded = std::count_if(unknown.begin(), unknown.end(), [&](TensorId id) {
    const auto dims = ShapeOf(inspection, id);
    return dims && std::any_of(dims->begin(), dims->end(), [](const PrintedDim& dim) { return dim.at_most; });
  });
  std::string text = "shapes: " + std::to_string(unknown.size()) + " of " + all + " tensors are not known";
  text += bounded > 0 ? ", " + std::to_string(bounded) + " of these have upper bounds (<=):" : ":";
  for (size_t i = 0; i < unknown.size() && i < kNamed; ++i) {
    text += (i == 0 ? " " : ", ") + inspection.graph[unknown[i]].name + " " + ShapeText(inspection, unknown[i]);
  }
  return text + (unknown.size() > kNamed ? " ...\n" : "\n");
}

std::string StoredLine(const Inspection& inspection) {
  if (!inspection.layers) {
    const StoredCount all = CountInitializers(inspection.graph);
    return Counted(all.elements, "stored value") + " (" + ToString(all.bytes) + ") in " +
           Counted(all.tensors, "tensor");
  }
  const StoredCount parameters = CountStored(*inspection.layers, inspection.layers->parameters);
  const StoredCount buffers = CountStored(*inspection.layers, inspection.layers->buffers);
  return Counted(parameters.elements, "parameter") + " (" + ToString(parameters.bytes) + ") in " +
         Counted(parameters.tensors, "tensor") + ", buffers of " + ToString(buffers.bytes) + " in " +
         Counted(buffers.tensors, "tensor");
}

// What there is, and where it is from.
std::string WrittenLine(const Inspection& inspection) {
  const Graph& graph = inspection.graph;
  if (inspection.is_named) {
    const std::string calls =
        inspection.layers ? Counted(static_cast<int64_t>(inspection.layers->layers.size()), "call") : "";
    return graph.name + (calls.empty() ? "" : " of " + calls) + ", " + StoredLine(inspection) + "\nrecorded from " +
           graph.producer;
  }
  std::string text = Counted(static_cast<int64_t>(graph.nodes.size()), "node") + ", " + StoredLine(inspection) +
                     "\nopset " + std::to_string(graph.opset());
  for (const auto& [domain, version] : graph.opsets) {
    if (!domain.empty() && domain != "ai.onnx") text += ", " + domain + " " + std::to_string(version);
  }
  text += ", IR " + std::to_string(graph.ir_version);
  return graph.producer.empty() ? text : text + ", written by " + graph.producer;
}

// Exporters to ONNX do not write requires_grad; facts, .pt2 files and templates say it.
std::string TrainedLine(const Inspection& inspection) {
  if (!inspection.layers || inspection.layers->parameters.empty()) return "";
  const TrainedCount count = CountTrained(*inspection.layers);
  const bool told = inspection.layers->told.tensors;
  const char* teller = inspection.is_named ? " (as its library loads it)\n" : " (as the file says)\n";
  if (count.frozen_tensors == 0)
    return "trained: all parameters" +
           std::string(told ? teller : " (the file does not say; --frozen PATTERN freezes some)\n");
  return "trained: " + std::to_string(count.trained) + " parameters in " + Counted(count.trained_tensors, "tensor") +
         ", frozen: " + std::to_string(count.frozen) + " in " + Counted(count.frozen_tensors, "tensor") +
         (told ? teller : " (the file does not say which)\n");
}

// By the names that --trainable and --frozen compare with.
std::string PrintParameters(const Inspection& inspection, const Style& style) {
  const Layers& layers = *inspection.layers;
  TextTable table({{"parameter", kLeft, true}, {"type"}, {"shape", kLeft, true}, {"trained"}});
  for (const ValueId id : layers.parameters) {
    table.AddRow({layers[id].name, std::string(Name(layers[id].type)), ToString(layers[id].shape),
                  IsTrained(layers, id) ? "yes" : "no"});
  }
  return table.Print(style.width);
}

// Until when the forward keeps each of its tensors, and why.
std::string PrintHolds(const Inspection& inspection, const Style& style) {
  const Layers& layers = *inspection.layers;
  TextTable table({{"tensor", kLeft, true}, {"shape", kLeft, true}, {"goes after", kLeft, true}, {"rule"}});
  std::set<std::string> seen;
  for (const Held& held : HoldsOf(layers)) {
    const std::string until = held.until < 0 ? "" : layers.layers[static_cast<size_t>(held.until)].name;
    table.AddRow(
        {layers[held.value].name, ToString(layers[held.value].shape, BatchName(inspection)), until, held.rule});
    seen.insert(held.rule);
  }
  std::string text = table.Print(style.width) + "\n";
  for (const HoldRule& rule : HoldRules()) {
    if (seen.contains(rule.name)) text += std::string(rule.name) + ": " + rule.why + "\n";
  }
  return text;
}

std::string PrintLiftedLayers(const Layers& layers, const Style& style) {
  TextTable table({{"layer", kLeft, true},
                   {"count", kRight},
                   {"from a node", kRight},
                   {"by pattern", kRight},
                   {"by provenance", kRight}});
  LiftCount sum;
  const auto print = [&](const std::string& name, const LiftCount& count) {
    table.AddRow({name, std::to_string(count.layers), std::to_string(count.node), std::to_string(count.pattern),
                  std::to_string(count.provenance)});
  };
  for (const auto& [op, count] : CountLayers(layers)) {
    print(op, count);
    sum.layers += count.layers;
    sum.node += count.node;
    sum.pattern += count.pattern;
    sum.provenance += count.provenance;
  }
  table.AddRule();
  print("sum", sum);
  return table.Print(style.width);
}

std::string Arguments(const Layers& layers, const std::vector<ValueId>& ids, const std::string& batch) {
  std::string text;
  for (const ValueId id : ids) {
    if (!text.empty()) text += ", ";
    text += id.valid() ? layers[id].name + " " + ToString(layers[id].shape, batch) : "-";
  }
  return text;
}

std::string PrintEveryLayer(const Inspection& inspection) {
  const Layers& layers = *inspection.layers;
  std::string text;
  for (size_t i = 0; i < layers.layers.size(); ++i) {
    const Layer& layer = layers.layers[i];
    const std::string batch = BatchName(inspection);
    text += std::to_string(i) + " " + layer.op + " " + layer.name + " (" + std::string(Name(layer.evidence)) + ")";
    if (layer.module.valid() && !layers[layer.module].path.empty()) text += " in " + layers[layer.module].path;
    text += "\n    " + Arguments(layers, layer.inputs, batch) + "\n    -> " + Arguments(layers, layer.outputs, batch) +
            "\n";
  }
  return text;
}

std::string PrintPasses(const std::vector<PassCount>& passes, const Style& style) {
  std::string acted, others = "passes that changed nothing:";
  for (const PassCount& pass : passes) {
    const std::string name(pass.name);
    if (pass.changes == 0) {
      others += (others.ends_with(':') ? " " : ", ") + name;
    } else {
      acted += Wrapped("  " + name + ", " + Counted(pass.changes, "change") + ": " + std::string(pass.why), style.width,
                       "    ") +
               "\n";
    }
  }
  return (acted.empty() ? "" : "passes that changed something:\n" + acted) + Wrapped(others, style.width, "  ") + "\n";
}

// What the node was part of behind each stage, and the rules in the order in which they were asked.
std::string PrintWhy(const Inspection& inspection, const Style& style) {
  const Why& why = *inspection.why;
  const Node& node = inspection.graph[why.node];
  std::string text = node.name + " (" + node.op + ")\n";
  const auto line = [&](int depth, const std::string& of) {
    const std::string indent(static_cast<size_t>(2 * depth), ' ');
    text += indent + Wrapped(of, style.width - 2 * depth, indent + "    ") + "\n";
  };
  for (const Why::Stage& stage : why.stages) {
    const bool is_pass = &stage != &why.stages.front();
    if (stage.calls.empty()) line(1, is_pass ? "the pass " + stage.name + " left it in no call" : "is part of no call");
    for (const std::string& call : stage.calls)
      line(1, (is_pass ? "the pass " + stage.name + " made it part of " : "is part of ") + call);
  }
  if (why.stages.empty()) line(1, "is part of a program that was recorded");
  line(0, why.asked.empty() ? "No rule was asked about it."
                            : "Rules whose last node is " + node.op +
                                  ", in the order in which they are asked (FILE ROW of graph/lift/match):");
  if (!why.nearest.empty()) line(1, "the nearest of those that failed is " + why.nearest);
  for (const Why::Asked& asked : why.asked) {
    const char* said = asked.matched           ? ": made a call of it"
                       : asked.reasons.empty() ? ": a function, which refused"
                                               : "";
    line(1, asked.rule + said);
    for (const std::string& reason : asked.reasons) line(2, reason);
  }
  return text;
}

}  // namespace

Notes WithHints(const Notes& notes, const std::function<std::string(const std::string& hint)>& told) {
  Notes with;
  for (Note note : notes.all()) {
    note.hint = told(note.hint);
    with.Add(std::move(note));
  }
  return with;
}

std::string PrintInspection(const Inspection& inspection, Dump dump, const Style& style) {
  const Graph& graph = inspection.graph;
  std::string text = FileName(graph.file) + ": " + WrittenLine(inspection) + "\n";
  text += BatchLine(inspection) + ShapesLine(inspection) + TrainedLine(inspection) + "\n";
  text += PrintTensors(inspection, "input", graph.inputs, style) + "\n";
  if (!inspection.is_named) {
    text += PrintTensors(inspection, "output", graph.outputs, style) + "\n";
    std::string operators = "operators:";
    for (const auto& [op, count] : CountOperators(graph)) operators += " " + op + " " + std::to_string(count) + ",";
    if (operators.back() == ',') operators.pop_back();
    text += Wrapped(operators, style.width, "  ") + "\n";
  }
  if (inspection.layers) text += "\n" + PrintLiftedLayers(*inspection.layers, style);
  if (dump == Dump::kShapes) {
    std::vector<TensorId> all;
    for (size_t i = 0; i < graph.tensors.size(); ++i) all.push_back({static_cast<int32_t>(i)});
    text += "\n" + PrintTensors(inspection, "tensor", all, style);
  }
  if (inspection.why) return PrintWhy(inspection, style);
  if (dump == Dump::kPasses) text += "\n" + PrintPasses(inspection.passes, style);
  if (dump == Dump::kParameters && inspection.layers) text += "\n" + PrintParameters(inspection, style);
  if (dump == Dump::kHolds && inspection.layers) text += "\n" + PrintHolds(inspection, style);
  if (dump == Dump::kLayers && inspection.layers) text += "\n" + PrintEveryLayer(inspection);
  return text;
}

}  // namespace vramplan
