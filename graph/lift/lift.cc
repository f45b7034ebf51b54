#include "graph/lift/lift.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "graph/base/ablation.h"
#include "graph/base/check.h"
#include "graph/base/text.h"
#include "graph/ir/aten.h"
#include "graph/layers/builder.h"
#include "graph/layers/check_layers.h"
#include "graph/lift/dynamo/provenance.h"
#include "graph/lift/liveness.h"
#include "graph/lift/match/source.h"
#include "graph/lift/passes.h"
#include "graph/lift/recorded/recorded.h"
#include "graph/lift/why.h"
#include "graph/programs/layers_of_program.h"
#include "graph/programs/program_of_export.h"

namespace vramplan {
namespace {

std::string ToText(const AttributeValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (std::is_arithmetic_v<Held>) {
          return std::to_string(held);
        } else if constexpr (std::is_same_v<Held, std::string>) {
          return held;
        } else if constexpr (std::is_same_v<Held, std::vector<int64_t>> || std::is_same_v<Held, std::vector<double>>) {
          std::string text;
          for (const auto one : held) text += std::to_string(one) + ",";
          return text;
        } else {
          return "?";
        }
      },
      value);
}

// What a pass may change, a line each, in order: layers, the roles of values, what the caller keeps.
std::vector<std::string> LinesOf(const Layers& layers) {
  std::vector<std::string> lines;
  for (const Layer& layer : layers.layers) {
    std::string line = layer.op + " " + layer.name;
    for (const ValueId id : layer.inputs) line += " " + std::to_string(id.value);
    line += " ->";
    for (const ValueId id : layer.outputs) line += " " + std::to_string(id.value);
    for (const auto& [name, value] : layer.attributes.all()) line += " " + name + "=" + ToText(value);
    lines.push_back(std::move(line));
  }
  for (const ValueId id : layers.outputs) lines.push_back("kept " + std::to_string(id.value));
  for (const ValueId id : layers.kept_by_modules) lines.push_back("kept by a module " + std::to_string(id.value));
  for (const Value& value : layers.values)
    lines.push_back(value.name + " " + std::to_string(static_cast<int>(value.role)));
  for (const ModuleId module : layers.checkpointed) lines.push_back("checkpointed " + std::to_string(module.value));
  for (const SourceLine& line : layers.source.lines) lines.push_back("source " + line.text);
  std::ranges::sort(lines);
  return lines;
}

int ChangesBetween(const std::vector<std::string>& before, const std::vector<std::string>& after) {
  std::vector<std::string> gained, lost;
  std::ranges::set_difference(after, before, std::back_inserter(gained));
  std::ranges::set_difference(before, after, std::back_inserter(lost));
  return static_cast<int>(std::max(gained.size(), lost.size()));
}

// Behind each stage of the lift, in builds for development: a release trusts what those have found to hold.
#ifdef NDEBUG
void HoldInvariants(std::string_view, const Layers&) {}
#else
void HoldInvariants(std::string_view stage, const Layers& layers) {
  if (const std::string broken = BrokenInvariant(layers); !broken.empty())
    FailCheck(__FILE__, __LINE__, "behind " + std::string(stage) + ": " + broken);
}
#endif

class Lifting {
 public:
  Lifting(const Graph& file, const Shapes& shapes, const LiftOptions& options, Notes* notes)
      : file_(file), graph_(&file), shapes_(&shapes), options_(options), notes_(notes) {}

  Result<Layers> Run() {
    if (const RecordedProgram* program =
            ProgramFor(file_.facts, options_.put_back.training, options_.put_back.autocast.has_value()))
      return OfRecorded(*program);
    for (const GraphPass& pass : GraphPasses()) {
      if (IsProgram(file_) || IsLeftOut("pass", pass.name)) continue;
      std::optional<GraphState> changed = pass.run(*graph_, *shapes_, notes_);
      Count(pass.name, pass.files, pass.why, changed ? 1 : 0);
      if (!changed) continue;
      state_ = std::move(changed);
      graph_ = &state_->graph;
      shapes_ = &state_->shapes;
    }
    Result<Layers> layers = Read();
    if (!layers.ok()) return layers.error();
    if (options_.why != nullptr) AddStage("nodes", *layers, *graph_, options_.why);
    HoldInvariants("nodes", *layers);
    LayersState state{*layers, *graph_, file_, options_.put_back, notes_};
    for (const LayersPass& pass : LayersPasses()) {
      if ((IsProgram(file_) && !pass.of_programs) || IsLeftOut("pass", pass.name)) continue;
      const bool counts = options_.counts != nullptr || NotesWhatActs();
      const std::vector<std::string> before = counts ? LinesOf(*layers) : std::vector<std::string>();
      pass.run(state);
      HoldInvariants(pass.name, *layers);
      if (counts) Count(pass.name, pass.files, pass.why, ChangesBetween(before, LinesOf(*layers)));
      if (options_.why != nullptr) AddStage(pass.name, *layers, *graph_, options_.why);
    }
    return layers;
  }

 private:
  // What runs under a program of the facts is what it says: no pass has anything to mend.
  Layers OfRecorded(const RecordedProgram& program) const {
    const Facts& facts = *file_.facts;
    Layers layers = LayersOfProgram(facts, program, options_.put_back.autocast, notes_);
    layers.told = {.tensors = true, .functions = facts.functions && facts.functions->empty(), .code = true};
    if (facts.training) layers.exported = *facts.training ? ExportedMode::kTraining : ExportedMode::kEvaluation;
    TakeRecordedCheckpoints(facts, &layers);
    HoldInvariants("the recorded program", layers);
    return layers;
  }

  // Nodes become layers: the calls of a .pt2 file one by one; else by provenance where the file has it, by patterns
  // where it has not.
  Result<Layers> Read() {
    if (IsProgram(file_))
      return LayersOfProgram(*file_.facts, ProgramOfExport(*graph_, *shapes_), std::nullopt, notes_);
    LayerBuilder builder(*graph_, *shapes_);
    std::vector<bool> live = LiveNodes(*graph_);
    LiftByProvenance(*graph_, *shapes_, builder, &live, notes_);
    if (std::ranges::find(live, true) != live.end())
      PatternSource(*graph_, *shapes_, builder, live, notes_).Run(options_.why);
    return std::move(builder).Finish(notes_);
  }

  void Count(std::string_view pass, std::string_view files, std::string_view why, int changes) {
    if (changes > 0) NoteThatItActed("pass", pass);
    if (options_.counts != nullptr) options_.counts->push_back({pass, files, why, changes});
  }

  const Graph& file_;
  const Graph* graph_;
  const Shapes* shapes_;
  const LiftOptions& options_;
  Notes* notes_;
  std::optional<GraphState> state_;
};

}  // namespace

Result<Layers> Lift(const Graph& graph, const Shapes& shapes, const LiftOptions& options, Notes* notes) {
  return Lifting(graph, shapes, options, notes).Run();
}

}  // namespace vramplan
