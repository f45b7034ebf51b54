// Options: the command line, understood. Verbs read this; nothing after it sees text that the user typed.
//
//   vramplan fit unet.onnx --gpu t4 --batch 8    {verb kFit, file "unet.onnx", gpu "t4", batch 8}
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/architectures/lora.h"
#include "graph/architectures/quantization.h"
#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/lift/lift.h"
#include "graph/shapes/infer.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/cli/script_wishes.h"
#include "planner/cli/sweep_axes.h"
#include "planner/remat/solve.h"
#include "planner/report/diff.h"
#include "planner/report/inspect.h"
#include "planner/report/parts/host.h"
#include "planner/report/snippets/snippets.h"
#include "planner/solver/decide.h"
#include "planner/spec/spec.h"
#include "planner/spec/trained.h"

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

struct NamedModel;

struct Options {
  bool Given(const std::string& option) const { return spec.given.contains(option); }  // "steps"

  Verb verb = Verb::kEstimate;
  std::string file;  // estimate, fit, plan, inspect, trace: the graph; replay: the stream; solve, check: the problem;
                     // explain: the log; compare: the snapshot; diff: the first
  std::shared_ptr<const NamedModel> named;  // where `file` is the name of a model
  std::optional<Lora> lora;                 // of it
  std::optional<Quantization> quant;        // of it
  std::string filter;                       // gpus, models: what the name must contain; ui: what it starts with
  int port = 0;                             // ui; 0: any
  BindOptions bind;
  PutBack put_back;
  TrainingSpec spec;
  bool optimizer_of_file = false;       // the file's facts named it, and no option did
  std::vector<TrainedPattern> trained;  // --trainable and --frozen, as they stood on the line
  std::optional<int64_t> batch;
  std::string gpu;  // as typed; "all", "t4,a10", "auto" and "auto:N" are kept
  std::optional<Bytes> gpu_memory;
  std::optional<Capability> capability;
  Bytes reserve;
  std::optional<Bytes> context;
  std::string profile;  // the file; empty: none
  Format format = Format::kText;
  bool verbose = false;  // estimate, fit, plan
  std::string out;
  bool force = false;  // --out may overwrite a file that is not an earlier answer
  Dump dump = Dump::kNone;
  std::string why;  // a node; empty: nobody asks
  AllocatorConfig allocator;
  std::string allocator_text;          // as typed
  std::optional<int> step = 2;         // trace, compare: which one; nothing: all
  std::string compare;                 // trace: the recorded stream; diff: the second file
  std::optional<GrowthBudget> growth;  // diff
  bool problem = false;                // trace
  bool check = false;                  // replay
  PlanWishes wishes;                   // plan
  Emit emit = Emit::kNone;             // plan: instead of the answer, or into `out` beside it
  bool segments = false;               // estimate
  RematWishes remat;                   // solve, check
  std::string schedule;                // check: the file
  bool no_context = false;             // probe: only look
  std::string model;                   // calibrate: whose convolutions; watch, explain, compare: what runs; empty: none
  std::optional<Bytes> max_bytes;      // validate: of segments, in all
  bool dry_run = false;                // validate: only say what would be done
  int64_t pid = 0;                     // watch: the process, or
  std::string command;                 // watch: what is started
  double interval = 0.1;               // watch: seconds between two looks
  std::optional<double> watch_seconds;  // watch, run: at most so long
  bool save = false;                    // watch: into the stored profile
  Notes notes;                          // about how they were read
  std::vector<std::string> script;      // run: the command behind --
  int steps = 3;                        // run: optimizer steps, or
  bool until_exit = false;              // run: until it ends by itself
  ScriptWishes wishes_of_script;        // run: what is changed from run to run
  std::string record;                   // run: the file for its requests
  std::string second_model;             // the file of --second-model; `spec.around.second` is what is in it
  bool host = false;                    // fit: the host's RAM, too
  LoaderQuestion loader;                // with it
  std::vector<SweepAxis> over;          // sweep
  TypedOptions typed;                   // sweep: what was typed, to be changed and understood again
};

// Whether --gpu asks about several cards: "all", "t4,a10,l4".
inline bool AsksOfMany(const std::string& gpu) { return gpu == "all" || gpu.find(',') != std::string::npos; }

bool TakesOption(Verb verb, std::string_view flag);

// Reads every value and holds them against each other. `positional` is what stands behind the verb.
Result<Options> Understand(Verb verb, const std::string& positional, const TypedOptions& typed);

}  // namespace vramplan
