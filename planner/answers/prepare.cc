#include "planner/answers/prepare.h"

#include <algorithm>

#include "graph/architectures/named.h"
#include "graph/ir/aten.h"
#include "graph/shapes/bounds.h"
#include "graph/shapes/branches.h"
#include "graph/shapes/kept_batch.h"
#include "graph/shapes/quantized.h"
#include "planner/answers/check_inputs.h"
#include "planner/answers/named_model.h"
#include "planner/answers/spec_of_file.h"
#include "planner/report/writing/numbers.h"
#include "planner/runtimes/runtime.h"
#include "planner/spec/adapters.h"

namespace vramplan {
namespace {

// The batch as the user said it: --batch; the length they gave to the batch by --dim or --input; nothing.
std::optional<int64_t> GivenBatch(const Question& question, const Graph& graph, const Binding& binding) {
  if (question.batch) return question.batch;
  const auto named = question.bind.dims.find(binding.batch_symbol);
  if (!binding.batch_symbol.empty() && named != question.bind.dims.end() && named->second >= 1) return named->second;
  for (const auto& [id, shape] : binding.inputs) {
    const auto lengths = question.bind.inputs.find(graph[id].name);
    if (lengths == question.bind.inputs.end()) continue;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const size_t at = static_cast<size_t>(axis);
      if (shape[axis] == Dim::Batch() && at < lengths->second.size() && lengths->second[at] >= 1)
        return lengths->second[at];
    }
  }
  return std::nullopt;
}

// How to ask about what cannot be trained; plan is about training alone.
std::string AskOfInference(const Question& question) {
  return question.hint_verb == "plan" ? "type vramplan estimate " + question.model + " --mode infer" : "--mode infer";
}

// What the file leaves out: which parameters have requires_grad. `layers` are finished by it.
Status DecideTrained(const Question& question, Layers* layers, Prepared* prepared) {
  if (question.spec.framework.runtime == Runtime::kOnnxRuntime) return Done();
  const bool told = layers->told.tensors;
  if (!told && CountTrained(*layers).frozen > 0 && !DecideAll(question.trained, *layers))
    prepared->assumed_frozen =
        "parameters that their library freezes are frozen (stages of DETR's backbone, positions of Whisper's encoder)";
  FrozenBase base = told ? FrozenBase() : AssumeFrozenBase(question.trained, layers, &prepared->notes);
  if (!base.patterns.empty()) prepared->assumed_frozen = std::move(base.text);
  prepared->trained = std::move(base.patterns);
  if (const Status applied = ApplyTrained(question.trained, layers, &prepared->notes); !applied.ok()) return applied;
  prepared->trained.insert(prepared->trained.end(), question.trained.begin(), question.trained.end());
  const TrainedCount count = CountTrained(*layers);
  if (question.spec.mode != Mode::kTrain || count.trained > 0) return Done();
  if (question.trained.empty()) {
    if (count.frozen == 0 || !told) return Done();
    return Error{ErrorCode::kBadInput, question.model,
                 "its facts say that all " + std::to_string(count.frozen) +
                     " parameters are frozen, so there is "
                     "nothing to train",
                 "add --trainable 'fc.*', or " + AskOfInference(question)};
  }
  if (question.lora) {
    return Error{ErrorCode::kUsage, "--frozen",
                 "--lora trains its adapters alone, and this freezes them, too, so there is nothing to train",
                 "leave out --frozen: the base is frozen already"};
  }
  return Error{ErrorCode::kUsage, "--frozen",
               "all " + std::to_string(count.frozen) + " parameters are frozen, so there is nothing to train",
               "add --trainable 'fc.*' after it, or " + AskOfInference(question)};
}

// What has no gradient is not trained.
Status CheckTrainable(const Question& question, const Graph& graph) {
  const auto refused = [&](const char* what, const Node& node, const char* why, const char* or_else) {
    return Error{ErrorCode::kBadInput, question.model,
                 std::string("it is ") + what + " (node " + node.name + ", " + node.op + "): " + why,
                 AskOfInference(question) + or_else};
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
Status CheckRuns(const Question& question, const Graph& graph) {
  if (question.spec.framework.runtime != Runtime::kOnnxRuntime || !IsProgram(graph)) return Done();
  return Error{ErrorCode::kBadInput, question.model, "ONNX Runtime does not run programs of torch.export",
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

Result<Prepared> Prepare(const Question& question) {
  Prepared prepared;
  prepared.notes = question.notes;
  BindOptions bind = question.bind;
  Result<Graph> graph = GraphOf(question, &bind, &prepared.head.usual_lengths, &prepared.notes);
  if (!graph.ok()) return graph.error();
  prepared.graph = *std::move(graph);
  if (const Status runs = CheckRuns(question, prepared.graph); !runs.ok()) return runs.error();
  NoteOptimizerOfPipe(question, prepared.graph.facts, &prepared.notes);
  if (const Status weights = CheckWeights(question.model, prepared.graph); !weights.ok()) return weights.error();
  if (auto plain = WithoutBranches(prepared.graph, bind, &prepared.notes)) prepared.graph = *std::move(plain);
  if (question.spec.mode == Mode::kTrain) {
    if (const Status trainable = CheckTrainable(question, prepared.graph); !trainable.ok()) return trainable.error();
  }
  Result<Binding> binding = Bind(prepared.graph, bind, &prepared.notes);
  if (!binding.ok()) return binding.error();
  prepared.binding = *std::move(binding);
  if (const Status batch = CheckBatch(question, prepared.graph, prepared.binding); !batch.ok()) return batch.error();
  TakeBounds(&prepared.binding);
  Result<Shapes> shapes = InferOrKeepBatch(prepared.graph, bind, &prepared.binding, &prepared.notes);
  if (const Status empty = CheckEmpty(question, prepared.graph, shapes); !empty.ok()) return empty.error();
  if (!shapes.ok()) return shapes.error();
  prepared.shapes = *std::move(shapes);
  NoteBatchAxes(prepared.graph, prepared.shapes, prepared.binding, &prepared.notes);
  const Runtime runtime = question.spec.framework.runtime;
  Result<Layers> layers = GraphFor(runtime, prepared.graph, prepared.shapes, question.put_back, &prepared.notes);
  if (!layers.ok()) return layers.error();
  if (const Status trained = DecideTrained(question, &*layers, &prepared); !trained.ok()) return trained.error();
  prepared.layers = *std::move(layers);
  prepared.lifetimes = LifetimesFor(runtime, prepared.layers);

  AnswerHead& step = prepared.head;
  step.model = FactsOf(prepared.graph, prepared.binding, prepared.layers);
  // torch/optim/optimizer.py, 2.10: "optimizer got an empty parameter list".
  if (question.spec.mode == Mode::kTrain && step.model.parameters == 0) {
    return Error{ErrorCode::kBadInput, question.model, "it has no parameters, so there is nothing to train",
                 AskOfInference(question)};
  }
  step.mode = question.spec.mode;
  step.runtime = runtime;
  step.ranks = question.spec.ranks;
  const std::optional<int64_t> batch = GivenBatch(question, prepared.graph, prepared.binding);
  step.batch = batch.value_or(1);
  step.batch_given = batch.has_value();
  return prepared;
}

Result<Prepared> PrepareForBatch(const Question& question, const std::optional<ChosenDevice>& chosen) {
  Result<Prepared> prepared = Prepare(question);
  if (!prepared.ok()) return prepared;
  const AnswerHead& head = prepared->head;
  if (!head.batch_given && head.model.has_batch)
    prepared->notes.Add({"assumed-batch", Severity::kNote, "--batch", "assumed 1", "give --batch to change it"});
  if (chosen) prepared->notes.Append(chosen->notes);
  return prepared;
}

Status TakeSecondModel(Question* question) {
  if (question->second_model.empty()) return Done();
  Question second = *question;
  second.model = question->second_model;
  second.spec.mode = Mode::kInfer;
  second.spec.around = {};
  second.trained.clear();
  second.named = nullptr;
  if (const Status named = TakeNamed(&second); !named.ok()) return named.error();
  Result<Prepared> prepared = Prepare(second);
  if (!prepared.ok()) return prepared.error();
  question->spec.around.second = std::make_shared<const Layers>(std::move(prepared->layers));
  return Done();
}

Result<Timeline> LayOut(const Prepared& prepared, const TrainingSpec& spec, int64_t batch, Notes* notes) {
  return ScheduleFor(prepared.layers, prepared.lifetimes.likely, spec, batch, notes);
}

Result<LaidOutStep> LayOutQuestion(const Question& question, const std::optional<ChosenDevice>& chosen) {
  Result<Prepared> prepared = PrepareForBatch(question, chosen);
  if (!prepared.ok()) return prepared.error();
  LaidOutStep step{*std::move(prepared), SpecOf(question, chosen), {}};
  Result<Timeline> timeline = LayOut(step.prepared, step.spec, step.prepared.head.batch, &step.prepared.notes);
  if (!timeline.ok()) return timeline.error();
  step.timeline = *std::move(timeline);
  return step;
}

}  // namespace vramplan
