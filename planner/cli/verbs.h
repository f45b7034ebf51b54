// The verbs: each takes Options and gives what goes to stdout, the notes that go to stderr, and the exit code.
// `machine` is never null; of the verbs about a step it is asked when they are told --gpu auto, and else not at all.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "cuda_probe/probe.h"
#include "graph/base/note.h"
#include "graph/base/result.h"
#include "planner/cli/options.h"
#include "planner/report/writing/style.h"

namespace vramplan {

constexpr int kExitDoesNotFit = 3;  // the exit code of a question whose answer is no

struct Outcome {
  std::string text;
  int exit_code = 0;
  Notes notes;                        // for stderr; JSON has them inside
  std::optional<std::string> stream;  // for --out; then the text goes to stdout
  std::string store;                  // where `stream` goes without --out; its folders are made. Empty: nowhere
};

Result<Outcome> RunFit(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunScript(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunPlan(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunEstimate(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunExplain(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunSweep(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunInspect(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunGpus(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunModels(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunUi(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunDiff(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunProbe(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunCalibrate(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunValidate(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunWatch(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunTrace(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunCompare(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunReplay(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunSolve(const Options& options, const Style& style, Probe* machine);
Result<Outcome> RunCheck(const Options& options, const Style& style, Probe* machine);

// What stands behind a verb.
enum class Behind : uint8_t { kFile, kTwoFiles, kWord, kProcess, kCommand, kNothing };

// All that is known of a verb, in one place: parser, --help, completion and the manual page are made of these rows. A
// new verb is a value of Verb, a row in verb_rows.cc, its bit at the options that it takes, and a file with its function.
struct VerbRow {
  Verb verb;
  const char* name;
  Behind behind;
  const char* usual;                    // behind the name in its shortest line
  bool expert;                          // about single requests: listed apart
  const char *left, *line;              // in the help of vramplan itself
  const char *usage, *text, *examples;  // in its own
  Result<Outcome> (*run)(const Options& options, const Style& style, Probe* machine);
};
std::span<const VerbRow> VerbRows();
const VerbRow& RowOf(Verb verb);

}  // namespace vramplan
