// `vramplan compare`: a snapshot that PyTorch wrote of a run, beside the step of the model that ran.
#include <utility>

#include "planner/allocator/stream.h"
#include "planner/answers/trace.h"
#include "planner/cli/trace.h"
#include "planner/record/record.h"

namespace vramplan {
Result<Outcome> RunCompare(const Options& options, const Style& style, Probe* machine) {
  const Result<std::string> bytes = ReadStream(options.file);
  if (!bytes.ok()) return bytes.error();
  if (!IsPickle(*bytes)) {
    const bool is_stream = IsRecord(options.file) || bytes->substr(0, bytes->find('\n')).find(',') != std::string::npos;
    if (!is_stream || options.file.ends_with(".pickle") || options.file.ends_with(".pkl"))
      return IsNoSnapshot(options.file, "it is not a snapshot of PyTorch's memory, which would be a pickle");
    Options asked = options;
    asked.compare = options.file;
    return RunTrace(asked, style, machine);
  }
  const Result<Pickle> snapshot = ReadPickle(*bytes, options.file);
  if (!snapshot.ok()) return snapshot.error();
  StepChoice choice;
  if (options.spec.given.contains("step")) choice.step = options.step;
  choice.zero_grad_first = options.spec.zero_grad != ZeroGrad::kEnd;
  Result<RecordedSteps> recorded = StepOfSnapshot(*snapshot, options.file, choice);
  if (!recorded.ok()) return recorded.error();

  const Result<std::optional<ChosenDevice>> chosen = ChooseDevice(options, machine);
  if (!chosen.ok()) return chosen.error();
  const Result<LaidOutStep> laid_out = LayOutQuestion(options, *chosen);
  if (!laid_out.ok()) return laid_out.error();
  Result<TraceReport> report = TraceBeside(*laid_out, *std::move(recorded), options.file, options.allocator);
  if (!report.ok()) return report.error();
  return ShowTrace(options, *laid_out, *chosen, *std::move(report), style);
}

}  // namespace vramplan
