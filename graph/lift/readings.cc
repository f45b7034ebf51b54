#include "graph/lift/readings.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "graph/lift/creations.h"

namespace vramplan {
namespace {

constexpr const char* kDynamoTells = "torch.onnx.export(dynamo=True) of PyTorch 2.9 or newer writes it";

bool IsOneOf(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

// --- index_add or index_put ------------------------------------------------------------------------------------------

std::optional<Reading> IndexPutInstead(const Layers& layers) {
  Layers other = layers;
  bool any = false;
  for (Layer& layer : other.layers) {
    if (layer.op != "index_add" || layer.attributes.Int("assumed", 0) == 0) continue;
    std::vector<ValueId> inputs = {layer.inputs[0]};
    inputs.resize(1 + static_cast<size_t>(layer.attributes.Int("dim", 0)));
    inputs.push_back(layer.inputs[1]);
    inputs.push_back(layer.inputs[2]);
    layer.op = "index_put";
    layer.inputs = std::move(inputs);
    any = true;
  }
  if (!any) return std::nullopt;
  return Reading{"index-add-guessed", "assumed: additions at indices are index_add, not index_put", kDynamoTells,
                 std::move(other)};
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
    layers_.values.push_back(std::move(value));
    const ValueId made{static_cast<int32_t>(layers_.values.size()) - 1};
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
  std::vector<Layer> Done() && {
    out.back().outputs = call_.outputs;
    return std::move(out);
  }

  std::vector<Layer> out;

 private:
  Layers& layers_;
  Layer call_;
};

// As people write them: x * torch.sigmoid(x); x * torch.tanh(F.softplus(x)); x * 0.5 * (1 + torch.erf(x / 2 ** 0.5)).
std::vector<Layer> WriteOut(Layers* layers, const Layer& call) {
  WrittenOut written(layers, call);
  const ValueId x = call.inputs[0];
  if (call.op == "silu") {
    written.Then("mul", {x, written.Then("sigmoid", {x})});
  } else if (call.op == "mish") {
    written.Then("mul", {x, written.Then("tanh", {written.Then("softplus", {x})})});
  } else {
    const ValueId half = written.Then("mul", {x}, 0.5);
    const ValueId erf = written.Then("erf", {written.Then("div", {x}, 1.4142135623730951)});
    written.Then("mul", {half, written.Then("add", {erf}, 1.0)});
  }
  return std::move(written).Done();
}

std::optional<Reading> WrittenOutInstead(const Layers& layers) {
  Layers other = layers;
  other.layers.clear();
  bool any = false;
  for (const Layer& layer : layers.layers) {
    if (layer.evidence != Evidence::kPattern || !IsOneOf(layer.op, {"silu", "mish", "gelu"}) ||
        layer.attributes.Text("approximate", "none") != "none") {
      other.layers.push_back(layer);
      continue;
    }
    for (Layer& one : WriteOut(&other, layer)) other.layers.push_back(std::move(one));
    any = true;
  }
  if (!any) return std::nullopt;
  return Reading{"activation-guessed",
                 "assumed: activations are calls such as F.silu(x), not written out as x * torch.sigmoid(x)",
                 kDynamoTells, std::move(other)};
}

// --- written out or a function of the user's own ---------------------------------------------------------------------

bool IsPointwise(const Layer& layer) {
  return IsOneOf(layer.op, {"add",  "sub",     "rsub",       "mul",      "div",   "rdiv", "pow",    "exp",
                            "log",  "tanh",    "erf",        "neg",      "abs",   "sqrt", "square", "rsqrt",
                            "relu", "sigmoid", "reciprocal", "softplus", "log1p", "clamp"});
}

// A module whose whole call is two or more pointwise operators on one tensor that other modules made.
class Functions {
 public:
  explicit Functions(const Layers& layers) : layers_(layers), last_reader_(layers.values.size(), -1) {
    for (size_t l = 0; l < layers.layers.size(); ++l) {
      for (const ValueId id : layers.layers[l].inputs) {
        if (id.valid()) last_reader_[static_cast<size_t>(id.value)] = static_cast<int>(l);
      }
    }
    for (const ValueId id : layers.outputs) {
      if (id.valid()) last_reader_[static_cast<size_t>(id.value)] = static_cast<int>(layers.layers.size());
    }
  }

  // All layers, with each such call as one that keeps its operand and nothing else; nothing where there is no such
  // call.
  std::optional<std::vector<Layer>> AsOneCall() const {
    std::vector<Layer> all;
    bool any = false;
    for (size_t first = 0; first < layers_.layers.size();) {
      size_t end = first + 1;
      while (end < layers_.layers.size() && layers_.layers[end].module == layers_.layers[first].module) ++end;
      if (const std::optional<Layer> call = CallOf(first, end)) {
        all.push_back(*call);
        any = true;
      } else {
        all.insert(all.end(), layers_.layers.begin() + static_cast<std::ptrdiff_t>(first),
                   layers_.layers.begin() + static_cast<std::ptrdiff_t>(end));
      }
      first = end;
    }
    if (!any) return std::nullopt;
    return all;
  }

 private:
  std::optional<Layer> CallOf(size_t first, size_t end) const {
    const ModuleId module = layers_.layers[first].module;
    if (!module.valid() || !layers_[module].parent.valid() || end - first < 2) return std::nullopt;
    std::vector<ValueId> made;
    ValueId operand;
    for (size_t l = first; l < end; ++l) {
      const Layer& layer = layers_.layers[l];
      if (!IsPointwise(layer) || layer.outputs.size() != 1) return std::nullopt;
      for (const ValueId id : layer.inputs) {
        if (!id.valid() || std::find(made.begin(), made.end(), id) != made.end()) continue;
        if (layers_[id].role == Role::kConstant) continue;
        if (layers_[id].role != Role::kActivation || (operand.valid() && operand != id)) return std::nullopt;
        operand = id;
      }
      const bool leaves = last_reader_[static_cast<size_t>(layer.outputs[0].value)] >= static_cast<int>(end);
      if (leaves != (l + 1 == end)) return std::nullopt;
      made.push_back(layer.outputs[0]);
    }
    const Layer& last = layers_.layers[end - 1];
    if (!operand.valid() || layers_[operand].shape != layers_[last.outputs[0]].shape) return std::nullopt;
    Layer call = last;
    call.op = "silu";  // as good as any that keeps its operand and makes one tensor each way
    call.inputs = {operand};
    call.attributes = {};
    return call;
  }

  const Layers& layers_;
  std::vector<int> last_reader_;  // layer, by value; one behind the last: the caller
};

std::optional<Reading> FunctionsInstead(const Layers& layers) {
  std::optional<std::vector<Layer>> calls = Functions(layers).AsOneCall();
  if (!calls.has_value()) return std::nullopt;
  Layers other = layers;
  other.layers = *std::move(calls);
  return Reading{
      "custom-function-guessed",
      "assumed: modules of pointwise operators are plain Python; a torch.autograd.Function may keep only its input",
      "only the code tells: it then calls apply() of a torch.autograd.Function", std::move(other)};
}

std::optional<Reading> HalfCreationsInstead(const Layers& layers) {
  Layers other = layers;
  bool any = false;
  for (Layer& layer : other.layers) {
    if (!IsUntypedCreation(other, layer) || other[layer.outputs[0]].shape.rank() == 0) continue;
    layer.attributes.Set("like_half", int64_t{1});
    any = true;
  }
  if (!any) return std::nullopt;
  return Reading{"created-type-guessed",
                 "assumed: torch.zeros makes fp32 under autocast; x.new_zeros, which a file writes alike, has x's type",
                 "torch.onnx.export(dynamo=True) names the call", std::move(other)};
}

// Zeros made for an addition: x.new_zeros(n).scatter_add_(...) writes into them, .scatter_add(...) copies them.
std::optional<Reading> AdditionsInPlaceInstead(const Layers& layers) {
  Layers other = layers;
  std::vector<int> readers(layers.values.size());
  std::vector<bool> created(layers.values.size());
  for (const Layer& layer : layers.layers) {
    for (const ValueId id : layer.inputs) {
      if (id.valid()) ++readers[static_cast<size_t>(id.value)];
    }
    if (IsCreation(layer) && layer.outputs[0].valid()) created[static_cast<size_t>(layer.outputs[0].value)] = true;
  }
  bool any = false;
  for (Layer& layer : other.layers) {
    if ((layer.op != "scatter_add" && layer.op != "index_add") || !layer.inputs[0].valid()) continue;
    const size_t into = static_cast<size_t>(layer.inputs[0].value);
    if (!created[into] || readers[into] != 1) continue;
    layer.attributes.Set("inplace", int64_t{layer.attributes.Int("inplace", 0) == 0 ? 1 : 0});
    any = true;
  }
  if (!any) return std::nullopt;
  return Reading{"addition-guessed",
                 "assumed: additions by index copy the zeros that they add to, but for torch_geometric's, which write "
                 "into them",
                 "only the code tells scatter_add_ from scatter_add", std::move(other)};
}

// One weight where the file has two of one shape.
std::optional<Reading> TiedInstead(const Layers& layers) {
  Layers other = layers;
  std::string first;
  for (const auto& [name, table] : layers.guesses.maybe_tied) {
    const auto named = [&](const std::string& wanted) {
      const auto found = std::find_if(other.parameters.begin(), other.parameters.end(),
                                      [&](ValueId id) { return other[id].name == wanted; });
      return found == other.parameters.end() ? ValueId() : *found;
    };
    const ValueId own = named(name), shared = named(table);
    if (!own.valid() || !shared.valid()) continue;
    for (Layer& layer : other.layers) std::replace(layer.inputs.begin(), layer.inputs.end(), own, shared);
    std::erase(other.parameters, own);
    if (first.empty()) first = name;
  }
  if (first.empty()) return std::nullopt;
  return Reading{"tie-guessed", "assumed: " + first + " is a weight of its own; the export hides whether it is tied",
                 "torch.onnx.export(do_constant_folding=False) keeps ties", std::move(other)};
}

}  // namespace

std::vector<Reading> OtherReadings(const Layers& layers, const ReadFor& step) {
  std::vector<Reading> readings;
  for (std::optional<Reading>& reading : std::vector<std::optional<Reading>>{
           step.gradients ? IndexPutInstead(layers) : std::nullopt, WrittenOutInstead(layers),
           step.gradients ? FunctionsInstead(layers) : std::nullopt,
           step.autocast ? HalfCreationsInstead(layers) : std::nullopt, TiedInstead(layers),
           AdditionsInPlaceInstead(layers)}) {
    if (reading.has_value()) readings.push_back(*std::move(reading));
  }
  return readings;
}

}  // namespace vramplan
