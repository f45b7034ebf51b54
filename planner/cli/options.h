// Options: the command line, understood: a question, and how it is answered. Verbs read this; what answers the question
// (planner/answers) sees nothing of it.
//
//   vramplan fit unet.onnx --gpu t4 --format json    {model "unet.onnx", gpu "t4"}, verb kFit, format kJson
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "planner/answers/question.h"
#include "planner/cli/sweep_axes.h"
#include "planner/remat/solve.h"
#include "planner/report/diff.h"
#include "planner/report/inspect.h"
#include "planner/report/snippets/snippets.h"
#include "planner/scripts/script.h"
#include "planner/solver/decide.h"

namespace vramplan {

// What was typed, still as text, in order.
struct TypedOption {
  std::string flag, value;  // "--batch", "8"; of a flag without an argument: nothing
  bool operator==(const TypedOption&) const = default;
};
using TypedOptions = std::vector<TypedOption>;

enum class Verb : uint8_t {
  kEstimate,
  kFit,
  kInspect,
  kGpus,
  kTrace,
  kReplay,
  kPlan,
  kSolve,
  kCheck,
  kProbe,
  kCalibrate,
  kValidate,
  kWatch,
  kExplain,
  kRun,
  kCompare,
  kSweep,
  kDiff,
  kModels,
  kUi,
};
// Whether the verb is about a file, which then stands behind it.
bool TakesFile(Verb verb);
std::string_view Name(Verb verb);

// kHtml: a page with pictures; kSvg: memory over the step alone; kSnapshot: the step as PyTorch's viewer reads it.
// kCsv: of a sweep; kMarkdown: of a diff; kRequest: of a step on one card, for a scheduler;
// kAll: text, JSON and page in one object.
enum class Format : uint8_t { kText, kJson, kHtml, kSvg, kSnapshot, kCsv, kMarkdown, kRequest, kAll };
inline bool IsPicture(Format format) {
  return format == Format::kHtml || format == Format::kSvg || format == Format::kSnapshot || format == Format::kAll;
}
std::string_view Name(Format format);
inline bool IsStepAlone(Format format) { return format == Format::kSvg || format == Format::kSnapshot; }
// What one card and one run are asked about.
inline bool IsOfOne(Format format) { return IsStepAlone(format) || format == Format::kRequest; }

struct Options : Question {
  bool Given(const std::string& option) const { return spec.given.contains(option); }  // "steps"
  // What --emit prints goes to standard output, and not to --out FILE.
  bool EmitsToOutput() const { return emit != Emit::kNone && (out.empty() || out == "-"); }

  Verb verb = Verb::kEstimate;
  std::string file;    // what stands behind the verb: a model, a record, a stream, a problem, a log, a snapshot
  std::string filter;  // gpus, models: what the name must contain; ui: what it starts with
  int port = 0;        // ui; 0: any
  Format format = Format::kText;
  bool verbose = false;  // estimate, fit, plan
  std::string out;
  bool force = false;  // --out may overwrite a file that is not an earlier answer
  Dump dump = Dump::kNone;
  std::string why;                      // a node; empty: nobody asks
  std::optional<int> step = 2;          // trace, compare: which one; nothing: all
  std::string compare;                  // trace: the recorded stream; diff: the second file
  std::optional<GrowthBudget> growth;   // diff
  bool problem = false;                 // trace
  bool check = false;                   // replay
  PlanWishes wishes;                    // plan
  Emit emit = Emit::kNone;              // fit, plan: instead of the answer, or into `out` beside it
  bool segments = false;                // estimate
  RematWishes remat;                    // solve, check
  std::string schedule;                 // check: the file
  bool no_context = false;              // probe: only look
  std::optional<Bytes> max_bytes;       // validate: of segments, in all
  bool dry_run = false;                 // validate: only say what would be done
  int64_t pid = 0;                      // watch: the process, or
  std::string command;                  // watch: what is started
  double interval = 0.1;                // watch: seconds between two looks
  std::optional<double> watch_seconds;  // watch: at most so long
  bool save = false;                    // watch: into the stored profile
  Script script;                        // run
  std::string record;                   // run: the file for its requests
  bool host = false;                    // fit: the host's RAM, too
  std::vector<SweepAxis> over;          // sweep
  TypedOptions typed;                   // what was typed, but for --over: to be changed and understood again
};

bool TakesOption(Verb verb, std::string_view flag);
// Whether it does, and the option has no value.
bool TakesSwitch(Verb verb, std::string_view flag);
// Whether its text leaves out what its line of assumptions says in a word.
inline bool IsBrief(const Options& options) { return options.format == Format::kText && !options.verbose; }

// Reads every value and holds them against each other. `positional` is what stands behind the verb.
Result<Options> Understand(Verb verb, const std::string& positional, const TypedOptions& typed);

}  // namespace vramplan
