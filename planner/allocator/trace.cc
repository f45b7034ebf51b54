#include "planner/allocator/trace.h"

#include <string_view>

namespace vramplan {
namespace {

bool IsAten(std::string_view op) { return op.substr(0, 6) == "aten::"; }

// The name of a phase; the profiler's stream splits some phases in two.
class PhaseNames {
 public:
  std::string_view At(const Event& event) {
    if (event.phase != phase_ || event.step != step_) part_ = std::string_view();
    phase_ = event.phase;
    step_ = event.step;
    if (event.kind == EventKind::kBeforeLoss) part_ = "loss";
    if (event.kind == EventKind::kBeforeZeroGrad) part_ = "zero_grad";
    if (event.kind == EventKind::kAfterZeroGrad) part_ = std::string_view();
    if (!part_.empty()) return part_;
    return Name(phase_ == Phase::kRecompute ? Phase::kBackward : phase_);
  }

 private:
  Phase phase_ = Phase::kSetup;
  int step_ = 0;
  std::string_view part_;
};

// What was running. The layer's operator is the outermost, the operator that its rule names is the innermost.
void Describe(const Origin& origin, const Layers& layers, Phase phase, TraceEvent* traced) {
  const bool known = origin.layer >= 0 && static_cast<size_t>(origin.layer) < layers.layers.size();
  const bool runs_module = phase == Phase::kForward || phase == Phase::kRecompute;
  // A recomputation runs inside the node that first unpacks a saved tensor.
  if (phase == Phase::kBackward || phase == Phase::kRecompute) traced->autograd_node = origin.node;
  if (IsAten(origin.op)) traced->inner_op = origin.op;
  traced->op = traced->inner_op;
  if (!known) return;
  const Layer& layer = layers.layers[static_cast<size_t>(origin.layer)];
  traced->layer = layer.name;
  if (!runs_module) return;
  if (layer.module.valid()) traced->module = layers[layer.module].path;
  traced->op = "aten::" + layer.op;
  if (traced->inner_op.empty()) traced->inner_op = traced->op;
}

}  // namespace

Result<Trace> TraceOf(const Timeline& timeline, const Layers& layers, std::optional<int> step,
                      const AllocatorConfig& config) {
  const std::vector<Placement> placements = Placements(timeline, timeline.batch, config);
  if (placements.size() < timeline.events.size()) {
    const Origin& origin = timeline[timeline.events[placements.size()].block].origin;
    const bool known = origin.layer >= 0 && static_cast<size_t>(origin.layer) < layers.layers.size();
    return Error{ErrorCode::kBadInput, known ? layers.layers[static_cast<size_t>(origin.layer)].name : origin.op,
                 "its size is not known", "give the free dims with --dim NAME=N"};
  }
  std::vector<std::optional<int64_t>> numbers(timeline.blocks.size());
  int64_t born = 0;
  PhaseNames phases;
  Trace trace;
  for (size_t i = 0; i < timeline.events.size(); ++i) {
    const Event& event = timeline.events[i];
    const std::string_view phase = phases.At(event);
    const bool birth = event.kind == EventKind::kAllocate;
    if ((!birth && event.kind != EventKind::kFree) || (step && event.step != *step)) continue;
    if (placements[i].block == Bytes()) continue;  // a tensor without elements has no block
    std::optional<int64_t>& number = numbers[static_cast<size_t>(event.block.value)];
    if (birth) number = born++;
    TraceEvent traced;
    traced.birth = birth;
    traced.block = number;
    traced.bytes = placements[i].block;
    traced.asked = timeline[event.block].bytes.At(timeline.batch);
    traced.phase = phase;
    traced.allocated_after = placements[i].allocated;
    Describe(birth ? timeline[event.block].origin : event.origin, layers, event.phase, &traced);
    // Python frees between operators.
    if (!birth && event.phase != Phase::kBackward) traced.op = traced.inner_op = std::string();
    trace.push_back(std::move(traced));
  }
  return trace;
}

}  // namespace vramplan
