#include "planner/cli/step_alone.h"

#include "planner/snapshot/snapshot.h"

namespace vramplan {
namespace {

// A name without a file: what the viewer shows of it is "FILE:LINE:NAME".
CodePlace PhaseFrame(int step, Phase phase) {
  if (phase == Phase::kSetup || step == 0) return {"vramplan", 0, "setup"};
  return {"vramplan", 0, "step " + std::to_string(step) + ", " + std::string(Name(phase))};
}

// What is allocated, then the modules around it, the innermost first, then the phase.
std::vector<CodePlace> FramesOf(const Timeline& timeline, const Layers& layers, const Subject& subject, size_t index) {
  const Event& event = timeline.events[index];
  const bool birth = event.kind == EventKind::kAllocate;
  const Origin& origin = birth ? timeline[event.block].origin : event.origin;
  std::vector<CodePlace> frames;
  if (birth) frames.push_back({*origin.op == '\0' ? "tensor" : origin.op, 0, subject.words(index).what});
  const int32_t at = origin.owner >= 0 ? origin.owner : origin.layer;
  if (at >= 0 && static_cast<size_t>(at) < layers.layers.size()) {
    const Layer& layer = layers.layers[static_cast<size_t>(at)];
    for (ModuleId id = layer.module; id.valid() && !layers[id].path.empty(); id = layers[id].parent)
      frames.push_back({layers[id].class_name.empty() ? "module" : layers[id].class_name, 0, layers[id].path});
  }
  frames.push_back(PhaseFrame(event.step, event.phase));
  return frames;
}

std::vector<CodePlace> FramesOf(const Record& record, const PlayedRecord& played, size_t index) {
  const RecordRow& row = record.rows[played.rows[index]];
  std::vector<CodePlace> frames;
  const int32_t place = row.block < 0 ? -1 : record.blocks[static_cast<size_t>(row.block)].place;
  if (row.kind == RowKind::kAllocate && place >= 0) {
    frames.push_back(record.places[static_cast<size_t>(place)]);
  }
  if (row.module >= 0) frames.push_back({"module", 0, record.modules[static_cast<size_t>(row.module)]});
  frames.push_back({"vramplan", 0, "step " + std::to_string(row.step) + ", " + std::string(Name(row.phase))});
  return frames;
}

}  // namespace

std::string StepAlone(Format format, const DrawnStep& step) {
  if (format == Format::kSvg) return DrawStepSvg(DrawnPictures(step).chart);
  const Subject subject = SubjectOf(step.timeline, step.prepared.layers, step.batch, step.given);
  return WritePickle(SnapshotOf({step.timeline, step.batch, step.given, [&](size_t event) {
                                   return FramesOf(step.timeline, step.prepared.layers, subject, event);
                                 }}));
}

std::string RecordAlone(Format format, const Record& record, const std::string& name,
                        const std::optional<Device>& device, ContextBand context, const AllocatorConfig& config) {
  if (format == Format::kSvg) return DrawStepSvg(RecordPictures(record, name, device, context, config).chart);
  const PlayedRecord played = Played(record);
  return WritePickle(
      SnapshotOf({played.timeline, 1, config, [&](size_t event) { return FramesOf(record, played, event); }}));
}

}  // namespace vramplan
