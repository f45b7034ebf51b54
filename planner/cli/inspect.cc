#include "planner/report/inspect.h"

#include <algorithm>

#include "graph/architectures/named.h"
#include "graph/lift/lift.h"
#include "graph/shapes/bounds.h"
#include "graph/shapes/branches.h"
#include "graph/shapes/kept_batch.h"
#include "planner/answers/named_model.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/verbs.h"
#include "planner/spec/adapters.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

// A stage that a graph does not get through is no reason to say nothing about the file.
void NoteStop(const char* code, const Error& error, Notes* notes) {
  notes->Add({code, Severity::kWarning, error.subject, error.text, error.hint});
}

// What is not known, as long as it can be; nothing where all is known.
std::optional<Shapes> BoundsOf(const Inspection& inspection) {
  const auto open = [](const TensorFacts& facts) { return facts.is_tensor && !(facts.shape && facts.shape->known()); };
  const auto& tensors = inspection.shapes->tensors;
  if (std::none_of(tensors.begin(), tensors.end(), open)) return std::nullopt;
  Binding binding = *inspection.binding;
  TakeBounds(&binding);
  Notes said;  // by the shapes themselves
  Result<Shapes> bounds = Infer(inspection.graph, binding, &said);
  if (!bounds.ok()) return std::nullopt;
  return *std::move(bounds);
}

// The node that is called so, or that makes the tensor of this name; else the only one of this operator.
Result<NodeId> NodeCalled(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  std::vector<NodeId> of_operator;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.name == name) return NodeId::At(n);
    names.push_back(node.name);
    for (const TensorId output : node.outputs) {
      if (output.valid() && graph[output].name == name) return NodeId::At(n);
    }
    if (node.op == name) of_operator.push_back(NodeId::At(n));
  }
  if (of_operator.size() == 1) return of_operator.front();
  if (!of_operator.empty())
    return Error{
        ErrorCode::kUsage, "--why",
        std::to_string(of_operator.size()) + " nodes are " + name + ", the first is " + graph[of_operator.front()].name,
        "type the name of one; vramplan inspect FILE --dump layers --format json lists them"};
  const std::string near = SuggestNearest(name, names);
  return Error{ErrorCode::kUsage, "--why", "the file has no node and no tensor " + InQuotes(name),
               near.empty() ? "vramplan inspect FILE --dump layers --format json lists the nodes" : near};
}

// A hint about an option that inspect does not have says whose it is: a reader of this answer would type it here.
std::string HintOfFit(const std::string& hint) {
  const size_t at = hint.find("--");
  const std::string flag = at == hint.npos ? "" : hint.substr(at, hint.find_first_of(" =,", at) - at);
  return TakesOption(Verb::kFit, flag) && !TakesOption(Verb::kInspect, flag) ? "of vramplan fit: " + hint : hint;
}

}  // namespace

Result<Outcome> RunInspect(const Options& options, const Style& style, Probe* /*machine*/) {
  Inspection inspection;
  // What is asked of a stage that the file does not get through is an error.
  const bool must_lift = options.dump != Dump::kNone || !options.why.empty();
  BindOptions bind = options.bind;
  std::map<std::string, int64_t> usual;
  Options asked = options;
  if (asked.named != nullptr && !asked.named->templates.Trains()) asked.spec.mode = Mode::kInfer;
  Result<Graph> graph = GraphOf(asked, &bind, &usual, &inspection.notes);
  if (!graph.ok()) return graph.error();
  inspection.graph = *std::move(graph);
  inspection.is_named = options.named != nullptr;
  inspection.lengths = FreeLengthsOf(inspection.graph, bind);
  for (const auto& [name, length] : usual) inspection.lengths.push_back({name, length});
  if (auto plain = WithoutBranches(inspection.graph, bind, &inspection.notes)) {
    inspection.graph = *std::move(plain);
  }
  Result<Binding> binding = Bind(inspection.graph, bind, &inspection.notes);
  if (!binding.ok()) {
    if (binding.error().code == ErrorCode::kUsage || must_lift) return binding.error();
    NoteStop("unbound-dim", binding.error(), &inspection.notes);
  } else {
    inspection.binding = *std::move(binding);
    Result<Shapes> shapes = InferOrKeepBatch(inspection.graph, bind, &*inspection.binding, &inspection.notes);
    if (!shapes.ok() && must_lift) return shapes.error();
    if (!shapes.ok()) NoteStop("shapes-not-inferred", shapes.error(), &inspection.notes);
    if (shapes.ok()) inspection.shapes = *std::move(shapes);
    if (inspection.shapes) inspection.bounds = BoundsOf(inspection);
  }
  if (inspection.shapes) {
    LiftOptions lift;
    lift.put_back.training = asked.spec.mode == Mode::kTrain;
    if (options.dump == Dump::kPasses) lift.counts = &inspection.passes;
    if (!options.why.empty()) {
      if (inspection.is_named)
        return Error{ErrorCode::kUsage, "--why",
                     "this model is given by its name: its calls were recorded, and no rule chose them",
                     "vramplan inspect FILE.onnx --why NODE"};
      const Result<NodeId> node = NodeCalled(inspection.graph, options.why);
      if (!node.ok()) return node.error();
      lift.why = &inspection.why.emplace(Why{.node = *node, .asked = {}, .stages = {}});
    }
    Result<Layers> layers = Lift(inspection.graph, *inspection.shapes, lift, &inspection.notes);
    if (!layers.ok() && must_lift && options.dump != Dump::kShapes) return layers.error();
    if (!layers.ok()) NoteStop("layers-not-lifted", layers.error(), &inspection.notes);
    if (layers.ok()) {
      inspection.layers = *std::move(layers);
      AssumeFrozenBase(options.trained, &*inspection.layers, &inspection.notes);
      const Status applied = ApplyTrained(options.trained, &*inspection.layers, &inspection.notes);
      if (!applied.ok()) return applied.error();
    }
  }
  inspection.notes = WithHints(inspection.notes, HintOfFit);
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(inspection, options.dump))};
  if (options.format == Format::kAll)
    return Outcome{
        .text = AllForms(ToJson(inspection, options.dump), PrintInspection(inspection, options.dump, style), "")};
  return Outcome{.text = PrintInspection(inspection, options.dump, style), .notes = inspection.notes};
}

}  // namespace vramplan
