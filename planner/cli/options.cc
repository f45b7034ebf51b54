#include "planner/cli/options.h"

#include <algorithm>

#include "planner/cli/option_row.h"
#include "planner/cli/typed_script.h"
#include "planner/cli/verbs.h"
#include "planner/runtimes/runtime.h"
#include "planner/semantics/optimizer.h"
#include "planner/spec/device.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

// Of an option that takes one value and was given two. The last one would silently win.
Error GivenTwice(Verb verb, const OptionRow& row, const std::string& first, const std::string& second) {
  std::string hint = "leave one of them out";
  const std::string both = first + "," + second;
  const bool of_step = row.group == OptionGroup::kModel || row.group == OptionGroup::kLoop;
  if (std::string_view(row.flag) == "--gpu" && (verb == Verb::kFit || verb == Verb::kSweep)) {
    hint = "type --gpu " + both + " to compare them";
  } else if (verb == Verb::kFit && of_step && TakesOption(Verb::kSweep, row.flag) &&
             both.find_first_of(" =") == both.npos) {
    hint += "; vramplan sweep FILE --over " + std::string(row.flag + 2) + "=" + both + " compares them";
  }
  return Wrong(row.flag, "is given twice, as " + first + " and " + second, std::move(hint));
}

// Puts every option that was typed where its row says.
Status ReadRows(Verb verb, const TypedOptions& typed, Options* options) {
  std::vector<std::string> values;
  for (const OptionRow& row : OptionRows()) {
    if (!TakenBy(row, verb)) continue;
    values.clear();
    for (const TypedOption& one : typed)
      if (one.flag == row.flag) values.push_back(one.value);
    if (values.empty()) continue;
    const auto other = std::ranges::find_if(values, [&](const std::string& value) { return value != values.front(); });
    if (!row.repeats && other != values.end()) return GivenTwice(verb, row, values.front(), *other);
    options->spec.given.insert(row.flag + 2);
    if (const Status read = row.read({row.flag, values, typed}, options); !read.ok()) return read;
  }
  return Done();
}

// One optimizer to PyTorch: with a momentum SGD and RMSprop keep a buffer, without it they do not.
Status SettleMomentum(TrainingSpec* spec) {
  const struct {
    Optimizer without, with;
  } pairs[] = {{Optimizer::kSgd, Optimizer::kSgdMomentum},
               {Optimizer::kRmsprop, Optimizer::kRmspropMomentum},
               {Optimizer::kRmspropCentered, Optimizer::kRmspropCenteredMomentum}};
  for (const auto& [without, with] : pairs) {
    if (spec->optimizer != without && spec->optimizer != with) continue;
    spec->optimizer = spec->momentum > 0 ? with : without;
    return Done();
  }
  const bool nesterov = spec->optimizer == Optimizer::kSgdNesterov;
  if (nesterov && spec->momentum > 0) return Done();
  return Wrong("--momentum",
               std::string(Name(spec->optimizer)) + (nesterov ? " needs a momentum above 0" : " has no momentum"),
               "type --optimizer sgd --momentum 0.9");
}

// Defaults that follow what was given.
Status Settle(Options* options) {
  TrainingSpec& spec = options->spec;
  // Both hold the same bytes.
  if (HasOnlyAdamW(options->emit) && !options->Given("optimizer")) spec.optimizer = Optimizer::kAdamW;
  if (!options->Given("optimizer-impl")) spec.optimizer_impl = eager::UsualImpl(spec.optimizer);
  if (!options->Given("weight-decay")) spec.weight_decay = DefaultWeightDecay(spec.optimizer);
  if (options->Given("momentum")) {
    if (const Status settled = SettleMomentum(&spec); !settled.ok()) return settled;
  }
  if (options->vllm && !options->Given("mode")) spec.mode = Mode::kServe;  // the only thing that it does
  if (options->vllm) options->vllm->fp8 = options->fp8_cache;
  if (options->Given("sequences") && spec.mode != Mode::kServe)
    return Wrong("--sequences", "it is for a model that serves", "type --mode serve, or --batch N");
  if (options->Given("sequences") && options->Given("batch"))
    return Wrong("--sequences", "it is the batch of --mode serve, but --batch is given too", "leave one of them out");
  // The only thing that ONNX Runtime does.
  if (spec.framework.runtime == Runtime::kOnnxRuntime && !options->Given("mode")) spec.mode = Mode::kInfer;
  options->allocator.bfc = ArenaOf(spec);
  if (options->emit == Emit::kPytorchSac && !options->Given("tier")) options->wishes.tier = Tier::kOperators;
  options->put_back.training = spec.mode == Mode::kTrain;
  if (spec.precision == Precision::kAmpFp16) options->put_back.autocast = DType::kFloat16;
  if (spec.precision == Precision::kAmpBf16) options->put_back.autocast = DType::kBFloat16;
  if (options->gpu.empty() && options->gpu_memory) NoteMarketedSize(*options->gpu_memory, &options->notes);
  return Done();
}

// Options that change nothing here: a serving has no optimizer.
void NoteIdle(Options* options) {
  const Mode mode = options->spec.mode;
  for (const OptionRow& row : OptionRows()) {
    if (!TakenBy(row, options->verb) || !options->Given(row.flag + 2) || (row.modes & Bit(mode)) != 0) continue;
    options->notes.Add({"idle-option", Severity::kNote, row.flag,
                        "it changes nothing with --mode " + std::string(Name(mode)), "leave it out"});
  }
}

// Options that only some runtimes have, and verbs that work with PyTorch alone.
Status CheckRuntime(const Options& options) {
  const Runtime runtime = options.spec.framework.runtime;
  const std::string name(Name(runtime));
  for (const OptionRow& row : OptionRows()) {
    if (!options.Given(row.flag + 2) || !TakenBy(row, options.verb) || (row.runtimes & Bit(runtime)) != 0) continue;
    std::string takers;
    for (const Runtime taker : {Runtime::kPyTorch, Runtime::kOnnxRuntime, Runtime::kTensorFlow, Runtime::kJax})
      if ((row.runtimes & Bit(taker)) != 0) takers += (takers.empty() ? "" : " or ") + std::string(Name(taker));
    return Wrong(row.flag, name + " has no such setting", "leave it out, or type --framework " + takers);
  }
  if (runtime == Runtime::kPyTorch || (verbs::kRuntimes >> static_cast<unsigned>(options.verb) & 1U) != 0)
    return Done();
  return Wrong(
      "--framework",
      options.verb == Verb::kPlan
          ? "plan works with PyTorch's checkpoints, autocast and fused optimizers, and models none of these in " + name
          : "vramplan knows every single allocation of a step only for PyTorch, not for " + name,
      "type vramplan fit FILE --framework " + name);
}

// Of run.
Status CheckScript(const Options& options) {
  const ScriptWishes& wishes = options.script.wishes;
  if (options.script.until_exit && options.Given("steps"))
    return Wrong("--until-exit", "does not go with --steps", "leave one of them out");
  if (const Status together = CheckWishes(wishes); !together.ok()) return together;
  if (wishes.write_back && (!wishes.largest_in || !wishes.vary.empty()))
    return Wrong("--write-back", "goes with --largest-in, and without --vary",
                 "type --largest batch=1:512 --largest-in config.yaml:data.batch_size --write-back");
  const bool many_gpus = wishes.ranks && wishes.ranks->gpus.size() > 1;
  const bool several = !wishes.vary.empty() || wishes.largest || many_gpus;
  if (wishes.tries && several)
    return Wrong("--try", "is about one run, and --vary, --largest and a list of --gpus make several",
                 "leave one of them out");
  if (wishes.real && (several || wishes.tries || wishes.ranks))
    return Wrong("--real", "compares one run on one card, and --vary, --largest, --try and --gpus are about more",
                 "leave them out");
  if (options.Given("record") && !wishes.vary.empty())
    return Wrong("--record", "is about one run, and --vary makes several", "leave one of them out");
  if (options.Given("record") && many_gpus)
    return Wrong("--record", "is about one run, and --gpus makes several", "name one number of cards");
  if (wishes.largest && options.gpu.empty() && !options.gpu_memory)
    return Wrong("--largest", "is about a card, and none is named", "add --gpu t4, or --gpu-memory 24GiB");
  return Done();
}

// What vllm serve is asked about with, and what has an answer of its own in planner/answers/vllm.cc. All else is of a step
// that PyTorch runs.
constexpr std::string_view kOfVllm[] = {"--gpu",     "--gpu-memory", "--capability", "--context", "--reserve",
                                        "--profile", "--batch",      "--sequences",  "--engine",  "--kv",
                                        "--dim",     "--mode",       "--precision",  "--weights", "--lora",
                                        "--quant",   "--resident"};

// --engine, and what goes with vLLM alone.
Status CheckEngine(const Options& options) {
  const std::string mode(Name(options.spec.mode));
  if (options.Given("engine") && options.spec.mode != Mode::kServe)
    return Wrong("--engine", "it serves, and --mode is " + mode, "type --mode serve, or leave --engine out");
  if (!options.vllm) {
    if (options.Given("kv")) return Wrong("--kv", "it is of vLLM's cache", "add --engine vllm");
    if (options.emit == Emit::kVllm)
      return Wrong("--emit", "vllm is the command that --engine vllm answers for",
                   "type vramplan fit NAME --engine vllm --emit vllm");
    return Done();
  }
  if (AsksOfMany(options.gpu))
    return Wrong("--engine", "vllm is answered for one card, and --gpu " + options.gpu + " asks about many",
                 "name one card");
  if (options.spec.ranks > 1)
    return Wrong("--gpus", "how vLLM shares a model among cards (--tensor-parallel-size) is not modelled",
                 "leave it out: the answer is for one card");
  if (options.host) return Wrong("--host", "how much RAM vLLM takes is not modelled", "leave it out");
  const bool shown =
      options.format == Format::kText || options.format == Format::kJson || options.format == Format::kAll;
  if (!shown)
    return Wrong("--format", std::string(Name(options.format)) + " is of a step, and vLLM's is not laid out",
                 "type --format json");
  if (options.emit != Emit::kNone && options.emit != Emit::kVllm)
    return Wrong("--emit", "for vLLM it can only be the command line", "type --emit vllm");
  for (const OptionRow& row : OptionRows()) {
    if (!TakenBy(row, options.verb) || !options.Given(row.flag + 2) || row.group == OptionGroup::kAnswer) continue;
    if (std::ranges::find(kOfVllm, row.flag) == std::end(kOfVllm))
      return Wrong(row.flag, "it changes nothing of what vllm serve takes",
                   "leave it out, or leave out --engine vllm for generate()");
  }
  return Done();
}

// Of watch: a process or a command.
Status ReadProcess(const std::string& positional, Options* options) {
  if (positional.empty() == options->command.empty()) {
    return Wrong("watch", positional.empty() ? "no process is given" : "both a process and a command are given",
                 "type vramplan watch PID, or vramplan watch --command \"python train.py\"");
  }
  if (positional.empty()) return Done();
  options->pid = ReadInteger(positional).value_or(0);
  if (options->pid >= 1) return Done();
  return Wrong(positional, "is not the number of a process",
               "nvidia-smi shows the numbers; to start a command, add --command");
}

// The card that an answer is about.
Status CheckCard(const Options& options) {
  const Verb verb = options.verb;
  const bool no_card = options.gpu.empty() && !options.gpu_memory && options.profile.empty();
  if (no_card && (verb == Verb::kFit || verb == Verb::kPlan)) {
    const std::string name(Name(verb));
    if (FindCard(options.file).ok())
      return Wrong(options.file, "it is a card, but no file is given",
                   "type vramplan " + name + " FILE.onnx --gpu " + options.file);
    return Wrong(
        name, "no card is given",
        verb == Verb::kFit ? "add --gpu t4, --gpu all or --gpu-memory 16GiB" : "add --gpu t4 or --gpu-memory 16GiB");
  }
  if (!AsksOfMany(options.gpu)) return Done();
  const std::string typed = "--gpu " + options.gpu;
  if (verb != Verb::kFit && verb != Verb::kSweep)
    return Wrong("--gpu", "only fit and sweep compare several cards", "type vramplan fit FILE " + typed);
  if (verb == Verb::kFit && IsOfOne(options.format))
    return Wrong("--format", "svg, snapshot and request are for one card, but " + typed + " asks about many",
                 "type --format html");
  if (options.host) return Wrong("--host", "is beside one card, and " + typed + " asks about many", "name one card");
  if (options.gpu_memory) return Wrong("--gpu-memory", "cannot be combined with " + typed, "leave one of them out");
  return Done();
}

Status CheckPlan(const Options& options) {
  const PlanWishes& wishes = options.wishes;
  if (!wishes.effective_batch) return Done();
  if (options.batch)
    return Wrong("--effective-batch", "cannot be combined with --batch",
                 "leave --batch out, or give it and --accumulate instead");
  if (options.Given("accumulate"))
    return Wrong("--accumulate", "cannot be combined with --effective-batch, which chooses it",
                 "leave one of them out; --batch and --accumulate give both parts");
  if (*wishes.effective_batch % wishes.multiple_of == 0) return Done();
  return Wrong("--effective-batch",
               std::to_string(*wishes.effective_batch) + " is not a multiple of " + std::to_string(wishes.multiple_of) +
                   ", which --multiple-of requires",
               "leave --multiple-of out, or round the batch");
}

bool IsStandardInput(const std::string& file) { return file == "-" || file == "/dev/stdin"; }

// Single options that need or exclude others.
Status CheckOthers(const Options& options) {
  for (const char* flag : {"workers", "prefetch", "sample-bytes"})
    if (options.Given(flag) && !options.host)
      return Wrong("--" + std::string(flag), "is about the host's RAM", "add --host");
  if (options.put_back.dropout >= 1)
    return Wrong("--assume-dropout", "a dropout of 1 or more keeps nothing", "type a share below 1, such as 0.1");
  if (options.spec.around.eval_batch && options.spec.mode != Mode::kTrain)
    return Wrong("--eval-batch", "is about a validation beside a training", "leave --mode out");
  if (options.verb == Verb::kCompare && options.model.empty())
    return Wrong("compare", "no model is given", "add --model FILE.onnx");
  if (options.verb == Verb::kCheck && !options.remat.budget)
    return Wrong("check", "no budget is given", "add --budget N");
  if (options.emit != Emit::kNone && AsksOfMany(options.gpu))
    return Wrong("--emit", "is for one card, and --gpu " + options.gpu + " asks about many", "name one card");
  if (options.EmitsToOutput() && options.format == Format::kJson)
    return Wrong("--emit", "the snippet and the JSON would both go to standard output",
                 "add --out FILE for the snippet");
  if (options.verb == Verb::kExplain && IsStandardInput(options.file) && IsStandardInput(options.model))
    return Wrong("--model", "standard input cannot be both the log and the model", "name a file for one of them");
  for (const SweepAxis& axis : options.over) {
    if (axis.name != "over" && axis.name != "format" && axis.name != "out" && axis.name != "gpu") continue;
    return Wrong("--over", InQuotes(axis.name) + " is not what a step depends on",
                 axis.name == "gpu" ? "type --gpu all, or a list as --gpu t4,a10" : "type --over batch=1:256:x2");
  }
  return Done();
}

}  // namespace

const std::vector<OptionRow>& OptionRows() {
  static const std::vector<OptionRow> rows = [] {
    std::vector<OptionRow> all;
    for (const auto part : {StepOptions(), FrameworkOptions(), CardOptions(), RunOptions(), AnswerOptions()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

namespace {

// Null: the verb does not take it.
const OptionRow* OptionTaken(Verb verb, std::string_view flag) {
  const auto found =
      std::ranges::find_if(OptionRows(), [&](const OptionRow& row) { return row.flag == flag && TakenBy(row, verb); });
  return found == OptionRows().end() ? nullptr : &*found;
}

}  // namespace

bool TakesOption(Verb verb, std::string_view flag) { return OptionTaken(verb, flag) != nullptr; }

bool TakesSwitch(Verb verb, std::string_view flag) {
  const OptionRow* const row = OptionTaken(verb, flag);
  return row != nullptr && row->is_flag();
}

std::string_view Name(Format format) {
  constexpr std::string_view kNames[] = {"text", "json",     "html",    "svg", "snapshot",
                                         "csv",  "markdown", "request", "all"};
  return kNames[static_cast<size_t>(format)];
}

Result<Options> Understand(Verb verb, const std::string& positional, const TypedOptions& typed) {
  Options options;
  options.verb = verb;
  options.hint_verb = Name(verb);
  const unsigned bit = verbs::Of({verb});
  options.of_step = (verbs::kStep & bit) != 0;
  const Behind behind = RowOf(verb).behind;
  if (behind == Behind::kFile || behind == Behind::kTwoFiles) options.file = positional;
  while (options.file.size() > 1 && options.file.ends_with('/')) options.file.pop_back();  // a folder of a config.json
  const bool of_model = (verbs::kGraph & bit) != 0 && !TakesOption(verb, "--model");
  if (behind == Behind::kFile && of_model) options.model = options.file;
  if (behind == Behind::kWord) options.filter = positional;
  if (const Status read = ReadRows(verb, typed, &options); !read.ok()) return read.error();
  if (behind == Behind::kProcess) {
    if (const Status read = ReadProcess(positional, &options); !read.ok()) return read.error();
  }
  if (const Status settled = Settle(&options); !settled.ok()) return settled.error();
  for (const auto check : {CheckRuntime, CheckScript, CheckEngine, CheckOthers, CheckPlan, CheckCard})
    if (const Status checked = check(options); !checked.ok()) return checked.error();
  NoteIdle(&options);
  // Each combination of a sweep is a command line again, without --over; what explain says to type next is one.
  options.typed = typed;
  std::erase_if(options.typed, [](const TypedOption& one) { return one.flag == "--over"; });
  return options;
}

}  // namespace vramplan
