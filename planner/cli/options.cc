#include "planner/cli/options.h"

#include <algorithm>

#include "planner/cli/option_reader.h"
#include "planner/cli/read_size.h"
#include "planner/cli/typed_values.h"
#include "planner/runtimes/runtime.h"
#include "planner/semantics/optimizer.h"
#include "planner/spec/device.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

// Larger ones are typing errors: no card holds a million samples of anything that needs a plan.
constexpr int64_t kMostSamples = int64_t{1} << 20;
constexpr int kLastStep = 3;  // what Schedule lays out

// The last that matches decides, so that the two options keep the order of the line.
std::vector<TrainedPattern> TrainedOf(const TypedOptions& typed, std::span<const std::string> flags) {
  std::vector<TrainedPattern> trained;
  std::map<std::string, size_t> read;
  for (const std::string& flag : flags) {
    const auto values = typed.find(flag);
    if ((flag != "--trainable" && flag != "--frozen") || values == typed.end()) continue;
    if (const size_t at = read[flag]++; at < values->second.size())
      trained.push_back({values->second[at], flag == "--trainable"});
  }
  return trained;
}

Result<int> ParseAccumulate(const std::string& text) {
  const std::optional<int64_t> count = ReadInteger(text);
  if (!count || *count < 1 || *count > kMostSamples) {
    return Wrong("--accumulate", InQuotes(text) + " is not a whole number from 1 to " + std::to_string(kMostSamples),
                 "type --accumulate 4");
  }
  return static_cast<int>(*count);
}

Result<bool> ParseSetToNone(const std::string& text) {
  if (text == "on" || text == "off") return text == "on";
  return Wrong("--set-to-none", InQuotes(text) + " is not one of on or off", "type --set-to-none off");
}

// One optimizer to PyTorch: with a momentum SGD and RMSprop keep a buffer, without it they do not.
void ReadMomentum(OptionReader* reader, TrainingSpec* spec) {
  if (reader->Text("--momentum") == nullptr) return;
  reader->Read("--momentum", &spec->momentum, [](const std::string& t) { return ReadReal("--momentum", t); });
  const struct {
    Optimizer without, with;
  } pairs[] = {{Optimizer::kSgd, Optimizer::kSgdMomentum},
               {Optimizer::kRmsprop, Optimizer::kRmspropMomentum},
               {Optimizer::kRmspropCentered, Optimizer::kRmspropCenteredMomentum}};
  for (const auto& [without, with] : pairs) {
    if (spec->optimizer != without && spec->optimizer != with) continue;
    spec->optimizer = spec->momentum > 0 ? with : without;
    return;
  }
  if (spec->optimizer == Optimizer::kSgdNesterov && spec->momentum > 0) return;
  const bool nesterov = spec->optimizer == Optimizer::kSgdNesterov;
  reader->Fail(Wrong("--momentum",
                     std::string(Name(spec->optimizer)) + (nesterov ? " needs a momentum above 0" : " has no momentum"),
                     "type --optimizer sgd --momentum 0.9"));
}

Result<int> ParseRanks(const std::string& text) {
  constexpr int64_t kMost = 1 << 16;
  const std::optional<int64_t> count = ReadInteger(text);
  if (count && *count >= 1 && *count <= kMost) return static_cast<int>(*count);
  return Wrong("--gpus", InQuotes(text) + " is not a whole number from 1 to " + std::to_string(kMost), "type --gpus 8");
}

// What stands around the optimizer in the loop.
void ReadLoop(OptionReader* reader, TrainingSpec* spec) {
  reader->Read("--accumulate", &spec->accumulate, ParseAccumulate);
  reader->Read("--clip-grad-norm", &spec->clip_grad_norm,
               [](const std::string& t) { return ReadReal("--clip-grad-norm", t); });
  reader->Read("--zero-grad", &spec->zero_grad, ParseZeroGrad);
  reader->Read("--set-to-none", &spec->set_to_none, ParseSetToNone);
  reader->Read("--ema", &spec->ema, ParseEma);
  reader->Read("--strategy", &spec->strategy, ParseStrategy);
}

void ReadSpec(OptionReader* reader, TrainingSpec* spec, Notes* notes) {
  reader->Read("--mode", &spec->mode, ParseMode);
  reader->Read("--precision", &spec->precision, ParsePrecision);
  reader->Read("--optimizer", &spec->optimizer, ParseOptimizer);
  reader->Read("--optimizer-impl", &spec->optimizer_impl, ParseOptimizerImpl);
  reader->Read("--loss", &spec->loss, ParseLoss);
  if (const std::string* text = reader->Text("--loss-on")) spec->loss_on = *text;
  reader->Read("--framework", &spec->framework, ParseFramework);
  reader->Read("--attention", &spec->attention, ParseAttention);
  reader->Read("--inplace", &spec->inplace, ParseInplace);
  if (reader->Text("--optimizer-impl") == nullptr) spec->optimizer_impl = eager::UsualImpl(spec->optimizer);
  spec->weight_decay = DefaultWeightDecay(spec->optimizer);
  reader->Read("--weight-decay", &spec->weight_decay,
               [](const std::string& t) { return ReadReal("--weight-decay", t); });
  ReadMomentum(reader, spec);
  ReadLoop(reader, spec);
  if (const std::string* text = reader->Text("--cudnn-workspace"); text != nullptr && *text != "auto") {
    reader->Read("--cudnn-workspace", &spec->cudnn_workspace,
                 [&](const std::string& t) { return ReadSize("--cudnn-workspace", t, notes); });
  }
}

Result<bool> ParseOneOf(std::string_view flag, const std::string& text, std::string_view no, std::string_view yes) {
  if (text == no || text == yes) return text == yes;
  return Wrong(flag, InQuotes(text) + " is not one of " + std::string(no) + " or " + std::string(yes),
               "type " + std::string(flag) + " " + std::string(yes));
}

Result<bool> ParseOnOff(std::string_view flag, const std::string& text) {
  if (text == "on" || text == "off") return text == "on";
  return Wrong(flag, InQuotes(text) + " is not one of on or off", "type " + std::string(flag) + " off");
}

// Options that only some runtimes have, and what of the others does not go with them.
void CheckRuntime(OptionReader* reader, Verb verb, const TrainingSpec& spec) {
  using enum Runtime;
  const Runtime runtime = spec.framework.runtime;
  const std::string name(Name(runtime));
  const struct {
    const char* flag;
    std::vector<Runtime> of;
  } rows[] = {{"--ort-arena", {kOnnxRuntime}},
              {"--gpu-mem-limit", {kOnnxRuntime}},
              {"--cudnn-conv-use-max-workspace", {kOnnxRuntime}},
              {"--preallocate", {kTensorFlow, kJax}},
              {"--mem-fraction", {kTensorFlow, kJax}},
              {"--donate", {kJax}},
              {"--allocator-conf", {kPyTorch}},
              {"--optimizer-impl", {kPyTorch}},
              {"--retain", {kPyTorch}},
              {"--resident", {kPyTorch}},
              {"--keep-loss-graph", {kPyTorch}},
              {"--eval-batch", {kPyTorch}},
              {"--second-model", {kPyTorch}},
              {"--host", {kPyTorch}},
              {"--checkpoint", {kPyTorch, kTensorFlow, kJax}},
              {"--ema", {kPyTorch, kTensorFlow, kJax}},
              {"--trainable", {kPyTorch, kTensorFlow, kJax}},
              {"--frozen", {kPyTorch, kTensorFlow, kJax}},
              {"--assume-batchnorm", {kPyTorch, kTensorFlow, kJax}},
              {"--assume-dropout", {kPyTorch, kTensorFlow, kJax}}};
  for (const auto& [flag, of] : rows) {
    if (reader->Text(flag) == nullptr || std::find(of.begin(), of.end(), runtime) != of.end()) continue;
    std::string takers;
    for (const Runtime taker : of) takers += (takers.empty() ? "" : " or ") + std::string(Name(taker));
    reader->Fail(Wrong(flag, name + " has no such setting", "leave it out, or type --framework " + takers));
  }
  if (runtime == kPyTorch || verb == Verb::kEstimate || verb == Verb::kFit || verb == Verb::kSweep ||
      verb == Verb::kDiff)
    return;
  reader->Fail(
      Wrong("--framework",
            verb == Verb::kPlan
                ? "plan works with PyTorch's checkpoints, autocast and fused optimizers, and knows none of " + name
                : "every single allocation of a step is known for PyTorch only, not for " + name,
            "type vramplan fit FILE --framework " + name));
}

void ReadRuntime(OptionReader* reader, TrainingSpec* spec, Notes* notes) {
  reader->Read("--ort-arena", &spec->ort.growth, ParseArenaGrowth);
  reader->Read("--gpu-mem-limit", &spec->ort.limit,
               [&](const std::string& t) { return ReadSize("--gpu-mem-limit", t, notes); });
  reader->Read("--cudnn-conv-use-max-workspace", &spec->ort.max_workspace,
               [](const std::string& t) { return ParseOneOf("--cudnn-conv-use-max-workspace", t, "0", "1"); });
  reader->Read("--preallocate", &spec->pool.preallocate,
               [](const std::string& t) { return ParseOnOff("--preallocate", t); });
  reader->Read("--donate", &spec->pool.donate, [](const std::string& t) { return ParseOnOff("--donate", t); });
  reader->Read("--mem-fraction", &spec->pool.fraction, [](const std::string& t) -> Result<double> {
    const Result<double> share = ReadReal("--mem-fraction", t);
    if (!share.ok()) return share;
    if (*share > 0 && *share <= 1) return share;
    return Wrong("--mem-fraction", InQuotes(t) + " is not a share of the card above 0 and up to 1",
                 "type --mem-fraction 0.75");
  });
  // The only thing that ONNX Runtime does.
  if (spec->framework.runtime == Runtime::kOnnxRuntime && reader->Text("--mode") == nullptr) spec->mode = Mode::kInfer;
}

// Verbs about a step draw it, too.
bool Draws(Verb verb) {
  return verb == Verb::kEstimate || verb == Verb::kFit || verb == Verb::kPlan || verb == Verb::kExplain ||
         verb == Verb::kRun;
}

Result<Format> ParseFormat(Verb verb, const std::string& text) {
  const struct {
    const char* name;
    Format format;
    bool taken;
  } rows[] = {{"text", Format::kText, true},
              {"json", Format::kJson, true},
              {"csv", Format::kCsv, verb == Verb::kSweep},
              {"markdown", Format::kMarkdown, verb == Verb::kDiff},
              {"html", Format::kHtml, Draws(verb) || verb == Verb::kSweep || verb == Verb::kDiff},
              {"svg", Format::kSvg, Draws(verb) || verb == Verb::kSweep},
              {"snapshot", Format::kSnapshot, Draws(verb)}};
  std::vector<std::string> names;
  for (const auto& [name, format, taken] : rows) {
    if (!taken) continue;
    if (text == name) return format;
    names.emplace_back(name);
  }
  const std::string near = SuggestNearest(text, names);
  return Wrong("--format", InQuotes(text) + " is not one of " + JoinChoices(names),
               near.empty() ? "type --format json" : near);
}

Result<Dump> ParseDump(const std::string& text) {
  if (text == "shapes") return Dump::kShapes;
  if (text == "layers") return Dump::kLayers;
  if (text == "parameters") return Dump::kParameters;
  if (text == "holds") return Dump::kHolds;
  const std::string near = SuggestNearest(text, {"shapes", "layers", "parameters", "holds"});
  return Wrong("--dump", InQuotes(text) + " is not one of shapes, layers, parameters or holds",
               near.empty() ? "type --dump shapes" : near);
}

Result<int64_t> ParseBatch(const std::string& text) {
  const std::optional<int64_t> batch = ReadInteger(text);
  if (!batch || *batch < 1 || *batch > kMostSamples) {
    return Wrong("--batch", InQuotes(text) + " is not a whole number from 1 to " + std::to_string(kMostSamples),
                 "type --batch 32");
  }
  return *batch;
}

Result<int64_t> ParseSamples(std::string_view flag, const std::string& text) {
  const std::optional<int64_t> samples = ReadInteger(text);
  if (!samples || *samples < 1 || *samples > kMostSamples) {
    return Wrong(flag, InQuotes(text) + " is not a whole number from 1 to " + std::to_string(kMostSamples),
                 "type " + std::string(flag) + " 8");
  }
  return *samples;
}

Result<Tier> ParseTier(const std::string& text) {
  for (const Tier tier : {Tier::kNone, Tier::kModules, Tier::kOperators}) {
    if (text == Name(tier)) return tier;
  }
  return Wrong("--tier", InQuotes(text) + " is not one of none, modules or operators", "type --tier modules");
}

void ReadWishes(OptionReader* reader, PlanWishes* wishes) {
  reader->Read("--effective-batch", &wishes->effective_batch,
               [](const std::string& t) { return ParseSamples("--effective-batch", t); });
  const std::string* multiple = reader->Text("--multiple-of");
  wishes->power_of_two = multiple != nullptr && *multiple == "power-of-two";
  if (!wishes->power_of_two) {
    reader->Read("--multiple-of", &wishes->multiple_of,
                 [](const std::string& t) { return ParseSamples("--multiple-of", t); });
  }
  reader->Read("--tier", &wishes->tier, ParseTier);
  bool largest = false;
  reader->Read("--goal", &largest, [](const std::string& t) { return ParseOneOf("--goal", t, "time", "batch"); });
  if (largest) wishes->goal = Goal::kBatch;
}

// "2%" or "100MiB".
Result<std::optional<GrowthBudget>> ParseGrowth(const std::string& text) {
  const Error wrong =
      Wrong("--budget", InQuotes(text) + " is neither a percentage nor a size", "type --budget 2% or --budget 100MiB");
  if (text.ends_with('%')) {
    const Result<double> percent = ReadReal("--budget", text.substr(0, text.find_last_not_of("% ") + 1));
    if (!percent.ok()) return wrong;
    return std::optional(GrowthBudget{.percent = *percent});
  }
  const bool bare = text.find_first_not_of("0123456789.") == text.npos;
  const Result<Bytes> bytes = ParseBytes(text);
  if (!bytes.ok() || bare) return wrong;
  return std::optional(GrowthBudget{.bytes = *bytes});
}

Result<uint64_t> ParseSeed(const std::string& text) {
  const std::optional<int64_t> seed = ReadInteger(text);
  if (!seed || *seed < 0)
    return Wrong("--seed", InQuotes(text) + " is not a whole number of 0 or more", "type --seed 1");
  return static_cast<uint64_t>(*seed);
}

bool IsStandardInput(const std::string& file) { return file == "-" || file == "/dev/stdin"; }

Result<std::optional<int>> ParseStep(const std::string& text) {
  if (text == "all") return std::optional<int>();
  const std::optional<int64_t> step = ReadInteger(text);
  if (!step || *step < 1 || *step > kLastStep) {
    return Wrong("--step", InQuotes(text) + " is not a step from 1 to " + std::to_string(kLastStep) + ", or all",
                 "type --step 2, the first steady one");
  }
  return std::optional(static_cast<int>(*step));
}

// Of a snapshot, which may hold many.
Result<std::optional<int>> ParseRecordedStep(const std::string& text) {
  constexpr int64_t kMost = 1000000;
  const std::optional<int64_t> step = ReadInteger(text);
  if (step && *step >= 1 && *step <= kMost) return std::optional(static_cast<int>(*step));
  return Wrong("--step", InQuotes(text) + " is not the number of a step", "type --step 2");
}

// What the script does beside its loop.
void ReadAround(OptionReader* reader, Options* options) {
  Surroundings& around = options->spec.around;
  reader->Read("--resident", &around.resident,
               [&](const std::string& t) { return ReadSize("--resident", t, &options->notes); });
  around.keep_loss_graph = reader->Text("--keep-loss-graph") != nullptr;
  reader->Read("--eval-batch", &around.eval_batch, [](const std::string& t) -> Result<std::optional<int64_t>> {
    const std::optional<int64_t> batch = ReadInteger(t);
    if (batch && *batch >= 1 && *batch <= kMostSamples) return batch;
    return Wrong("--eval-batch", InQuotes(t) + " is not a whole number of 1 or more", "type --eval-batch 64");
  });
  if (const std::string* second = reader->Text("--second-model")) options->second_model = *second;
  if (around.eval_batch && options->spec.mode != Mode::kTrain)
    reader->Fail(Wrong("--eval-batch", "is about a validation beside a training", "leave --mode out"));
}

// --host, and the loader that it asks about.
void ReadHost(OptionReader* reader, Options* options) {
  options->host = reader->Text("--host") != nullptr;
  const auto count = [reader](const char* flag, int64_t least, int64_t* to) {
    reader->Read(flag, to, [&](const std::string& text) -> Result<int64_t> {
      const std::optional<int64_t> number = ReadInteger(text);
      constexpr int64_t kMost = 4096;
      if (number && *number >= least && *number <= kMost) return *number;
      return Wrong(flag, InQuotes(text) + " is not a number from " + std::to_string(least) + " to 4096",
                   std::string("type ") + flag + " 4");
    });
  };
  count("--workers", 0, &options->loader.workers);
  count("--prefetch", 1, &options->loader.prefetch);
  reader->Read("--sample-bytes", &options->loader.sample,
               [&](const std::string& t) { return ReadSize("--sample-bytes", t, &options->notes); });
  for (const char* flag : {"--workers", "--prefetch", "--sample-bytes"}) {
    if (!options->host && reader->Text(flag) != nullptr)
      reader->Fail(Wrong(flag, "is about the host's RAM", "add --host"));
  }
  if (options->host && AsksOfMany(options->gpu))
    reader->Fail(
        Wrong("--host", "is beside one card, and --gpu " + options->gpu + " asks about many", "name one card"));
}

// The options again, without --over: each combination is one command line.
Status ReadSweep(const TypedOptions& typed, std::span<const std::string> flags, Options* options) {
  options->typed = typed;
  options->typed.erase("--over");
  options->flags.assign(flags.begin(), flags.end());
  const auto over = typed.find("--over");
  if (over == typed.end()) return Done();
  Result<std::vector<SweepAxis>> axes = ReadSweepAxes(over->second);
  if (!axes.ok()) return axes.error();
  options->over = *std::move(axes);
  for (const SweepAxis& axis : options->over) {
    if (axis.name != "over" && axis.name != "format" && axis.name != "out" && axis.name != "gpu") continue;
    return Wrong("--over", InQuotes(axis.name) + " is not what a step depends on",
                 axis.name == "gpu" ? "type --gpu all" : "type --over batch=1:256:x2");
  }
  return Done();
}

}  // namespace

Result<Options> Understand(Verb verb, const std::string& positional, const TypedOptions& typed,
                           std::span<const std::string> flags) {
  Options options;
  options.verb = verb;
  if (verb != Verb::kWatch) (verb == Verb::kGpus || verb == Verb::kModels ? options.filter : options.file) = positional;
  for (const auto& [flag, values] : typed) options.spec.given.insert(flag.substr(2));

  OptionReader reader(typed);
  ReadSpec(&reader, &options.spec, &options.notes);
  ReadRuntime(&reader, &options.spec, &options.notes);
  CheckRuntime(&reader, verb, options.spec);
  reader.Read("--batch", &options.batch, ParseBatch);
  reader.Read("--gpu-memory", &options.gpu_memory,
              [&](const std::string& t) { return ReadCardSize(t, &options.notes); });
  reader.Read("--image", &options.bind.image, ParseImage);
  reader.Read("--capability", &options.capability, ParseCapability);
  reader.Read("--reserve", &options.reserve,
              [&](const std::string& t) { return ReadSize("--reserve", t, &options.notes); });
  reader.Read("--context", &options.context,
              [&](const std::string& t) { return ReadSize("--context", t, &options.notes); });
  reader.Read("--format", &options.format, [verb](const std::string& t) { return ParseFormat(verb, t); });
  reader.Read("--dump", &options.dump, ParseDump);
  if (reader.Text("--passes") != nullptr) options.dump = Dump::kPasses;
  reader.Read("--allocator-conf", &options.allocator, ParseAllocatorConfig);
  reader.Read("--step", &options.step, verb == Verb::kCompare ? ParseRecordedStep : ParseStep);
  options.step_named = reader.Text("--step") != nullptr;
  ReadWishes(&reader, &options.wishes);
  if (verb == Verb::kDiff) reader.Read("--budget", &options.growth, ParseGrowth);
  const auto remat_budget = [&](const std::string& t) -> Result<int64_t> {
    // In the unit of the problem, so that any number is one.
    const bool bare = t.find_first_not_of("0123456789.") == t.npos;
    const Result<Bytes> budget = bare ? ParseBytes(t) : ReadSize("--budget", t, &options.notes);
    if (!budget.ok()) return Wrong("--budget", InQuotes(t) + " is not a number or a size", "type --budget 8GiB");
    return budget->count();
  };
  if (verb != Verb::kDiff) reader.Read("--budget", &options.remat.budget, remat_budget);
  if (verb == Verb::kSolve) reader.Read("--seconds", &options.remat.seconds, ParseSeconds);
  reader.Read("--seed", &options.remat.seed, ParseSeed);
  reader.Read("--emit", &options.emit, ParseEmit);
  if (const std::string* file = reader.Text("--profile")) options.profile = *file;
  if (const std::string* model = reader.Text("--model")) options.model = *model;
  options.no_context = reader.Text("--no-context") != nullptr;
  ReadOnCard(&reader, verb, positional, &options);
  if (verb == Verb::kRun) ReadScript(&reader, typed, &options);
  if (options.emit == Emit::kPytorchSac && reader.Text("--tier") == nullptr) options.wishes.tier = Tier::kOperators;
  if (const std::string* conf = reader.Text("--allocator-conf")) options.allocator_text = *conf;
  options.problem = reader.Text("--problem") != nullptr;
  options.allocator.bfc = ArenaOf(options.spec);
  options.check = reader.Text("--check") != nullptr;
  options.verbose = reader.Text("--verbose") != nullptr;
  options.segments = reader.Text("--segments") != nullptr;
  options.put_back.training = options.spec.mode == Mode::kTrain;
  if (options.spec.precision == Precision::kAmpFp16) options.put_back.autocast = DType::kFloat16;
  if (options.spec.precision == Precision::kAmpBf16) options.put_back.autocast = DType::kBFloat16;
  reader.Read("--assume-batchnorm", &options.put_back.batch_norms,
              [](const std::string& t) { return ParseOnOff("--assume-batchnorm", t); });
  reader.Read("--assume-dropout", &options.put_back.dropout,
              [](const std::string& t) { return ReadReal("--assume-dropout", t); });
  if (options.put_back.dropout >= 1) {
    reader.Fail(Wrong("--assume-dropout", "a dropout of 1 or more keeps nothing", "type a share below 1, such as 0.1"));
  }
  if (const std::string* compare = reader.Text("--compare")) options.compare = *compare;
  ReadAround(&reader, &options);
  if (const std::string* gpu = reader.Text("--gpu")) options.gpu = *gpu;
  ReadHost(&reader, &options);
  if (options.gpu.empty() && options.gpu_memory) NoteMarketedSize(*options.gpu_memory, &options.notes);
  if (const std::string* out = reader.Text("--out")) {
    options.out = *out == "/dev/stdout" ? "-" : *out;
    if (out->empty())
      reader.Fail(Wrong("--out", "the name of the file is empty", "type --out FILE, or - for the terminal"));
  }
  options.force = reader.Text("--force") != nullptr;
  options.save = reader.Text("--save") != nullptr;
  if (const std::string* batch_dim = reader.Text("--batch-dim")) options.bind.batch_dim = *batch_dim;
  reader.Read("--lora", &options.lora, ParseLora);
  if (verb != Verb::kRun) reader.Read("--gpus", &options.spec.ranks, ParseRanks);
  reader.Read("--quant", &options.quant, ParseQuant);
  if (reader.error()) return *reader.error();
  if (const auto dims = typed.find("--dim"); dims != typed.end()) {
    if (const Status read = ReadDims(dims->second, &options.bind); !read.ok()) return read.error();
  }
  if (const auto retain = typed.find("--retain"); retain != typed.end()) options.spec.around.retain = retain->second;
  options.trained = TrainedOf(typed, flags);
  if (verb == Verb::kSweep) {
    if (const Status read = ReadSweep(typed, flags, &options); !read.ok()) return read.error();
  }
  if (const auto paths = typed.find("--checkpoint"); paths != typed.end()) options.spec.checkpoint = paths->second;
  if (const auto calls = typed.find("--saved"); calls != typed.end()) {
    for (const std::string& text : calls->second) {
      const Result<SavedCall> call = ParseSavedCall(text);
      if (!call.ok()) return call.error();
      options.spec.saved.push_back(*call);
    }
  }
  if (const auto inputs = typed.find("--input"); inputs != typed.end()) {
    if (const Status read = ReadInputs(inputs->second, &options.bind); !read.ok()) return read.error();
  }
  const bool no_card = options.gpu.empty() && !options.gpu_memory && options.profile.empty();
  if ((verb == Verb::kFit || verb == Verb::kPlan) && no_card && FindCard(options.file).ok()) {
    return Wrong(options.file, "it is a card, and no file is given",
                 "type vramplan " + std::string(Name(verb)) + " FILE.onnx --gpu " + options.file);
  }
  if (verb == Verb::kFit && no_card) {
    return Wrong("fit", "no card is given", "add --gpu t4, --gpu all or --gpu-memory 16GiB");
  }
  if (verb == Verb::kCompare && options.model.empty())
    return Wrong("compare", "no model is given", "add --model FILE.onnx");
  if (verb == Verb::kCheck && !options.remat.budget) return Wrong("check", "no budget is given", "add --budget N");
  if (verb == Verb::kPlan && no_card) return Wrong("plan", "no card is given", "add --gpu t4 or --gpu-memory 16GiB");
  if (options.batch && options.wishes.effective_batch) {
    return Wrong("--effective-batch", "cannot be combined with --batch",
                 "leave --batch out, or give it and --accumulate instead");
  }
  if (options.wishes.effective_batch && reader.Text("--accumulate") != nullptr) {
    return Wrong("--accumulate", "cannot be combined with --effective-batch, which chooses it",
                 "leave one of them out; --batch and --accumulate give both parts");
  }
  if (options.wishes.effective_batch && *options.wishes.effective_batch % options.wishes.multiple_of != 0) {
    return Wrong("--effective-batch",
                 std::to_string(*options.wishes.effective_batch) + " is not a multiple of " +
                     std::to_string(options.wishes.multiple_of) + ", which --multiple-of requires",
                 "leave --multiple-of out, or round the batch");
  }
  if (options.emit != Emit::kNone && options.format == Format::kJson && (options.out.empty() || options.out == "-")) {
    return Wrong("--emit", "the snippet and the JSON would both go to standard output",
                 "add --out FILE for the snippet");
  }
  if (verb == Verb::kExplain && IsStandardInput(options.file) && IsStandardInput(options.model)) {
    return Wrong("--model", "standard input cannot be both the log and the model", "name a file for one of them");
  }
  if (AsksOfMany(options.gpu)) {
    const std::string typed_gpu = "--gpu " + options.gpu;
    if (verb != Verb::kFit && verb != Verb::kSweep)
      return Wrong("--gpu", "only fit and sweep compare several cards", "type vramplan fit FILE " + typed_gpu);
    if (verb == Verb::kFit && IsStepAlone(options.format)) {
      return Wrong("--format", "svg and snapshot are of one step, and " + typed_gpu + " asks about many cards",
                   "type --format html");
    }
    if (options.gpu_memory)
      return Wrong("--gpu-memory", "cannot be combined with " + typed_gpu, "leave one of them out");
  }
  return options;
}

}  // namespace vramplan
