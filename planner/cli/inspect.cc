#include "planner/report/inspect.h"

#include <algorithm>

#include "graph/lift/lift.h"
#include "graph/shapes/bounds.h"
#include "graph/shapes/branches.h"
#include "graph/shapes/kept_batch.h"
#include "planner/cli/all_forms.h"
#include "planner/cli/named_model.h"
#include "planner/cli/verbs.h"
#include "planner/spec/adapters.h"

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

}  // namespace

Result<Outcome> RunInspect(const Options& options, const Style& style, Probe* /*machine*/) {
  Inspection inspection;
  BindOptions bind = options.bind;
  std::map<std::string, int64_t> usual;
  Result<Graph> graph = GraphOf(options, &bind, &usual, &inspection.notes);
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
    if (binding.error().code == ErrorCode::kUsage || options.dump != Dump::kNone) return binding.error();
    NoteStop("unbound-dim", binding.error(), &inspection.notes);
  } else {
    inspection.binding = *std::move(binding);
    Result<Shapes> shapes = InferOrKeepBatch(inspection.graph, bind, &*inspection.binding, &inspection.notes);
    if (!shapes.ok() && options.dump != Dump::kNone) return shapes.error();
    if (!shapes.ok()) NoteStop("shapes-not-inferred", shapes.error(), &inspection.notes);
    if (shapes.ok()) inspection.shapes = *std::move(shapes);
    if (inspection.shapes) inspection.bounds = BoundsOf(inspection);
  }
  if (inspection.shapes) {
    LiftOptions lift;
    if (options.dump == Dump::kPasses) lift.counts = &inspection.passes;
    Result<Layers> layers = Lift(inspection.graph, *inspection.shapes, lift, &inspection.notes);
    if (!layers.ok() && options.dump != Dump::kNone && options.dump != Dump::kShapes) return layers.error();
    if (!layers.ok()) NoteStop("layers-not-lifted", layers.error(), &inspection.notes);
    if (layers.ok()) {
      inspection.layers = *std::move(layers);
      AssumeFrozenBase(options.trained, &*inspection.layers, &inspection.notes);
      const Status applied = ApplyTrained(options.trained, &*inspection.layers, &inspection.notes);
      if (!applied.ok()) return applied.error();
    }
  }
  if (options.format == Format::kJson) return Outcome{.text = Print(ToJson(inspection, options.dump))};
  if (options.format == Format::kAll)
    return Outcome{
        .text = AllForms(ToJson(inspection, options.dump), PrintInspection(inspection, options.dump, style), "")};
  return Outcome{.text = PrintInspection(inspection, options.dump, style), .notes = inspection.notes};
}

}  // namespace vramplan
