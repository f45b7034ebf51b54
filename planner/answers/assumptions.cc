#include "planner/answers/assumptions.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "graph/base/ablation.h"
#include "graph/layers/trained.h"
#include "graph/lift/any_export/passes.h"
#include "graph/lift/readings/readings.h"
#include "graph/programs/layers_of_program.h"
#include "planner/answers/kept_outputs.h"
#include "planner/runtimes/runtime.h"
#include "planner/spec/adapters.h"
#include "planner/spec/backbones.h"
#include "planner/spec/copies.h"
#include "planner/spec/towers.h"
#include "planner/timeline/criterion.h"
#include "planner/timeline/inplace_on.h"
#include "planner/timeline/repeated_modules.h"

namespace vramplan {
namespace {

// What is assumed, and what the step asks for at most under each other answer.
struct TestedAssumption {
  Assumption assumption;  // but for its ends
  std::vector<PeaksByPhase> others;

  void Add(Result<PeaksByPhase> other) {
    if (other.ok()) others.push_back(*std::move(other));
  }
};

std::string Count(int count, const std::string& one, const std::string& many) {
  return count == 1 ? "the " + one : "the " + std::to_string(count) + " " + many;
}

// A brief answer leaves out what its line of assumptions says in a word, so that it need not be laid out.
bool IsLeftOut(const AssumedStep& step, bool said_elsewhere) { return said_elsewhere && step.brief; }

// Whether the calls of the code are known, from Python or of a model that has a name.
bool IsRecorded(const AssumedStep& step) {
  return ProgramFor(step.prepared.graph.facts, step.spec.mode == Mode::kTrain, false) != nullptr;
}

// Of other layers, with the likely names, or with these.
Result<PeaksByPhase> Peaks(const AssumedStep& step, const Layers& layers) {
  Notes already_told;
  return PeaksFor(layers, step.spec, step.batch, &already_told);
}
Result<PeaksByPhase> Peaks(const AssumedStep& step, const Layers& layers, const Releases& releases,
                           const TrainingSpec& spec) {
  Notes already_told;
  return PeaksFor(layers, releases, spec, step.batch, &already_told);
}

// Of layers that differ in no tensor.
Result<PeaksByPhase> Under(const AssumedStep& step, const Layers& layers, const TrainingSpec& other) {
  return Peaks(step, layers, step.prepared.lifetimes.likely, other);
}

// The step of this file with other things put back; `named`: also where variables keep the most of what they made.
void AddWith(const AssumedStep& step, const PutBack& put_back, bool named, TestedAssumption* tested) {
  Notes already_told;
  const Runtime runtime = step.spec.framework.runtime;
  Result<Layers> layers = GraphFor(runtime, step.prepared.graph, step.prepared.shapes, put_back, &already_told);
  if (!layers.ok()) return;
  AddOriginalModules(&*layers);
  // What was put back may be all that a pattern matched: then it matches nothing now.
  static_cast<void>(ApplyTrained(step.prepared.trained, &*layers, &already_told));
  tested->Add(Peaks(step, *layers));
  if (named && runtime == Runtime::kPyTorch)
    tested->Add(Peaks(step, *layers, ReleasesAfter(*layers, Naming::kMost), step.spec));
}

// Only the names of weights tell that a batch norm was folded; metadata of the dynamo exporter is a fact.
std::optional<TestedAssumption> FoldedNorms(const AssumedStep& step) {
  const int restored = step.prepared.layers.guesses.restored_norms;
  if (restored == 0 || step.spec.given.count("assume-batchnorm") != 0) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {.code = "folded-batch-norms",
                       .text = "assumed: " + Count(restored, "batch norm", "batch norms") +
                               " that the export folded into convolutions " + (restored == 1 ? "runs" : "run") +
                               " in the code",
                       .settle = "--assume-batchnorm off leaves them out"};
  PutBack without = step.question.put_back;
  without.batch_norms = false;
  AddWith(step, without, false, &tested);
  return tested;
}

// A file of model.eval() has lost its dropouts, one of model.train() has them; not every file says which it is. Where
// they stood nobody knows: in transformers behind products and probabilities, elsewhere behind activations if at all.
std::optional<TestedAssumption> Dropouts(const AssumedStep& step) {
  constexpr double kUsual = 0.1;  // of BERT, GPT-2, T5, ViT (their papers and configurations)
  if (step.spec.mode != Mode::kTrain || step.question.put_back.dropout > 0) return std::nullopt;
  if (!step.prepared.head.model.MayLackDropouts()) return std::nullopt;
  const bool said_elsewhere = MissingDropouts(step.prepared.layers) == 0;
  if (IsLeftOut(step, said_elsewhere)) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {.code = "lost-dropouts",
                       .text = "assumed: the model has no dropout; an export of model.eval() loses them",
                       .settle = "--assume-dropout 0.1, or export model.train()",
                       .said_elsewhere = said_elsewhere};
  PutBack with = step.question.put_back;
  with.dropout = kUsual;
  with.dropout_behind_activations = true;
  AddWith(step, with, true, &tested);
  return tested;
}

std::optional<TestedAssumption> InPlace(const AssumedStep& step) {
  if (step.spec.inplace != Inplace::kAuto) return std::nullopt;
  std::vector<bool> can = CanBeInPlace(step.prepared.layers);
  std::set<ValueId> recorded;
  for (const RecordedEnd& end : step.prepared.layers.recorded) recorded.insert(end.value);
  for (size_t l = 0; l < can.size(); ++l)
    can[l] = can[l] && !recorded.contains(step.prepared.layers.layers[l].outputs[0]);
  if (std::find(can.begin(), can.end(), true) == can.end()) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {.code = "in-place",
                       .text = "assumed: activations such as ReLU run in place where libraries usually do that",
                       .settle = "--inplace on or off, whichever nn.ReLU(inplace=...) says in the code"};
  TrainingSpec other = step.spec;
  const bool named = step.spec.mode == Mode::kTrain && step.prepared.lifetimes.AreGuessed();
  bool some_are = false, all_are = true;
  for (size_t l = 0; l < can.size(); ++l) {
    const bool is = step.prepared.layers.layers[l].attributes.Int("inplace", 0) != 0;
    some_are = some_are || is;
    all_are = all_are && (is || !can[l]);
  }
  // What is in place behind an instance norm copies: its result is a view (aten/src/ATen/native/Normalization.cpp).
  const bool copies =
      std::ranges::any_of(step.prepared.layers.layers, [](const Layer& layer) { return layer.op == "instance_norm"; });
  for (const Inplace inplace : {Inplace::kOff, Inplace::kOn}) {
    if (inplace == Inplace::kOff ? !some_are || (named && !copies) : all_are)
      continue;  // the likely step, or less than the one below
    other.inplace = inplace;
    tested.Add(Under(step, step.prepared.layers, other));
  }
  // What an activation makes beside its input is one tensor more that a variable may keep.
  if (named) {
    other.inplace = Inplace::kOff;
    tested.Add(Peaks(step, step.prepared.layers, step.prepared.lifetimes.most, other));
  }
  return tested;
}

// The bytes of the outputs, which is what a loss and its target are made of.
Bytes OutputBytes(const AssumedStep& step) {
  Bytes bytes;
  for (const ValueId id : step.prepared.layers.outputs) {
    if (!id.valid()) continue;
    const Value& output = step.prepared.layers[id];
    bytes += SizeExpr::Of(output.type, output.shape.Elements()).At(step.batch);
  }
  return bytes;
}

std::optional<TestedAssumption> OtherLoss(const AssumedStep& step) {
  // log_softmax, its gradient, the gradient of the logits and a target: no loss of the list takes more of them.
  constexpr int64_t kCopies = 6;
  if (step.spec.mode != Mode::kTrain || step.spec.loss != Loss::kAuto || step.likely.loss == Loss::kNone)
    return std::nullopt;
  if (100 * kCopies * OutputBytes(step).count() < 2 * step.requested.count()) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {.code = "loss",
                       .text = "assumed: the loss is " + std::string(Name(step.likely.loss)) + " on the first output",
                       .settle = "--loss NAME names another one"};
  TrainingSpec other = step.spec;
  for (const Loss loss : {Loss::kNone, Loss::kMse, Loss::kCrossEntropy}) {
    if (loss == step.likely.loss) continue;
    other.loss = loss;
    tested.Add(Under(step, step.prepared.layers, other));
  }
  return tested;
}

// A model of several results: which of them the script's loss reads is not in the file. What no loss reads keeps its
// graph until the next forward has made it anew.
std::optional<TestedAssumption> OtherOutputs(const AssumedStep& step) {
  constexpr size_t kMost = 4;  // outputs that are asked about one by one
  if (step.spec.mode != Mode::kTrain || step.spec.given.count("loss-on") != 0) return std::nullopt;
  const Layers& layers = step.prepared.layers;
  if (layers.outputs.empty()) return std::nullopt;
  const size_t read = UsualOutput(layers, step.spec.loss);
  if (layers[layers.outputs[read]].shape.Elements().Is(1)) return std::nullopt;  // its own loss
  std::vector<std::string> others;
  for (size_t place = 0; place < layers.outputs.size() && others.size() < kMost; ++place) {
    const ValueId id = layers.outputs[place];
    if (place != read && id.valid() && IsFloating(layers[id].type)) others.push_back(std::to_string(place + 1));
  }
  if (others.empty()) return std::nullopt;
  others.emplace_back(kEveryOutput);
  TestedAssumption tested;
  tested.assumption = {.code = "loss-output",
                       .text = "assumed: the loss reads " +
                               (read == 0 ? "the first" : "output " + std::to_string(read + 1)) + " of the model's " +
                               std::to_string(layers.outputs.size()) + " outputs alone",
                       .settle = "--loss-on N, or --loss-on all"};
  TrainingSpec other = step.spec;
  for (std::string& which : others) {
    other.loss_on = std::move(which);
    tested.Add(Under(step, layers, other));
  }
  return tested;
}

// The two doors differ here, and so do loops: a call that was recorded has a caller who holds what it returns.
std::optional<TestedAssumption> KeptOutputs(const AssumedStep& step) {
  if (step.spec.mode != Mode::kTrain || step.prepared.layers.recorded.empty() || IsLeftOut(step, true))
    return std::nullopt;
  TestedAssumption tested;
  tested.assumption.code = "kept-outputs";
  tested.assumption.said_elsewhere = true;  // of a named model docs/names.md says it
  std::optional<Layers> other = HoldingTheLoss(step.prepared.layers);
  if (other) {
    tested.assumption.text =
        "assumed: the loop holds all that the forward returns, outputs = model(...), until the next";
    tested.assumption.settle = "loss = model(...).loss holds the loss alone, as transformers' Trainer does";
  } else if (step.question.named != nullptr) {
    other = HoldingTheLogits(step.prepared.layers);
    tested.assumption.text =
        "assumed: the loop holds the loss alone, loss = model(**batch).loss, as transformers' Trainer does";
    tested.assumption.settle = "outputs = model(**batch) holds the logits, too, until the next forward";
  }
  if (!other) return std::nullopt;
  tested.Add(Peaks(step, *other));
  return tested;
}

std::optional<TestedAssumption> Names(const AssumedStep& step) {
  if (!step.prepared.lifetimes.AreGuessed()) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {.code = "names",
                       .text = "not in the file: which tensors the code keeps in a variable",
                       .settle = step.prepared.layers.source.stacks.empty()
                                     ? "torch.onnx.export(dynamo=True) of PyTorch 2.9 or newer writes the source lines"
                                     : "vramplan.fit(model, inputs) in Python also sees lines that compute nothing",
                       .told_above = 1};
  for (const Releases* releases : {&step.prepared.lifetimes.fewest, &step.prepared.lifetimes.most}) {
    if (*releases == step.prepared.lifetimes.likely) continue;
    tested.Add(Peaks(step, step.prepared.layers, *releases, step.spec));
  }
  // Of recorded calls passes alone may have put something in between that nobody recorded.
  const auto moves = [&](const PeaksByPhase& other) { return other.Peak() != step.requested; };
  if (IsRecorded(step) && std::ranges::none_of(tested.others, moves)) return std::nullopt;
  return tested;
}

// No exporter writes requires_grad.
std::optional<TestedAssumption> FrozenParameters(const AssumedStep& step) {
  if (step.prepared.assumed_frozen.empty() || step.spec.mode != Mode::kTrain) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {.code = "assumed-frozen",
                       .text = "assumed: " + step.prepared.assumed_frozen,
                       .settle = "--trainable '*' trains everything"};
  Layers whole = step.prepared.layers;
  std::vector<TrainedPattern> patterns = {{"*", true}};
  patterns.insert(patterns.end(), step.question.trained.begin(), step.question.trained.end());
  Notes already_told;
  static_cast<void>(ApplyTrained(patterns, &whole, &already_told));
  tested.Add(Under(step, whole, step.spec));
  return tested;
}

// The parameters that the last layer with any reads: a head behind a frozen network.
Layers OnlyLastTrained(const Layers& layers) {
  Layers head = layers;
  const auto last = std::find_if(layers.layers.rbegin(), layers.layers.rend(), [&](const Layer& layer) {
    return std::any_of(layer.inputs.begin(), layer.inputs.end(),
                       [&](ValueId id) { return id.valid() && layers[id].role == Role::kParameter; });
  });
  for (const ValueId id : layers.parameters) {
    if (last == layers.layers.rend()) break;
    const bool read = std::find(last->inputs.begin(), last->inputs.end(), id) != last->inputs.end();
    if (!read) SetTrained(&head, id, false);
  }
  return head;
}

// Whether it may matter which parameters are trained, and nothing says so. In inference it matters to autocast, which
// keeps its copies of weights that require a gradient (semantics/autocast.h).
bool AsksWhatIsTrained(const AssumedStep& step) {
  const ModelFacts& model = step.prepared.head.model;
  if (step.spec.mode != Mode::kTrain && !IsAutocast(step.spec.precision)) return false;
  return step.question.trained.empty() && model.frozen == 0 && !model.trained_known;
}

// A teacher, or an encoder that follows another by averaging, runs under torch.no_grad(): the file shows two networks.
std::optional<TestedAssumption> Teachers(const AssumedStep& step) {
  if (!AsksWhatIsTrained(step)) return std::nullopt;
  const Layers& layers = step.prepared.layers;
  const std::vector<Tower> towers = FindTowers(layers);
  if (towers.empty()) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {
      .code = "towers",
      .text = "assumed: the " + std::to_string(towers.size()) + " networks that meet in the loss are trained, " +
              towers.front().first + " and " + towers.back().first + "; a teacher or a momentum encoder is not",
      .settle =
          ToString(FrozenPatterns(towers.front(), layers)) + ", or " + ToString(FrozenPatterns(towers.back(), layers))};
  constexpr size_t kMost = 4;
  for (size_t i = 0; i < std::min(towers.size(), kMost); ++i) {
    Layers other = layers;
    for (const ValueId id : towers[i].parameters) SetTrained(&other, id, false);
    tested.Add(Under(step, other, step.spec));
  }
  return tested;
}

// A copy of a network gives targets, with what made its input; the file shows one graph.
std::optional<TestedAssumption> TargetsOfCopies(const AssumedStep& step) {
  const Layers& layers = step.prepared.layers;
  const std::optional<Copies> copies = step.spec.mode == Mode::kTrain ? FindCopies(layers) : std::nullopt;
  const std::optional<Layers> other = copies ? WithoutGradient(layers, *copies) : std::nullopt;
  if (!other) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {.code = "targets",
                       .text = "assumed: " + copies->what +
                               ", hands gradients on; code may run it, and what it alone "
                               "is given, under torch.no_grad()",
                       .settle = kDynamoTells};
  tested.Add(Under(step, *other, step.spec));
  return tested;
}

// A network that comes with weights is often frozen, and what was added to it trained.
std::optional<TestedAssumption> Backbones(const AssumedStep& step) {
  if (!AsksWhatIsTrained(step)) return std::nullopt;
  Layers other = step.prepared.layers;
  const std::optional<Tower> backbone = FindBackbone(other);
  if (!backbone) return std::nullopt;
  const std::vector<TrainedPattern> patterns = FrozenPatterns(*backbone, other);
  for (const ValueId id : backbone->parameters) SetTrained(&other, id, false);
  TestedAssumption tested;
  const bool is_in_front = patterns.front().glob == "*";
  tested.assumption = {.code = "backbone",
                       .text = "assumed: the network " +
                               (is_in_front ? "in front of " + patterns.back().glob : "in " + patterns.front().glob) +
                               ", which is often loaded with weights and frozen, is trained",
                       .settle = ToString(patterns) + " freezes it"};
  tested.Add(Under(step, other, step.spec));
  return tested;
}

// Which modules run under torch.utils.checkpoint only source lines say. Where all blocks do, hardly less is possible.
std::optional<TestedAssumption> Checkpoints(const AssumedStep& step) {
  if (step.spec.mode != Mode::kTrain || step.prepared.head.model.checkpoints_known) return std::nullopt;
  if (!step.spec.checkpoint.empty() || IsLeftOut(step, true)) return std::nullopt;
  TrainingSpec other = step.spec;
  other.checkpoint = RepeatedModules(step.prepared.layers);
  if (other.checkpoint.empty()) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {.code = "nothing-checkpointed",
                       .text = "assumed: nothing runs under torch.utils.checkpoint; the file does not say",
                       .settle = "--checkpoint " + other.checkpoint.front() + " and the other modules that do",
                       .said_elsewhere = true};
  tested.Add(Under(step, step.prepared.layers, other));
  return tested;
}

// What no exporter writes and no other row asks. Less than a head alone, nothing that trains takes.
std::optional<TestedAssumption> AllTrained(const AssumedStep& step) {
  const ModelFacts& model = step.prepared.head.model;
  if (step.spec.mode != Mode::kTrain || !step.question.trained.empty() || model.frozen > 0) return std::nullopt;
  if (model.trained_known || IsLeftOut(step, true)) return std::nullopt;
  TestedAssumption tested;
  tested.assumption = {.code = "all-trained",
                       .text = "assumed: every parameter is trained, which the file does not say",
                       .settle = "--frozen PATTERN, or vramplan run on the script",
                       .said_elsewhere = true};
  tested.Add(Under(step, OnlyLastTrained(step.prepared.layers), step.spec));
  return tested;
}

// An older PyTorch makes attention of grouped heads by its formula on cards before Ampere: the kernel without the
// probabilities takes groups since 2.15 (semantics/attention.cc). Elsewhere versions differ by a workspace.
std::optional<TestedAssumption> OlderPyTorch(const AssumedStep& step) {
  if (step.spec.framework.runtime != Runtime::kPyTorch || step.spec.given.contains("framework")) return std::nullopt;
  const Layers& layers = step.prepared.layers;
  const bool grouped = std::ranges::any_of(layers.layers, [&](const Layer& layer) {
    if (layer.op != "scaled_dot_product_attention") return false;
    const Shape &query = layers[layer.inputs[0]].shape, &key = layers[layer.inputs[1]].shape;
    return query.rank() == 4 && key.rank() == 4 && query[1] != key[1];
  });
  if (!grouped) return std::nullopt;
  TrainingSpec other = step.spec;
  other.framework.minor = 10;
  TestedAssumption tested;
  tested.assumption = {.code = "framework-version",
                       .text = "assumed: PyTorch " + std::to_string(step.spec.framework.major) + "." +
                               std::to_string(step.spec.framework.minor) +
                               "; an older one keeps the probabilities of grouped attention here",
                       .settle = "--framework pytorch@2.10 for an older one"};
  tested.Add(Under(step, layers, other));
  return tested;
}

// Where two programs write the same nodes (graph/lift/readings/readings.h).
std::vector<TestedAssumption> Alternatives(const AssumedStep& step) {
  std::vector<TestedAssumption> all;
  if (step.spec.framework.runtime != Runtime::kPyTorch) return all;
  for (Reading& reading :
       OtherReadings(step.prepared.layers, {!IsWithoutGradients(step.spec.mode), IsAutocast(step.spec.precision)})) {
    TestedAssumption tested;
    tested.assumption = {
        .code = std::move(reading.code), .text = std::move(reading.text), .settle = std::move(reading.settle)};
    tested.Add(Peaks(step, reading.layers));
    all.push_back(std::move(tested));
  }
  return all;
}

// What was done already is no advice.
std::string AdviceFor(const AssumedStep& step, std::string settle) {
  constexpr std::string_view kExport = "torch.onnx.export(dynamo=True)";
  const bool recorded = IsRecorded(step);
  if (!settle.starts_with(kExport) || (!recorded && std::ranges::none_of(step.prepared.layers.layers, FromDynamo)))
    return settle;
  return recorded ? "vramplan run on the script runs every line of it"
                  : "vramplan.fit(model, inputs) in Python sees every call";
}

// With what its other answers give.
Assumption WithEnds(TestedAssumption tested, const AssumedStep& step, const PeaksByPhase& likely) {
  Assumption assumption = std::move(tested.assumption);
  assumption.settle = AdviceFor(step, std::move(assumption.settle));
  assumption.batch = step.batch;
  assumption.low = assumption.likely = assumption.high = step.requested;
  ByPhase& phases = assumption.phases;
  phases.low = phases.likely = phases.high = likely.All();
  for (const PeaksByPhase& other : tested.others) {
    assumption.low = std::min(assumption.low, other.Peak());
    assumption.high = std::max(assumption.high, other.Peak());
    const std::vector<Bytes> peaks = other.All();
    for (size_t p = 0; p < peaks.size(); ++p) {
      phases.low[p] = std::min(phases.low[p], peaks[p]);
      phases.high[p] = std::max(phases.high[p], peaks[p]);
    }
  }
  return assumption;
}

using Ask = std::optional<TestedAssumption> (*)(const AssumedStep& step);
constexpr Ask kQuestions[] = {FrozenParameters, FoldedNorms, Dropouts,   InPlace,     OtherLoss,
                              OtherOutputs,     KeptOutputs, Names,      Teachers,    TargetsOfCopies,
                              Backbones,        Checkpoints, AllTrained, OlderPyTorch};

}  // namespace

std::vector<Assumption> AssumptionsOf(const AssumedStep& asked) {
  if (ablation != nullptr && ablation->likely_only) return {};
  // The peak of a later step is that of the second: optimizers make their state in the first.
  TrainingSpec two_steps = asked.spec;
  two_steps.steps = std::min(two_steps.steps, 2);
  const AssumedStep step{asked.prepared, asked.question,  two_steps,  asked.batch,
                         asked.likely,   asked.requested, asked.brief};
  std::vector<TestedAssumption> all = Alternatives(step);
  for (const Ask ask : kQuestions) {
    if (std::optional<TestedAssumption> tested = ask(step)) all.push_back(*std::move(tested));
  }
  const PeaksByPhase likely = PeaksByPhaseOf(step.likely, step.batch);
  std::vector<Assumption> assumptions;
  for (TestedAssumption& tested : all) assumptions.push_back(WithEnds(std::move(tested), step, likely));
  return assumptions;
}

}  // namespace vramplan
