#include "graph/lift/readings/readings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/base/text.h"
#include "graph/habits/habits.h"
#include "graph/layers/edit.h"
#include "graph/lift/any_export/creations.h"
#include "graph/lift/any_export/decomposed.h"
#include "graph/lift/readings/changed.h"
#include "graph/lift/readings/readings_of_branches.h"
#include "graph/lift/readings/readings_of_casts.h"
#include "graph/lift/readings/readings_of_copies.h"
#include "graph/lift/readings/readings_of_noise.h"
#include "graph/lift/readings/readings_of_weights.h"
#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

// As good as any that keeps its operand and makes one tensor each way.
constexpr const char* kKeepsOperand = "silu";

// --- index_add or index_put ------------------------------------------------------------------------------------------

bool IsAssumedAddition(const Layer& layer) {
  return layer.op == "index_add" && layer.attributes.Int("assumed", 0) != 0;
}

std::optional<Reading> IndexPutInstead(const Layers& layers) {
  std::optional<Layers> other = Changed(layers, IsAssumedAddition, [](Layer& layer) {
    layer.inputs.insert(layer.inputs.begin() + 1, static_cast<size_t>(layer.attributes.Int("dim", 0)), ValueId());
    layer.op = "index_put";
  });
  return ReadAs(std::move(other), "index-add-guessed", "assumed: additions at indices are index_add, not index_put",
                kDynamoTells);
}

// --- one call or written out -----------------------------------------------------------------------------------------

// Layers in place of one, of the same operand and result.
class WrittenOut {
 public:
  WrittenOut(Layers* layers, Layer call) : layers_(*layers), call_(std::move(call)) {}

  ValueId Then(const char* op, std::vector<ValueId> inputs, std::optional<double> scalar = std::nullopt) {
    const std::string name = call_.name + "." + std::to_string(out.size());
    Value value = layers_[call_.outputs[0]];
    value.name = name;
    const ValueId made = layers_.Add(std::move(value));
    Layer layer{.op = op,
                .name = name,
                .inputs = std::move(inputs),
                .outputs = {made},
                .module = call_.module,
                .nodes = call_.nodes,
                .evidence = call_.evidence};
    if (scalar.has_value()) {
      layer.attributes.Set("scalar", *scalar);
      layer.inputs.resize(2);
    }
    out.push_back(std::move(layer));
    return made;
  }
  // One more result of the last layer, of the same shape.
  ValueId Part() {
    Value value = layers_[call_.outputs[0]];
    value.name = out.back().name + "." + std::to_string(out.back().outputs.size());
    out.back().outputs.push_back(layers_.Add(std::move(value)));
    return out.back().outputs.back();
  }
  std::vector<Layer> Done() && {
    out.back().outputs = call_.outputs;
    return std::move(out);
  }

  std::vector<Layer> out;

 private:
  Layers& layers_;
  Layer call_;
};

// As people write them: x * torch.sigmoid(x); x * torch.tanh(F.softplus(x)); x * 0.5 * (1 + torch.erf(x / 2 ** 0.5));
// a, b = x.chunk(2); a * torch.sigmoid(b).
std::vector<Layer> WriteOut(Layers* layers, const Layer& call) {
  WrittenOut written(layers, call);
  const ValueId x = call.inputs[0];
  if (call.op == "silu") {
    written.Then("mul", {x, written.Then("sigmoid", {x})});
  } else if (call.op == "mish") {
    written.Then("mul", {x, written.Then("tanh", {written.Then("softplus", {x})})});
  } else if (call.op == "glu") {
    const ValueId first = written.Then("split", {x}), second = written.Part();
    written.out.back().attributes.Set("dim", call.attributes.Int("dim", -1));
    written.Then("mul", {first, written.Then("sigmoid", {second})});
  } else {
    const ValueId half = written.Then("mul", {x}, 0.5);
    const ValueId erf = written.Then("erf", {written.Then("div", {x}, 1.4142135623730951)});
    written.Then("mul", {half, written.Then("add", {erf}, 1.0)});
  }
  return std::move(written).Done();
}

bool IsOneCall(const Layer& layer) {
  return layer.evidence == Evidence::kPattern && IsOneOf(layer.op, {"silu", "mish", "gelu", "glu"}) &&
         layer.attributes.Text("approximate", "none") == "none";
}

std::optional<Reading> WrittenOutInstead(const Layers& layers) {
  if (!Any(layers, IsOneCall)) return std::nullopt;
  Layers other = layers;
  other.layers.clear();
  std::string op;  // one of them
  for (const Layer& layer : layers.layers) {
    if (!IsOneCall(layer)) {
      other.layers.push_back(layer);
      continue;
    }
    for (Layer& one : WriteOut(&other, layer)) other.layers.push_back(std::move(one));
    op = layer.op;
  }
  return Reading{"activation-guessed", "assumed: " + op + " is one call of the framework, not written out of its parts",
                 kDynamoTells, std::move(other)};
}

// --- written out or a function of the user's own ---------------------------------------------------------------------

constexpr size_t kFewestInPart = 4, kMostInPart = 24;

// What activations are written with.
bool IsPointwise(const Layer& layer) {
  return IsOneOf(layer.op, {"add",  "sub",     "rsub",       "mul",      "div",   "rdiv", "pow",    "exp",
                            "log",  "tanh",    "erf",        "neg",      "abs",   "sqrt", "square", "rsqrt",
                            "relu", "sigmoid", "reciprocal", "softplus", "log1p", "clamp"});
}
// What begins a projection onto a simplex: sparsemax, entmax.
bool Sorts(const Layer& layer) { return IsOneOf(layer.op, {"topk", "sort"}); }

// A module without weights whose whole call is two or more operators on one tensor that other modules made, and whose
// result has its shape: activations, norms without parameters. In the midst of other code the same, where the operators
// are pointwise and at least four, or begin with a sort.
class Functions {
 public:
  explicit Functions(const Layers& layers) : layers_(layers), uses_(layers) {}

  // All layers, with each such call as one that keeps its operand and nothing else; nothing where there is no such
  // call.
  std::optional<std::vector<Layer>> AsOneCall() const {
    std::vector<Layer> all;
    size_t done = 0;  // layers that are in `all`, or that a call stands for
    const auto as_they_are = [&](size_t end) {
      all.insert(all.end(), layers_.layers.begin() + static_cast<std::ptrdiff_t>(done),
                 layers_.layers.begin() + static_cast<std::ptrdiff_t>(end));
    };
    const auto put = [&](size_t first, size_t end, const Layer& call) {
      as_they_are(first);
      all.push_back(call);
      done = end;
    };
    for (size_t first = 0; first < layers_.layers.size();) {
      size_t end = first + 1;
      while (end < layers_.layers.size() && layers_.layers[end].module == layers_.layers[first].module) ++end;
      if (const std::optional<Layer> call = CallOf(first, end)) {
        put(first, end, *call);
      } else {
        PutParts(first, end, put);
      }
      first = end;
    }
    if (all.empty()) return std::nullopt;
    as_they_are(layers_.layers.size());
    return all;
  }

 private:
  std::optional<Layer> CallOf(size_t first, size_t end) const {
    const ModuleId module = layers_.layers[first].module;
    if (!module.valid() || !layers_[module].parent.valid() || end - first < 2) return std::nullopt;
    return OneCall(first, end);
  }

  // The layers of one frame, in which parts may be such calls.
  template <typename Put>
  void PutParts(size_t first, size_t end, const Put& put) const {
    while (first < end) {
      std::optional<Layer> call;
      const size_t most = std::min(end, first + kMostInPart);
      size_t part = Sorts(layers_.layers[first]) ? most : first;
      while (part < most && IsPointwise(layers_.layers[part])) ++part;
      const size_t fewest = IsGate(first) ? 2 : kFewestInPart;
      for (; !call && part >= first + fewest; --part) call = OneCall(first, part);
      if (call) put(first, part + 1, *call);
      first = call ? part + 1 : first + 1;
    }
  }

  // x * sigmoid(x), of which the memory-efficient swish is made (arXiv 1710.05941).
  bool IsGate(size_t first) const {
    if (first + 1 >= layers_.layers.size()) return false;
    const Layer &gate = layers_.layers[first], &product = layers_.layers[first + 1];
    return gate.op == "sigmoid" && product.op == "mul" && product.inputs.size() == 2 &&
           std::ranges::count(product.inputs, gate.inputs[0]) == 1 &&
           std::ranges::count(product.inputs, gate.outputs[0]) == 1;
  }

  // Of the layers `first` up to `end`; nothing where they are more than one tensor's way to another of its shape.
  std::optional<Layer> OneCall(size_t first, size_t end) const {
    ValueId operand;
    for (size_t l = first; l < end; ++l) {
      const Layer& layer = layers_.layers[l];
      if (layer.outputs.empty() || !layer.outputs[0].valid()) return std::nullopt;
      for (const ValueId id : layer.inputs) {
        if (!id.valid() || uses_.PlaceOfMaker(id) >= static_cast<int>(first)) continue;
        if (layers_[id].role == Role::kConstant) continue;
        if (layers_[id].role != Role::kActivation || (operand.valid() && operand != id)) return std::nullopt;
        operand = id;
      }
      const bool leaves = std::ranges::any_of(layer.outputs, [&](ValueId id) {
        const auto readers = uses_.ReadersOf(id);
        return !readers.empty() && readers.back() >= static_cast<int>(end);
      });
      if (leaves != (l + 1 == end)) return std::nullopt;
    }
    const Layer& last = layers_.layers[end - 1];
    if (!operand.valid() || layers_[operand].shape != layers_[last.outputs[0]].shape) return std::nullopt;
    Layer call = last;
    call.op = kKeepsOperand;
    call.inputs = {operand};
    call.attributes = {};
    return call;
  }

  const Layers& layers_;
  const Uses uses_;
};

std::optional<Reading> FunctionsInstead(const Layers& layers) {
  std::optional<std::vector<Layer>> calls = Functions(layers).AsOneCall();
  if (!calls.has_value()) return std::nullopt;
  Layers other = layers;
  other.layers = *std::move(calls);
  return Reading{"custom-function-guessed",
                 "assumed: modules without weights are plain Python; a torch.autograd.Function may keep only its input",
                 "only the code tells: it then calls apply() of a torch.autograd.Function", std::move(other)};
}

// max(dim)[0] keeps places, amax(dim) its input.
std::optional<Reading> OtherMaximaInstead(const Layers& layers) {
  std::optional<Layers> other = Changed(layers, IsAmbiguousMaximum, [](Layer& layer) {
    layer.op = layer.op.front() == 'a' ? layer.op.substr(1) : "a" + layer.op;
  });
  return ReadAs(std::move(other), "maximum-guessed",
                "assumed: which maxima are max(dim)[0], which keeps places, and which amax(dim), which keeps its input",
                "torch.onnx.export(dynamo=True) tells them apart");
}

std::optional<Reading> HalfCreationsInstead(const Layers& layers) {
  const auto is_untyped = [&](const Layer& layer) {
    return IsUntypedCreation(layers, layer) && layers[layer.outputs[0]].shape.rank() > 0;
  };
  return ReadAs(Changed(layers, is_untyped, [](Layer& layer) { layer.attributes.Set("like_half", int64_t{1}); }),
                "created-type-guessed",
                "assumed: torch.zeros makes fp32 under autocast; x.new_zeros, which a file writes alike, has x's type",
                "torch.onnx.export(dynamo=True) names the call");
}

// Zeros made for it: x.new_zeros(n).scatter_add_(...) writes into them, .scatter_add(...) copies them; scatter likewise.
std::optional<Reading> AdditionsInPlaceInstead(const Layers& layers) {
  if (!Any(layers, [](const Layer& layer) { return layer.op == "scatter" || IsAdditionByIndex(layer); }))
    return std::nullopt;
  const Uses uses(layers);
  const auto writes = [&uses](const Layer& layer) { return WritesToCreation(uses, layer); };
  std::optional<Layers> other = Changed(layers, writes, [](Layer& layer) {
    layer.attributes.Set("inplace", int64_t{layer.attributes.Int("inplace", 0) == 0 ? 1 : 0});
  });
  return ReadAs(std::move(other), "addition-guessed",
                "assumed: scatter and additions by index copy the zeros that they write to, but for numbers and for "
                "torch_geometric's, which write into them",
                "only the code tells scatter_add_ from scatter_add");
}

constexpr int64_t kManySteps = 4;  // tensors that a backward written by hand holds on its way

// What rounds has a gradient of zero (tools/autograd/derivatives.yaml): who trains through it has a function of his
// own, which lets gradients pass where its input is small, and keeps that (arXiv 1308.3432; arXiv 1602.02830,
// section 1.3).
std::optional<Reading> StraightThroughInstead(const Layers& layers) {
  const auto rounds = [&](const Layer& layer) {
    return IsOneOf(layer.op, {"sign", "round", "floor", "ceil", "trunc"}) && layer.outputs.size() == 1 &&
           layer.outputs[0].valid() && IsFloating(layers[layer.outputs[0]].type);
  };
  if (!Any(layers, rounds)) return std::nullopt;
  Layers other = layers;
  Edit edit(&other);
  std::string op;  // one of them
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    if (!rounds(layers.layers[l])) continue;
    op = layers.layers[l].op;
    other.layers[l].attributes.Set("no_grad", int64_t{1});
    PutFunctionBehind(l, layers.layers[l].inputs[0], kManySteps, other, &edit);
  }
  edit.Apply();
  return Reading{
      "rounding-guessed",
      "assumed: " + op + " has its own gradient, zero; an autograd.Function that trains through it keeps its input",
      "only the code tells", std::move(other)};
}

// What a function that a line names computes in its backward, which no file has.
std::optional<Reading> MoreInBackward(const Layers& layers) {
  const auto is_guessed = [](const Layer& layer) { return layer.op == "function" && layer.attributes.Has("steps"); };
  return ReadAs(Changed(layers, is_guessed, [](Layer& layer) { layer.attributes.Set("steps", kManySteps); }),
                "function-backward-guessed",
                "assumed: each autograd.Function keeps its input, and its backward holds two tensors on its way",
                kScriptTells);
}

std::optional<Reading> GradientsInstead(const Layers& layers) {
  const auto is_guessed = [](const Layer& layer) { return layer.attributes.Int("no_grad", 0) == kNoGradGuessed; };
  std::optional<Layers> other =
      Changed(layers, is_guessed, [](Layer& layer) { layer.attributes.Set("no_grad", int64_t{0}); });
  if (!other) return std::nullopt;
  const auto first = std::find_if(layers.layers.begin(), layers.layers.end(), is_guessed);
  return Reading{"no-grad-guessed",
                 "assumed: " + layers[first->module].path + " runs under torch.no_grad(), where the export loses names",
                 "a dynamo export of PyTorch 2.9 or newer writes the source lines", *std::move(other)};
}

std::optional<Reading> CheckpointsInstead(const Layers& layers) {
  if (layers.perhaps_checkpointed.empty()) return std::nullopt;
  Layers other = layers;
  other.checkpointed.insert(other.checkpointed.end(), layers.perhaps_checkpointed.begin(),
                            layers.perhaps_checkpointed.end());
  return Reading{"checkpoint-guessed",
                 "assumed: calls that the code checkpoints under a condition, or in segments, are not checkpointed",
                 "--checkpoint " + layers[layers.perhaps_checkpointed[0]].path + " for those that are",
                 std::move(other)};
}

// torch.square(x) is pow(x, 2), which autocast computes in fp32; x * x is a product in the type of x.
std::optional<Reading> SquaresInstead(const Layers& layers) {
  const auto is_square = [&](const Layer& layer) {
    return layer.op == "mul" && !FromDynamo(layer) && layer.inputs.size() == 2 && layer.inputs[0].valid() &&
           layer.inputs[0] == layer.inputs[1] && IsFloating(layers[layer.inputs[0]].type);
  };
  std::optional<Layers> other = Changed(layers, is_square, [](Layer& layer) {
    layer.op = "pow";
    layer.inputs.resize(1);
    layer.attributes.Set("scalar", 2.0);
  });
  return ReadAs(std::move(other), "square-guessed", "assumed: squares are products x * x, not torch.square(x)",
                kDynamoTells);
}

// a.bmm(b) and torch.matmul(a, b) are written alike; matmul gives gradients that are views of what bmm made.
std::optional<Reading> BmmInstead(const Layers& layers) {
  const auto is_of_batches = [&](const Layer& layer) {
    constexpr int kBatched = 3;  // axes
    return layer.op == "matmul" && !FromDynamo(layer) && std::ranges::all_of(layer.inputs, [&](ValueId id) {
             return id.valid() && layers[id].shape.rank() == kBatched;
           });
  };
  return ReadAs(Changed(layers, is_of_batches, [](Layer& layer) { layer.op = "bmm"; }), "product-guessed",
                "assumed: products of batches of matrices are torch.matmul(a, b), not a.bmm(b)", kDynamoTells);
}

// torch.einsum of three operands or more (planner/semantics/einsum.h); the dynamo exporter writes what it called.
std::optional<Reading> CheapestEinsumInstead(const Layers& layers) {
  const auto is_of_many = [](const Layer& layer) { return layer.op == "einsum" && layer.inputs.size() > 2; };
  return ReadAs(Changed(layers, is_of_many, [](Layer& layer) { layer.attributes.Set("cheapest_order", int64_t{1}); }),
                "einsum-order",
                "assumed: opt_einsum is not installed, which lets einsum of three operands choose a cheaper order",
                "pip list on the machine that trains tells");
}

// self.attn = p: what softmax gave attention, or the dropout behind it, may outlive its forward for people to look at
// (The Annotated Transformer; facebookresearch/dino). Libraries return it only when asked.
std::optional<Reading> AttentionKeptInstead(const Layers& layers) {
  if (!layers.source.stacks.empty() || layers.told.code) return std::nullopt;
  const Uses uses(layers);
  std::vector<ValueId> kept;
  for (const Layer& layer : layers.layers) {
    if (layer.op != "softmax" || (layer.module.valid() && IsOfAnyLibrary(layers[layer.module].class_name))) continue;
    const Layer *last = &layer, *reader = uses.OnlyReaderOf(layer.outputs[0]);
    if (reader != nullptr && reader->op == "dropout") reader = uses.OnlyReaderOf((last = reader)->outputs[0]);
    if (reader != nullptr && IsOneOf(reader->op, {"matmul", "bmm"})) kept.push_back(last->outputs[0]);
  }
  if (kept.empty()) return std::nullopt;
  Layers other = layers;
  other.kept_by_modules.insert(other.kept_by_modules.end(), kept.begin(), kept.end());
  return Reading{"attention-kept", "assumed: no module keeps its attention's probabilities, as self.attn = p does",
                 "a dynamo export of PyTorch 2.9 or newer writes the source lines", std::move(other)};
}

}  // namespace

std::vector<Reading> OtherReadings(const Layers& layers, const ReadFor& step) {
  struct Row {
    bool asked;
    std::optional<Reading> (*read)(const Layers& layers);
  };
  const Row rows[] = {{step.gradients, IndexPutInstead},
                      {true, WrittenOutInstead},
                      {step.gradients && !layers.told.functions, FunctionsInstead},
                      {step.autocast, HalfCreationsInstead},
                      {step.autocast, CastsInstead},
                      {step.autocast, CastTwiceInstead},
                      {step.autocast, CastBackInstead},
                      {step.autocast, FloatResultsInstead},
                      {step.autocast, HalfConstantsInstead},
                      {true, DenseTransposesInstead},
                      {true, OneTableInstead},
                      {true, InPlaceCallsInstead},
                      {step.gradients, InPlaceDropoutsInstead},
                      {true, InPlaceSumsInstead},
                      {true, InPlaceProductsInstead},
                      {step.evaluates, WithoutBranchesOfTraining},
                      {step.evaluates, WithoutLoss},
                      {step.evaluates, WithoutNoiseInstead},
                      {step.evaluates && !layers.told.tensors, UnreadNoiseInstead},
                      {!step.evaluates && !layers.told.tensors, NoiseInstead},
                      {true, AttentionKeptInstead},
                      {true, SquaresInstead},
                      {true, CheapestEinsumInstead},
                      {step.gradients, BmmInstead},
                      {step.autocast, GridsAsOperandsInstead},
                      {true, CentringTwiceInstead},
                      {!layers.told.tensors, TiedWeightsInstead},
                      {step.autocast, HeadsByHandInstead},
                      {!layers.told.tensors, OtherShapesInstead},
                      {true, AdditionsInPlaceInstead},
                      {step.gradients, OtherMaximaInstead},
                      {step.gradients, GradientsInstead},
                      {step.gradients, MoreInBackward},
                      {step.gradients, CheckpointsInstead},
                      {step.gradients && !layers.told.functions, StraightThroughInstead},
                      {!layers.told.tensors, ComputedWeightsInstead},
                      {step.gradients && !layers.told.tensors, BuffersInstead},
                      {step.gradients && !layers.told.tensors, SinusoidsInstead},
                      {step.gradients && !layers.told.tensors, ParametersInstead}};
  std::vector<Reading> readings;
  for (const Row& row : rows) {
    if (!row.asked) continue;
    if (std::optional<Reading> reading = row.read(layers)) readings.push_back(*std::move(reading));
  }
  return readings;
}

}  // namespace vramplan
