#include "planner/answers/trace.h"

#include <algorithm>
#include <utility>

namespace vramplan {
namespace {

// Requested bytes when this step begins.
Bytes RequestedBefore(const Timeline& timeline, int64_t batch, int step) {
  Bytes level;
  for (const Event& event : timeline.events) {
    if (event.step >= step) break;
    const bool birth = event.kind == EventKind::kAllocate;
    if (!birth && event.kind != EventKind::kFree) continue;
    const Bytes bytes = timeline[event.block].bytes.At(batch);
    level = birth ? level + bytes : level - bytes;
  }
  return level;
}

TraceReport Compared(const LaidOutStep& laid_out, std::optional<int> step, Trace ours, Trace recorded,
                     const std::string& file) {
  TraceReport report;
  report.model = FileName(laid_out.prepared.head.model.file);
  report.file = FileName(file);
  report.batch = laid_out.prepared.head.batch;
  report.step = step ? "step " + std::to_string(*step) : "all steps";
  report.ours = std::move(ours);
  report.recorded = std::move(recorded);
  report.comparison = CompareTraces(report.ours, report.recorded);
  report.notes = laid_out.prepared.notes;
  return report;
}

}  // namespace

Status CheckStep(std::optional<int> step, const Timeline& timeline) {
  if (!step || *step <= timeline.steps) return Done();
  return Error{ErrorCode::kUsage, "--step", "this run has " + std::to_string(timeline.steps) + " steps",
               "type --step " + std::to_string(timeline.steps)};
}

Result<TraceReport> TraceBeside(const LaidOutStep& laid_out, std::optional<int> step, Trace recorded,
                                const std::string& file, const AllocatorConfig& allocator) {
  if (const Status checked = CheckStep(step, laid_out.timeline); !checked) return checked.error();
  Result<Trace> ours = TraceOf(laid_out.timeline, laid_out.prepared.layers, step, allocator);
  if (!ours.ok()) return ours.error();
  return Compared(laid_out, step, *std::move(ours), std::move(recorded), file);
}

Result<TraceReport> TraceBeside(const LaidOutStep& laid_out, RecordedSteps recorded, const std::string& file,
                                const AllocatorConfig& allocator) {
  const Timeline& timeline = laid_out.timeline;
  const int step = recorded.from_start ? std::min(recorded.number, timeline.steps) : timeline.steps;
  Result<Trace> ours = TraceOf(timeline, laid_out.prepared.layers, step, allocator);
  if (!ours.ok()) return ours.error();
  const Bytes before = RequestedBefore(timeline, laid_out.prepared.head.batch, step);
  TraceReport report = Compared(laid_out, step, AsRequested(*std::move(ours), before), std::move(recorded.step), file);
  report.row = "entry";
  report.level = "requested";
  report.file += " (its step " + std::to_string(recorded.number) + " of " + std::to_string(recorded.whole) + ")";
  return report;
}

}  // namespace vramplan
