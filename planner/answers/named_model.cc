#include "planner/answers/named_model.h"

#include <algorithm>
#include <memory>

#include "graph/architectures/last_token.h"
#include "graph/architectures/liger.h"
#include "graph/architectures/linear_layers.h"
#include "graph/architectures/named.h"
#include "graph/onnx/load.h"

namespace vramplan {
namespace {

// Of the weights, as a template names it: fp64 runs as fp32 was recorded.
DType WeightsIn(Precision precision) {
  const DType type = TypeInRun(DType::kFloat32, precision);
  return IsHalf(type) ? type : DType::kFloat32;
}

// The training scripts of diffusers, which freeze a base in halves and train adapters of it under autocast
// (examples/text_to_image/train_text_to_image_lora.py, 0.42: `unet.to(dtype=weight_dtype)`).
bool FreezesHalves(const Question& question) {
  return question.named->templates.OfDiffusers() && question.lora && !question.quant &&
         IsAutocast(question.spec.precision);
}

// Of the weights as they are stored.
DType WeightsIn(const Question& question) {
  if (!FreezesHalves(question)) return question.weights.value_or(WeightsIn(question.spec.precision));
  return question.spec.precision == Precision::kAmpFp16 ? DType::kFloat16 : DType::kBFloat16;
}

Error NotModelled(const char* flag, const std::string& what,
                  const std::string& hint = "ask vramplan run about a script that does it") {
  return {ErrorCode::kUsage, flag, "how " + what + " is not modelled", hint};
}

// What DeepSpeed's stages are modelled with: weights in bf16 ("bf16": {"enabled": true}) or fp32, and Adam of torch.optim.
Status CheckDeepspeed(const Question& question) {
  const TrainingSpec& spec = question.spec;
  const std::string strategy(Name(spec.strategy));
  const std::string asks = "ask vramplan run --gpus " + std::to_string(spec.ranks) + " about a script";
  if (question.named->templates.OfDiffusers())
    return NotModelled("--strategy", strategy + " runs a model of diffusers", asks);
  if (question.quant)
    return NotModelled("--quant", strategy + " takes packed weights", "type --strategy ddp, or " + asks);
  if (spec.strategy == Strategy::kZero3 && question.lora && question.lora->dora)
    return NotModelled("--lora", strategy + " runs DoRA", "leave out dora");
  if (spec.precision != Precision::kBf16 && spec.precision != Precision::kFp32 && spec.precision != Precision::kTf32)
    return NotModelled("--precision", strategy + " runs in " + std::string(Name(spec.precision)),
                       "type --precision bf16");
  if (spec.optimizer != Optimizer::kAdam && spec.optimizer != Optimizer::kAdamW)
    return NotModelled("--optimizer", strategy + " runs " + std::string(Name(spec.optimizer)),
                       "type --optimizer adamw");
  return Done();
}

bool HasLength(const NamedModel& model, std::string_view name) {
  return std::ranges::any_of(model.templates.lengths, [&](const auto& length) { return length.name == name; });
}

// Of a model that is named, in its precision: adapters, packed weights and stages that are not modelled together.
Status CheckModelled(const Question& question) {
  const TrainingSpec& spec = question.spec;
  const bool in_amp = IsAutocast(spec.precision);
  const bool dora = question.lora && question.lora->dora, eight = question.quant && question.quant->eight();
  if (dora && in_amp) return NotModelled("--lora", "DoRA runs under autocast", "type --precision bf16");
  if (dora && question.named->templates.OfDiffusers())
    return NotModelled("--lora", "DoRA runs in a model of diffusers", "leave out dora");
  if (eight && in_amp)
    return NotModelled("--quant", "weights in eight bits run under autocast", "type --precision bf16");
  if (eight && dora) return NotModelled("--quant", "weights in eight bits run with DoRA", "type --quant nf4");
  if (question.liger && spec.mode != Mode::kTrain)
    return Error{ErrorCode::kUsage, "--liger", "it is for training only", "leave it out"};
  if (question.liger && spec.strategy != Strategy::kNone && spec.strategy != Strategy::kDdp)
    return NotModelled("--liger", std::string(Name(spec.strategy)) + " runs Liger's kernels",
                       "type --strategy ddp, or leave out --liger");
  if (question.padded && spec.mode == Mode::kServe)
    return Error{ErrorCode::kUsage, "--padded", "prompts of --mode serve are of one length", "leave it out"};
  if (question.padded && !HasLength(*question.named, "sequence"))
    return Error{ErrorCode::kUsage, "--padded", question.named->of_class + " takes no sequences that are padded",
                 "leave it out"};
  return IsDeepspeed(spec.strategy) ? CheckDeepspeed(question) : Done();
}

// DeepspeedEngine._broadcast_model (0.19.8): p.data.view(torch.uint8), which PyTorch refuses of a tensor without axes.
Status CheckTakenByDeepspeed(const TrainingSpec& spec, const Facts& facts) {
  if (!IsDeepspeed(spec.strategy) || !facts.parameters) return Done();
  for (const RecordedTensor& parameter : *facts.parameters) {
    if (!parameter.shape.empty() || !parameter.same_as.empty()) continue;
    return Error{ErrorCode::kUsage, "--strategy",
                 "DeepSpeed refuses a parameter that is a single number, as " + parameter.name + " is",
                 "type --strategy ddp or fsdp2"};
  }
  return Done();
}

// peft's get_peft_model makes adapters in fp32; add_adapter of diffusers in the type of the layer, which the scripts make
// fp32 for fp16 alone (cast_training_params).
DType AdaptersIn(const Question& question) {
  const DType base = WeightsIn(question);
  // and DeepSpeed casts all of the model (runtime/engine.py, module.bfloat16()).
  const bool as_base = IsDeepspeed(question.spec.strategy) ||
                       (question.named->templates.OfDiffusers() && question.spec.precision != Precision::kAmpFp16);
  return as_base ? base : DType::kFloat32;
}

std::optional<Precision> PrecisionOfWeights(const std::string& weights) {
  if (weights == "bfloat16") return Precision::kBf16;
  if (weights == "float16") return Precision::kFp16;
  return std::nullopt;
}

DeclaredDim DeclaredLength(Dim length) {
  return length.IsConstant() ? DeclaredDim{length.At(1), ""} : DeclaredDim{std::nullopt, "batch"};
}

// Of the stacks that repeat and run.
std::vector<std::string> LayersOf(const NamedModel& model) {
  std::vector<std::string> paths;
  for (const Template::Stack& stack : model.templates.stacks) {
    if (!stack.runs) continue;
    const int64_t layers = model.settings.Number(stack.layers).value_or(0);
    for (int64_t i = 0; i < layers; ++i) paths.push_back(stack.path + "." + std::to_string(i));
  }
  return paths;
}

// --dim names lengths of the template; the batch has an option of its own.
Status CheckLengths(const NamedModel& model, const BindOptions& bind) {
  std::string known;
  for (const Template::Length& length : model.templates.lengths) known += (known.empty() ? "" : ", ") + length.name;
  for (const auto& [name, length] : bind.dims) {
    if (HasLength(model, name) || name == "batch") continue;
    return Error{ErrorCode::kUsage, "--dim " + name, model.of_class + " has no length of this name",
                 known.empty() ? "all of its lengths are in its config.json" : "its lengths are: " + known};
  }
  return Done();
}

// --image is the lengths of pictures, or the one of pictures that are as high as they are wide.
Status TakeImage(const NamedModel& model, BindOptions* bind) {
  if (!bind->image) return Done();
  const auto [height, width] = std::pair(bind->image->height, bind->image->width);
  if (HasLength(model, "height") && HasLength(model, "width")) {
    bind->dims.try_emplace("height", height);
    bind->dims.try_emplace("width", width);
  } else if (HasLength(model, "image") && height == width) {
    bind->dims.try_emplace("image", height);
  } else {
    const bool square = HasLength(model, "image");
    return Error{ErrorCode::kUsage, "--image",
                 square ? model.of_class + " was recorded with pictures that are as high as they are wide"
                        : model.of_class + " has no pictures whose size is free",
                 square ? "type --image " + std::to_string(std::max(height, width)) : "leave it out"};
  }
  bind->image.reset();
  return Done();
}

// A graph that has the inputs of a program and otherwise its facts alone.
Graph CarrierOf(const RecordedProgram& program) {
  Graph graph;
  for (const RecordedProgram::Kept& given : program.given) {
    const RecordedProgram::Tensor& value = program.values[static_cast<size_t>(given.value)];
    Tensor input;
    input.name = given.name;
    DeclaredType type;
    type.type = value.type;
    type.dims.emplace();
    for (int axis = 0; axis < value.shape.rank(); ++axis) type.dims->push_back(DeclaredLength(value.shape[axis]));
    input.declared = std::move(type);
    graph.inputs.push_back(TensorId::At(graph.tensors.size()));
    graph.tensors.push_back(std::move(input));
  }
  Node node;
  node.name = "carrier";
  node.op = "Identity";
  node.inputs = {graph.inputs.front()};
  node.outputs = {TensorId::At(graph.tensors.size())};
  Tensor output;
  output.name = "output";
  output.producer = NodeId::At(0);
  graph.outputs = node.outputs;
  graph.tensors.push_back(std::move(output));
  graph.nodes.push_back(std::move(node));
  graph.opsets[""] = 18;
  return graph;
}

// Whether transformers' get_output_embeddings() of this class is its last linear layer.
bool MakesWords(const std::string& of_class) {
  return of_class.find("LM") != std::string::npos || of_class.find("ForConditionalGeneration") != std::string::npos;
}

// The types of weights that are packed, and of the products with them: bf16 unless fp16 is asked for.
QuantizedTypes TypesOfPacked(const Question& question) {
  QuantizedTypes types;
  const DType run = TypeInRun(DType::kFloat32, question.spec.precision);
  if (run == DType::kFloat16 || question.spec.precision == Precision::kAmpFp16) types.computed = DType::kFloat16;
  const std::optional<Precision> weights = PrecisionOfWeights(question.named->weights_type);
  types.stored = IsHalf(run) ? run : weights ? TypeInRun(DType::kFloat32, *weights) : DType::kFloat32;
  return types;
}

// The layers of mixtures of experts are no modules of their own in transformers 5, but parameters of one, for which peft's
// all-linear makes adapters beside those of the linear layers (peft/utils/transformers_weight_conversion.py).
Status CheckExperts(const Question& question, const Lora& lora, const Facts& facts) {
  const auto& program = facts.training_program ? facts.training_program : facts.inference_program;
  const bool has_experts = program && std::ranges::any_of(program->calls, [](const RecordedProgram::Call& call) {
                             return call.target == "aten._grouped_mm.default";
                           });
  const bool all = std::ranges::find(lora.targets, "all-linear") != lora.targets.end();
  if (!has_experts || (!all && !lora.targets.empty())) return Done();
  std::vector<std::string> names;
  for (const std::string& path : PackedModules(facts, MakesWords(question.named->of_class), {}))
    if (std::ranges::find(names, LastName(path)) == names.end()) names.push_back(LastName(path));
  std::string others;
  for (const std::string& name : names) others += (others.empty() ? "" : "+") + name;
  const std::string hint = "type --lora " + std::to_string(lora.rank) + ",target=" + others;
  if (!all) return Error{ErrorCode::kUsage, "--lora", "peft has no targets of its own for this class", hint};
  return NotModelled("--lora", "adapters of experts run, which peft's all-linear makes,", hint);
}

// --lora, --quant and --liger. `checks`: each layer is a checkpoint; gradient_checkpointing_enable() and peft make what the embeddings
// return require a gradient then.
Status Adapt(const Question& question, bool checks, Facts* facts) {
  const NamedModel& model = *question.named;
  std::vector<std::string> packed;
  // _keep_in_fp32_modules of T5's classes (transformers 5.23)
  const std::vector<std::string> kept =
      model.of_class.find("T5") != std::string::npos ? std::vector<std::string>{"wo"} : std::vector<std::string>();
  if (question.quant) {
    packed = PackedModules(*facts, MakesWords(model.of_class), kept);
    if (packed.empty()) return NotModelled("--quant", model.of_class + " is packed");
  }
  if (question.lora) {
    Lora lora = *question.lora;
    if (lora.targets.empty()) lora.targets = model.templates.lora_targets;
    if (const Status known = CheckExperts(question, lora, *facts); !known.ok()) return known;
    const std::vector<std::string>& leaves = checks ? model.templates.embeddings : std::vector<std::string>();
    const PackedLayers of_bitsandbytes{packed, question.quant && !question.quant->eight()};
    if (const Status added = AddLora(lora, of_bitsandbytes, leaves, AdaptersIn(question), facts); !added.ok()) {
      // A layer of this name is there: the class multiplies by its weight in another way than torch.nn.Linear.
      const bool is_there = std::ranges::any_of(lora.targets, [&](const std::string& target) {
        return target == "all-linear" || std::ranges::any_of(*facts->parameters, [&](const RecordedTensor& parameter) {
                 return LastName(ModuleOfParameter(parameter.name)) == target;
               });
      });
      return is_there ? NotModelled("--lora", "adapters of " + model.of_class + " run") : added;
    }
  }
  if (question.quant) {
    if (const Status done = Quantize(*question.quant, TypesOfPacked(question), packed, facts); !done.ok()) return done;
  }
  return question.liger ? UseLiger(model.of_class, facts) : Done();
}

// --checkpoint all of a class whose gradient_checkpointing_enable() raises (modeling_utils.py, supports_gradient_checkpointing
// is false) or makes checkpoints within checkpoints (transformers 5.23: SwinStage and SwinLayer).
Status CheckSwitched(const NamedModel& model) {
  if (model.templates.unchecked.empty()) return Done();
  const bool refused = model.templates.unchecked == "refused";
  return Error{ErrorCode::kUsage, "--checkpoint",
               refused ? model.of_class + " does not support gradient checkpointing (" + model.templates.made_with + ")"
                       : "how checkpoints within checkpoints run, as gradient_checkpointing_enable() makes them of " +
                             model.of_class + ", is not modelled",
               "leave it out, or type --checkpoint MODULE of modules that the script itself wraps"};
}

// --weights: the precision that it stands for, and what it does not go with.
Status TakeWeights(Question* question, const NamedModel& model) {
  if (!question->weights) return Done();
  if (model.templates.OfDiffusers())
    return Error{ErrorCode::kUsage, "--weights",
                 "for a model of diffusers, --precision says in which type its training script loads it",
                 "leave it out"};
  TrainingSpec& spec = question->spec;
  const Precision alone = *question->weights == DType::kBFloat16  ? Precision::kBf16
                          : *question->weights == DType::kFloat16 ? Precision::kFp16
                                                                  : Precision::kFp32;
  if (!spec.given.contains("precision")) spec.precision = alone;
  if (IsAutocast(spec.precision) || WeightsIn(spec.precision) == *question->weights) return Done();
  return Error{ErrorCode::kUsage, "--weights",
               "weights in " + std::string(Name(*question->weights)) +
                   " run in that type, or under autocast, and not in " + std::string(Name(spec.precision)),
               "type --precision " + std::string(Name(alone)) + ", or --precision amp-bf16 for autocast"};
}

// ": vramplan fit llama-3.2-1b --gpu t4 --lora 16", behind "name the model"; of a verb that needs more than a model and a card
// the name alone.
std::string WithAName(const Question& question, const std::string& options) {
  const std::string& verb = question.hint_verb;
  const bool of_card = verb == "fit" || verb == "plan";
  if (!of_card && verb != "estimate" && verb != "trace") return ", such as llama-3.2-1b, for " + options;
  const std::string gpu = question.gpu.empty() || AsksOfMany(question.gpu) ? "t4" : question.gpu;
  return ": vramplan " + verb + " llama-3.2-1b " + (of_card ? "--gpu " + gpu + " " : "") + options;
}

}  // namespace

Status TakeNamed(Question* question) {
  const std::string& name = question->model;
  const bool is_known = question->named && question->named->name == name;
  Result<std::optional<NamedModel>> found =
      is_known ? Result<std::optional<NamedModel>>(*question->named) : FindNamed(name, "");
  if (!found) return found.error();
  if (!*found) {
    const bool serves = question->spec.mode == Mode::kServe;
    const bool shares = question->spec.strategy != Strategy::kNone || question->spec.ranks > 1;
    const std::string flag = question->lora      ? "--lora"
                             : question->quant   ? "--quant"
                             : question->weights ? "--weights"
                             : question->liger   ? "--liger"
                             : question->padded  ? "--padded"
                             : shares            ? "--strategy"
                             : question->vllm    ? "--engine"
                             : serves            ? "--mode serve"
                                                 : "";
    if (flag.empty()) return Done();
    const std::string value = question->lora      ? " 16"
                              : question->quant   ? " nf4 --lora 16"
                              : question->weights ? " bf16"
                              : shares            ? " ddp --gpus 2"
                              : question->vllm    ? " vllm"
                                                  : "";
    return Error{ErrorCode::kUsage, flag, "it is for a named model, and " + name + " is a file",
                 std::string(question->lora ? "export the model with its adapters, or name it" : "name the model") +
                     WithAName(*question, flag + value)};
  }
  TrainingSpec& spec = question->spec;
  if ((spec.strategy == Strategy::kNone) != (spec.ranks == 1)) {
    return Error{ErrorCode::kUsage, spec.ranks == 1 ? "--strategy" : "--gpus",
                 spec.ranks == 1 ? "it needs more than one card" : "--strategy must say how they share the model",
                 spec.ranks == 1 ? "type --gpus 8 beside --strategy " + std::string(Name(spec.strategy))
                                 : "type --strategy fsdp2 --gpus " + std::to_string(spec.ranks)};
  }
  // Each rank pads its part of each parameter of a bucket with a tensor of its own (DeepspeedZero3::Reduce).
  constexpr int kMostOfStage3 = 4096;
  if (spec.strategy == Strategy::kZero3 && spec.ranks > kMostOfStage3) {
    return Error{ErrorCode::kUsage, "--gpus", "zero3 is laid out for up to " + std::to_string(kMostOfStage3) + " ranks",
                 "type --gpus " + std::to_string(kMostOfStage3) + " or fewer"};
  }
  if (question->quant && !question->lora && spec.mode == Mode::kTrain)
    return Error{ErrorCode::kUsage, "--quant", "packed weights are not trained themselves",
                 "type --lora 16 beside it, or --mode infer"};
  if (question->quant && (*found)->templates.OfDiffusers())
    return NotModelled("--quant", "diffusers packs weights",
                       "leave it out, or ask vramplan run about a script that loads the model so");
  const std::string ddp_or_run =
      "type --strategy ddp, or ask vramplan run --gpus " + std::to_string(spec.ranks) + " about a script";
  if (spec.strategy == Strategy::kFsdp2 && (*found)->templates.OfDiffusers())  // no row of it is measured
    return NotModelled("--strategy", "fsdp2 shards a model of diffusers", ddp_or_run);
  if (question->quant && spec.strategy == Strategy::kFsdp2)  // a Params4bit is no tensor that fully_shard splits
    return NotModelled("--quant", "fsdp2 shards packed weights", ddp_or_run);
  if (spec.strategy != Strategy::kNone && spec.mode != Mode::kTrain)
    return Error{ErrorCode::kUsage, "--strategy", "it is for a training", "leave out --strategy and --gpus"};
  const std::optional<Precision> weights = PrecisionOfWeights((*found)->weights_type);
  if (weights && !spec.given.contains("precision")) spec.precision = *weights;
  if (question->quant && spec.mode == Mode::kTrain && !spec.given.contains("precision"))
    spec.precision = Precision::kFp32;  // the other weights (peft, prepare_model_for_kbit_training)
  if (const Status taken = TakeWeights(question, **found); !taken.ok()) return taken;
  if (IsWithoutGradients(spec.mode) && !spec.given.contains("loss")) spec.loss = Loss::kNone;  // no labels are given
  question->named = std::make_shared<const NamedModel>(**std::move(found));
  if (const Status modelled = CheckModelled(*question); !modelled.ok()) return modelled;
  const bool in_halves = IsHalf(WeightsIn(*question));
  spec.recorded_in_fp32 = !in_halves;
  spec.precision_of_file = in_halves || (question->named->templates.OfDiffusers() && question->lora);  // FreezesHalves
  std::vector<std::string> checkpoint;
  for (const std::string& path : spec.checkpoint) {
    if (path != "all") {
      checkpoint.push_back(path);
      continue;
    }
    if (const Status switched = CheckSwitched(*question->named); !switched.ok()) return switched;
    const std::vector<std::string> every = EveryLayer(*question->named);
    checkpoint.insert(checkpoint.end(), every.begin(), every.end());
  }
  spec.checkpoint = std::move(checkpoint);
  spec.units = LayersOf(*question->named);
  return Done();
}

std::vector<std::string> EveryLayer(const NamedModel& model) {
  std::vector<std::string> paths = model.templates.checkpoints, layers = LayersOf(model);
  paths.insert(paths.end(), layers.begin(), layers.end());
  return paths;
}

bool ChecksEveryLayer(const NamedModel& model, const std::vector<std::string>& checkpoint) {
  const std::vector<std::string> every = EveryLayer(model);
  return !every.empty() && std::ranges::all_of(every, [&](const std::string& path) {
    return std::ranges::find(checkpoint, path) != checkpoint.end();
  });
}

std::pair<std::string, int64_t> ServedLength(const NamedModel& model) {
  const std::string length = model.templates.lengths.front().name;
  for (const auto& [limited, setting] : model.templates.limits)
    if (limited == length) return {length, model.settings.Number(setting).value_or(0)};
  return {length, 0};
}

Result<Graph> GraphOf(const Question& question, BindOptions* bind, std::map<std::string, int64_t>* usual,
                      Notes* notes) {
  if (question.named == nullptr) return Load(question.model, notes);
  const bool trains = question.spec.mode == Mode::kTrain;
  if (const Status taken = TakeImage(*question.named, bind); !taken.ok()) return taken.error();
  if (const Status known = CheckLengths(*question.named, *bind); !known.ok()) return known.error();
  std::map<std::string, int64_t> lengths(bind->dims.begin(), bind->dims.end());
  const bool checks = trains && ChecksEveryLayer(*question.named, question.spec.checkpoint);
  // What is a checkpoint gets no cache; which of the others keep theirs is the caller's, who has it off.
  const char* run = !trains ? "infer" : question.spec.checkpoint.empty() ? "train" : "checkpointed";
  const std::string mode = (question.padded ? "padded-" : "") + std::string(run);
  Result<Facts> facts = FactsOf(*question.named, &lengths, mode, std::string(Name(WeightsIn(question))),
                                question.put_back.autocast.has_value());
  if (!facts) return facts.error();
  if (const Status adapted = Adapt(question, checks, &*facts); !adapted.ok()) return adapted.error();
  if (const Status taken = CheckTakenByDeepspeed(question.spec, *facts); !taken.ok()) return taken.error();
  std::optional<RecordedProgram>& program = trains ? facts->training_program : facts->inference_program;
  if (!program || program->given.empty())
    return Error{ErrorCode::kBadInput, question.model, "its template has no such program", "type another --mode"};
  if (question.spec.mode == Mode::kServe && !KeepLastToken(&*program)) {
    return Error{ErrorCode::kUsage, "--mode", "how " + question.named->of_class + " serves is not modelled",
                 "type --mode infer"};
  }
  Graph graph = CarrierOf(*program);
  graph.file = question.model;
  graph.name = question.named->of_class;
  graph.producer = question.named->templates.made_with;
  graph.facts = *std::move(facts);
  for (const Template::Length& length : question.named->templates.lengths) {  // the graph has them
    if (bind->dims.erase(length.name) == 0) usual->emplace(length.name, lengths[length.name]);
  }
  return graph;
}

}  // namespace vramplan
