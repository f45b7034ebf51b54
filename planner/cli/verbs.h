// The verbs: each takes Options and gives what goes to stdout, the notes that go to stderr, and the exit code.
#pragma once

#include <optional>
#include <string>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "planner/cli/options.h"
#include "planner/report/style.h"

namespace vramplan {

struct Outcome {
  std::string text;
  int exit_code = 0;
  Notes notes;                        // for stderr; JSON has them inside
  std::optional<std::string> stream;  // for --out; then the text goes to stdout
};

Result<Outcome> RunEstimate(const Options& options, const Style& style);
Result<Outcome> RunFit(const Options& options, const Style& style);
Result<Outcome> RunPlan(const Options& options, const Style& style);
Result<Outcome> RunInspect(const Options& options, const Style& style);
Result<Outcome> RunGpus(const Options& options, const Style& style);
Result<Outcome> RunTrace(const Options& options, const Style& style);
Result<Outcome> RunReplay(const Options& options, const Style& style);
Result<Outcome> RunSolve(const Options& options, const Style& style);
Result<Outcome> RunCheck(const Options& options);

}  // namespace vramplan
