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
  question.ranks = options.spec.ranks;
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

}  // namespace vramplan
