#include "graph/lift/readings/readings.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "graph/base/text.h"
#include "graph/lift/any_export/decomposed.h"
#include "graph/lift/readings/changed.h"
#include "graph/lift/readings/readings_of_casts.h"
#include "graph/lift/readings/readings_of_weights.h"

namespace vramplan {
namespace {

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

// max(dim)[0] keeps places, amax(dim) its input.
std::optional<Reading> OtherMaximaInstead(const Layers& layers) {
  std::optional<Layers> other = Changed(layers, IsAmbiguousMaximum, [](Layer& layer) {
    layer.op = layer.op.front() == 'a' ? layer.op.substr(1) : "a" + layer.op;
  });
  return ReadAs(std::move(other), "maximum-guessed",
                "assumed: which maxima are max(dim)[0], which keeps places, and which amax(dim), which keeps its input",
                "torch.onnx.export(dynamo=True) tells them apart");
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

}  // namespace

std::vector<Reading> OtherReadings(const Layers& layers, const ReadFor& step) {
  struct Row {
    bool asked;
    std::optional<Reading> (*read)(const Layers& layers);
  };
  const Row rows[] = {{true, WrittenOutInstead},
                      {step.autocast, HalfCreationsInstead},
                      {step.autocast, HalfConstantsInstead},
                      {!layers.told.tensors, TiedWeightsInstead},
                      {step.gradients, OtherMaximaInstead},
                      {step.gradients, CheckpointsInstead},
                      {step.gradients && !layers.told.tensors, BuffersInstead}};
  std::vector<Reading> readings;
  for (const Row& row : rows) {
    if (!row.asked) continue;
    if (std::optional<Reading> reading = row.read(layers)) readings.push_back(*std::move(reading));
  }
  return readings;
}

}  // namespace vramplan
