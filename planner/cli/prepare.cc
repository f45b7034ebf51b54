#include "planner/cli/prepare.h"

#include <algorithm>

#include "graph/architectures/named.h"
#include "graph/ir/aten.h"
#include "graph/shapes/bounds.h"
#include "graph/shapes/branches.h"
#include "graph/shapes/kept_batch.h"
#include "graph/shapes/quantized.h"
#include "planner/cli/check_inputs.h"
#include "planner/cli/named_model.h"
#include "planner/cli/spec_of_file.h"
#include "planner/report/writing/numbers.h"
#include "planner/runtimes/runtime.h"
#include "planner/spec/adapters.h"

namespace vramplan {
namespace {

// The batch as the user said it: --batch; the length they gave to the batch by --dim or --input; nothing.
std::optional<int64_t> GivenBatch(const Options& options, const Graph& graph, const Binding& binding) {
  if (options.batch) return options.batch;
  const auto named = options.bind.dims.find(binding.batch_symbol);
  if (!binding.batch_symbol.empty() && named != options.bind.dims.end() && named->second >= 1) return named->second;
  for (const auto& [id, shape] : binding.inputs) {
    const auto lengths = options.bind.inputs.find(graph[id].name);
    if (lengths == options.bind.inputs.end()) continue;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const size_t at = static_cast<size_t>(axis);
      if (shape[axis] == Dim::Batch() && at < lengths->second.size() && lengths->second[at] >= 1)
        return lengths->second[at];
    }
  }
  return std::nullopt;
}

// "h.0 h.1 h.2 and 9 more": models have dozens of blocks, all of which are in the JSON.
std::string Paths(const std::vector<std::string>& paths) {
  constexpr size_t kPrinted = 4;
  std::string text;
  for (size_t i = 0; i < std::min(paths.size(), kPrinted); ++i) text += (i == 0 ? "" : " ") + paths[i];
  return paths.size() <= kPrinted ? text : text + " and " + std::to_string(paths.size() - kPrinted) + " more";
}

// How to ask about what cannot be trained; plan is about training alone.
std::string AskOfInference(const Options& options) {
  return options.verb == Verb::kPlan ? "type vramplan estimate " + options.file + " --mode infer" : "--mode infer";
}

// What the file leaves out: which parameters have requires_grad. `layers` are finished by it.
Status DecideTrained(const Options& options, Layers* layers, Prepared* prepared) {
  if (options.spec.framework.runtime == Runtime::kOnnxRuntime) return Done();
  const bool told = layers->told.tensors;
  if (!told && CountTrained(*layers).frozen > 0 && !DecideAll(options.trained, *layers))
    prepared->assumed_frozen =
        "parameters that their library freezes are frozen (stages of DETR's backbone, positions of Whisper's encoder)";
  FrozenBase base = told ? FrozenBase() : AssumeFrozenBase(options.trained, layers, &prepared->notes);
  if (!base.patterns.empty()) prepared->assumed_frozen = std::move(base.text);
  prepared->trained = std::move(base.patterns);
  if (const Status applied = ApplyTrained(options.trained, layers, &prepared->notes); !applied.ok()) return applied;
  prepared->trained.insert(prepared->trained.end(), options.trained.begin(), options.trained.end());
  const TrainedCount count = CountTrained(*layers);
  if (options.spec.mode != Mode::kTrain || count.trained > 0) return Done();
  if (options.trained.empty()) {
    if (count.frozen == 0 || !told) return Done();
    return Error{ErrorCode::kBadInput, options.file,
                 "its facts say that all " + std::to_string(count.frozen) +
                     " parameters are frozen, so there is "
                     "nothing to train",
                 "add --trainable 'fc.*', or " + AskOfInference(options)};
  }
  return Error{ErrorCode::kUsage, "--frozen",
               "all " + std::to_string(count.frozen) + " parameters are frozen, so there is nothing to train",
               "add --trainable 'fc.*' after it, or " + AskOfInference(options)};
}

// What has no gradient is not trained.
Status CheckTrainable(const Options& options, const Graph& graph) {
  const auto refused = [&](const char* what, const Node& node, const char* why, const char* or_else) {
    return Error{ErrorCode::kBadInput, options.file,
                 std::string("it is ") + what + " (node " + node.name + ", " + node.op + "): " + why,
                 AskOfInference(options) + or_else};
  };
  if (const Node* node = QuantizedNode(graph)) {
    return refused("quantized", *node, "integers carry no gradient, so it cannot be trained",
                   ", or give the graph as it was before quantization");
  }
  if (const Node* node = ClassicalNode(graph)) {
    return refused("a classical model", *node, "it has no gradient, so it is not trained in steps", "");
  }
  return Done();
}

// ONNX Runtime runs the file itself.
Status CheckRuns(const Options& options, const Graph& graph) {
  if (options.spec.framework.runtime != Runtime::kOnnxRuntime || !IsProgram(graph)) return Done();
  return Error{ErrorCode::kBadInput, options.file, "ONNX Runtime does not run programs of torch.export",
               "export it with torch.onnx.export, or leave --framework out"};
}

// export_params=False makes inputs of the weights; which of them are trained is not in the file then.
Status CheckWeights(const std::string& file, const Graph& graph) {
  for (const TensorId id : graph.inputs) {
    if (!graph[id].name.ends_with(".weight")) continue;
    return Error{ErrorCode::kBadInput, file, "its weights are inputs (" + graph[id].name + ")",
                 "export it without export_params=False; with external_data=True the .data file may be deleted"};
  }
  return Done();
}

// What the file cannot say, and what is taken for it, without a size.
void AddUnsaid(const TrainingSpec& spec, const ModelFacts& model, std::vector<SpecRow>* rows) {
  const bool trains = spec.mode == Mode::kTrain;
  if (trains && model.MayLackDropouts() && spec.given.count("assume-dropout") == 0)
    rows->push_back({"dropouts-left-out", "none", "none", false, "no dropout"});
  if (model.exported != (trains ? ExportedMode::kTraining : ExportedMode::kEvaluation))
    rows->push_back({"layers-of-one-mode", "none", "none", false, "train() and eval() run the same layers"});
  if (model.unread_left_out)
    rows->push_back({"unread-parameters", "none", "none", false, "no parameter or buffer that forward() never reads"});
}

}  // namespace

Result<Prepared> Prepare(const Options& options) {
  Prepared prepared;
  prepared.notes = options.notes;
  BindOptions bind = options.bind;
  Result<Graph> graph = GraphOf(options, &bind, &prepared.question.usual_lengths, &prepared.notes);
  if (!graph.ok()) return graph.error();
  prepared.graph = *std::move(graph);
  if (const Status runs = CheckRuns(options, prepared.graph); !runs.ok()) return runs.error();
  NoteOptimizerOfPipe(options, prepared.graph.facts, &prepared.notes);
  if (const Status weights = CheckWeights(options.file, prepared.graph); !weights.ok()) return weights.error();
  if (auto plain = WithoutBranches(prepared.graph, bind, &prepared.notes)) prepared.graph = *std::move(plain);
  if (options.spec.mode == Mode::kTrain) {
    if (const Status trainable = CheckTrainable(options, prepared.graph); !trainable.ok()) return trainable.error();
  }
  Result<Binding> binding = Bind(prepared.graph, bind, &prepared.notes);
  if (!binding.ok()) return binding.error();
  prepared.binding = *std::move(binding);
  if (const Status batch = CheckBatch(options, prepared.graph, prepared.binding); !batch.ok()) return batch.error();
  TakeBounds(&prepared.binding);
  Result<Shapes> shapes = InferOrKeepBatch(prepared.graph, bind, &prepared.binding, &prepared.notes);
  if (const Status empty = CheckEmpty(options, prepared.graph, shapes); !empty.ok()) return empty.error();
  if (!shapes.ok()) return shapes.error();
  prepared.shapes = *std::move(shapes);
  NoteBatchAxes(prepared.graph, prepared.shapes, prepared.binding, &prepared.notes);
  const Runtime runtime = options.spec.framework.runtime;
  Result<Layers> layers = GraphFor(runtime, prepared.graph, prepared.shapes, options.put_back, &prepared.notes);
  if (!layers.ok()) return layers.error();
  if (const Status trained = DecideTrained(options, &*layers, &prepared); !trained.ok()) return trained.error();
  prepared.layers = *std::move(layers);
  prepared.lifetimes = LifetimesFor(runtime, prepared.layers);

  StepQuestion& question = prepared.question;
  question.model = FactsOf(prepared.graph, prepared.binding, prepared.layers);
  // torch/optim/optimizer.py, 2.10: "optimizer got an empty parameter list".
  if (options.spec.mode == Mode::kTrain && question.model.parameters == 0) {
    return Error{ErrorCode::kBadInput, options.file, "it has no parameters, so there is nothing to train",
                 AskOfInference(options)};
  }
  question.mode = options.spec.mode;
  question.runtime = runtime;
  const std::optional<int64_t> batch = GivenBatch(options, prepared.graph, prepared.binding);
  question.batch = batch.value_or(1);
  question.batch_given = batch.has_value();
  if (!batch && question.model.has_batch &&
      (options.verb == Verb::kEstimate || options.verb == Verb::kTrace || options.verb == Verb::kWatch ||
       options.verb == Verb::kCompare || options.verb == Verb::kDiff)) {
    prepared.notes.Add({"assumed-batch", Severity::kNote, "--batch", "assumed 1", "give --batch to change it"});
  }
  return prepared;
}

Status TakeSecondModel(Options* options) {
  if (options->second_model.empty()) return Done();
  Options second = *options;
  second.file = options->second_model;
  second.spec.mode = Mode::kInfer;
  second.spec.around = {};
  second.trained.clear();
  second.named = nullptr;
  if (const Status named = TakeNamed(&second); !named.ok()) return named.error();
  Result<Prepared> prepared = Prepare(second);
  if (!prepared.ok()) return prepared.error();
  options->spec.around.second = std::make_shared<const Layers>(std::move(prepared->layers));
  return Done();
}

Result<Timeline> LayOut(const Prepared& prepared, const TrainingSpec& spec, int64_t batch, Notes* notes) {
  return ScheduleFor(prepared.layers, prepared.lifetimes.likely, spec, batch, notes);
}

std::vector<SpecRow> SpecRows(const Options& options, const TrainingSpec& spec, const StepQuestion& question,
                              const std::optional<ChosenDevice>& chosen, const ContextBand& context) {
  std::vector<SpecRow> rows;
  const auto add = [&](const std::string& option, Json value, std::string text) {
    rows.push_back({option, std::move(value), std::move(text), spec.given.count(option) != 0});
  };
  const auto add_name = [&](const std::string& option, std::string_view name) { add(option, name, std::string(name)); };
  const auto add_bytes = [&](const std::string& option, Bytes bytes) { add(option, bytes, ToString(bytes)); };
  const auto add_number = [&](const std::string& option, double number) { add(option, number, NumberText(number)); };

  add("batch", question.batch, std::to_string(question.batch));
  rows.back().given = question.batch_given;
  if (options.named != nullptr) {
    add_name("named", options.named->source);
    rows.back().given = true;
    rows.back().phrase =
        options.named->source + " (" + options.named->of_class + ", " + options.named->templates.made_with + ")";
  }
  if (options.lora) {
    const std::vector<std::string>& targets =
        options.lora->targets.empty() ? options.named->templates.lora_targets : options.lora->targets;
    std::string text = std::to_string(options.lora->rank);
    for (const std::string& target : targets) text += (&target == &targets.front() ? " on " : "+") + target;
    add("lora", text, text);
    if (options.lora->dropout > 0) rows.back().text += " dropout " + NumberText(options.lora->dropout);
  }
  if (options.quant) {
    const std::string text = options.quant->type + (options.quant->nested ? ",double" : "");
    add("quant", Json(text), text);
    if (!IsHalf(TypeInRun(DType::kFloat32, options.spec.precision))) rows.back().text += ", other weights in fp32";
  }
  for (const auto& [name, length] : question.usual_lengths) {
    add("dim", Json(name + "=" + std::to_string(length)), name + "=" + std::to_string(length));
    rows.back().given = false;
    rows.back().phrase = name + " " + std::to_string(length);
  }
  for (const auto& [name, length] : options.bind.dims) {
    add("dim", Json(name + "=" + std::to_string(length)), name + "=" + std::to_string(length));
  }
  if (const auto& image = options.bind.image) {
    const std::string size = std::to_string(image->height) + "x" + std::to_string(image->width);
    add("image", Json(size), size);
  }
  add_name("mode", Name(spec.mode));
  add_name("precision", Name(spec.precision));
  if (spec.precision_of_file) {
    rows.back().given = true;
    if (options.named == nullptr || !spec.given.contains("precision"))
      rows.back().phrase = "precision " + std::string(Name(spec.precision)) +
                           (options.named == nullptr ? " (as the file says)" : " (as its config.json says)");
  }
  if (spec.mode == Mode::kTrain) {
    add_name("optimizer", Name(spec.optimizer));
    if (options.optimizer_of_file) {
      rows.back().given = true;
      rows.back().phrase = "optimizer " + std::string(Name(spec.optimizer)) + " (as the file says)";
    }
    if (spec.optimizer != Optimizer::kNone) {
      if (spec.framework.runtime == Runtime::kPyTorch) add_name("optimizer-impl", Name(spec.optimizer_impl));
      add_number("weight-decay", spec.weight_decay);
    }
    if (spec.optimizer == Optimizer::kSgdMomentum || spec.optimizer == Optimizer::kSgdNesterov)
      add_number("momentum", spec.momentum);
    add("accumulate", Json(int64_t{spec.accumulate}), std::to_string(spec.accumulate));
    if (spec.clip_grad_norm > 0) add_number("clip-grad-norm", spec.clip_grad_norm);
    add_name("zero-grad", Name(spec.zero_grad));
    if (!spec.set_to_none) add_name("set-to-none", "off");
    if (spec.strategy != Strategy::kNone) {
      add_name("strategy", Name(spec.strategy));
      add("gpus", Json(int64_t{spec.ranks}), std::to_string(spec.ranks));
    }
    if (spec.ema != Ema::kNone) add_name("ema", Name(spec.ema));
    add_name("loss", Name(spec.loss));
    if (!spec.loss_on.empty()) add_name("loss-on", spec.loss_on);
  }
  const ModelFacts& model = question.model;
  if (spec.mode == Mode::kTrain && options.trained.empty() && model.trained_known) {
    add_name("trainable", model.frozen == 0 ? "*" : "as in the file");
    rows.back().given = true;
    rows.back().phrase = options.named != nullptr ? (options.lora ? "adapters trained" : "every parameter trained")
                         : model.frozen == 0      ? "every parameter trained (as the file says)"
                                                  : "trained what the file says";
  } else if (spec.mode == Mode::kTrain && options.trained.empty() && model.frozen == 0) {
    add_name("trainable", "*");
    rows.back().phrase = "every parameter trained";
    const bool says_checkpoints = model.checkpoints_known || !spec.checkpoint.empty() || options.verb == Verb::kPlan;
    if (!says_checkpoints) rows.back().phrase += ", nothing checkpointed";
  }
  AddUnsaid(spec, model, &rows);
  for (const TrainedPattern& pattern : options.trained)
    add_name(pattern.trained ? "trainable" : "frozen", pattern.glob);
  add_name("framework", ToString(spec.framework));
  const Runtime runtime = spec.framework.runtime;
  if (runtime == Runtime::kOnnxRuntime) {
    add_name("ort-arena", Name(spec.ort.growth));
    if (spec.ort.limit) add_bytes("gpu-mem-limit", *spec.ort.limit);
    add_name("cudnn-conv-use-max-workspace", spec.ort.max_workspace ? "1" : "0");
  } else {
    add_name("attention", Name(spec.attention));
    add_name("inplace", Name(spec.inplace));
  }
  if (runtime == Runtime::kTensorFlow || runtime == Runtime::kJax) {
    add_name("preallocate", spec.pool.preallocate ? "on" : "off");
    if (spec.pool.fraction) add_number("mem-fraction", *spec.pool.fraction);
    if (runtime == Runtime::kJax && spec.mode == Mode::kTrain) add_name("donate", spec.pool.donate ? "on" : "off");
  }
  const Surroundings& around = spec.around;
  if (around.resident > Bytes()) add_bytes("resident", around.resident);
  if (!around.retain.empty()) {
    Json names = Json::Array();
    for (const std::string& name : around.retain) names.Push(name);
    add("retain", std::move(names), Paths(around.retain));
  }
  if (around.keep_loss_graph) {
    add("keep-loss-graph", true, "on");
    rows.back().phrase = "keep-loss-graph";
  }
  if (around.eval_batch) add("eval-batch", *around.eval_batch, std::to_string(*around.eval_batch));
  if (!options.second_model.empty()) add_name("second-model", FileName(options.second_model));
  if (!spec.checkpoint.empty()) {
    Json paths = Json::Array();
    for (const std::string& path : spec.checkpoint) paths.Push(path);
    add("checkpoint", std::move(paths), Paths(spec.checkpoint));
  }
  if (!spec.saved.empty()) {
    Json calls = Json::Array();
    std::vector<std::string> texts;
    for (const SavedCall& call : spec.saved) texts.push_back(ToString(call));
    for (const std::string& text : texts) calls.Push(text);
    add("saved", std::move(calls), Paths(texts));
  }
  if (spec.cudnn_workspace) {
    add_bytes("cudnn-workspace", *spec.cudnn_workspace);
  } else {
    add_name("cudnn-workspace", "auto");
  }
  if (chosen && !chosen->profile.empty()) add_name("profile", chosen->profile);
  if (!options.allocator_text.empty()) add_name("allocator-conf", options.allocator_text);
  if (chosen && chosen->facts) {
    add("gpu", options.gpu,
        options.gpu + " (" + chosen->facts->name + ", card " + std::to_string(chosen->facts->index) + ")");
    if (chosen->device.held > Bytes()) add("held", chosen->device.held, ToString(chosen->device.held) + " by others");
  } else if (chosen && !chosen->id.empty()) {
    add_name("gpu", chosen->id);
  }
  if (options.gpu_memory) add_bytes("gpu-memory", *options.gpu_memory);
  add_name("capability", ToString(spec.capability));
  // A card that was named gives its capability.
  if (!options.capability && chosen && (chosen->facts || !chosen->id.empty())) rows.back().given = true;
  add_bytes("context", context.likely);
  if (options.reserve > Bytes()) add_bytes("reserve", options.reserve);
  return rows;
}

}  // namespace vramplan
