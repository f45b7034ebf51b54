#include "planner/report/replay.h"

#include "planner/allocator/stream.h"
#include "planner/cli/verbs.h"
#include "planner/report/parts/model_facts.h"
#include "planner/snapshot/recorded_step.h"

namespace vramplan {

Result<Outcome> RunReplay(const Options& options, const Style& style, Probe* /*machine*/) {
  const Result<std::string> text = ReadStream(options.file);
  if (!text.ok()) return text.error();
  if (IsPickle(*text)) return IsNoText(options.file);
  ReplayReport report;
  report.file = FileName(options.file);
  report.allocator_conf = options.allocator_text;
  report.gpu_memory = options.gpu_memory;
  report.check = options.check;
  Result<StreamPeak> stream =
      ReplayStream(*text, options.file, options.allocator, options.gpu_memory.value_or(Bytes::Max()),
                   options.check ? StreamCheck::kOn : StreamCheck::kOff);
  if (!stream.ok()) return stream.error();
  report.stream = *std::move(stream);
  const bool fits = report.stream.out_of_memory == 0 || options.check;  // a recording's own failures are compared
  const bool json = options.format == Format::kJson;
  return Outcome{.text = json ? Print(ToJson(report)) : PrintReplay(report, style),
                 .exit_code = report.stream.difference ? 1
                              : fits                   ? 0
                                                       : 3};
}

}  // namespace vramplan
