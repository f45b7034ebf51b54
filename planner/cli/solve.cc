#include "planner/remat/solve.h"

#include <chrono>

#include "planner/allocator/stream.h"
#include "planner/cli/verbs.h"
#include "planner/remat/text.h"
#include "planner/report/parts/model_facts.h"
#include "planner/report/remat.h"

namespace vramplan {

Result<Outcome> RunSolve(const Options& options, const Style& style, Probe* /*machine*/) {
  constexpr int kNoSchedule = 3;
  const auto begin = std::chrono::steady_clock::now();
  if (options.out == "-")
    return Error{ErrorCode::kUsage, "--out", "the answer already goes to the terminal", "name a file for the schedule"};
  const Result<std::string> text = ReadStream(options.file);
  if (!text.ok()) return text.error();
  const Result<RematProblem> problem = ReadProblem(*text, options.file);
  if (!problem.ok()) return problem.error();

  RematReport report;
  report.file = FileName(options.file);
  report.nodes = problem->size();
  report.edges = problem->edges();
  report.answer = Solve(*problem, options.remat);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const bool found = report.answer.outcome.has_value();
  Outcome outcome;
  outcome.text = options.format == Format::kJson ? Print(ToJson(report)) : PrintRemat(report, style);
  outcome.exit_code = found ? 0 : kNoSchedule;
  // Without a schedule there is no file: an old one must not pass for it.
  if (!options.out.empty()) outcome.stream = found ? WriteSchedule(report.answer.schedule) : std::string();
  return outcome;
}

}  // namespace vramplan
