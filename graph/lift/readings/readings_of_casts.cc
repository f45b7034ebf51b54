#include "graph/lift/readings/readings_of_casts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/creations.h"
#include "graph/lift/any_export/passes.h"
#include "graph/lift/source_lines/passes.h"

namespace vramplan {
namespace {

bool Has(const Layers& layers, std::string_view op) {
  return std::ranges::any_of(layers.layers, [&](const Layer& layer) { return layer.op == op; });
}

// Whether the lines in which a layer ran are there, and none makes anything fp32.
bool LinesTellNoFloat(const Layers& layers, const Layer& layer) {
  if (LineOf(layers, layer) == nullptr) return false;
  return std::ranges::none_of(layers.source.stacks[static_cast<size_t>(layer.nodes.back().value)], [&](int32_t line) {
    const std::string_view text = layers.source.lines[static_cast<size_t>(line)].text;
    return text.find("float") != std::string_view::npos;
  });
}

}  // namespace

// .float() or .to(x.dtype), which differ under autocast (graph/lift/source_lines/cast_lines.cc).
std::optional<Reading> CastsInstead(const Layers& layers) {
  if (!Has(layers, "to")) return std::nullopt;
  Layers other = layers;
  if (!CastAsOperand(&other)) return std::nullopt;
  return Reading{"cast-guessed", "assumed: masks are made fp32, not of the type of what they are multiplied with",
                 "a dynamo export of PyTorch 2.9 or newer writes the source lines", std::move(other)};
}

// x.float() once for a norm, or once for its square and once for what is scaled.
std::optional<Reading> CastTwiceInstead(const Layers& layers) {
  if (!Has(layers, "float")) return std::nullopt;
  Layers other = layers;
  if (!CastTwice(&other)) return std::nullopt;
  return Reading{"upcast-guessed", "assumed: norms that are written out call x.float() once",
                 "a dynamo export of PyTorch 2.9 or newer writes the source lines", std::move(other)};
}

// Norms and softmaxes of somebody's own that compute in fp32 and go back (graph/lift/any_export/casts_back.cc).
std::optional<Reading> CastBackInstead(const Layers& layers) {
  Layers other = layers;
  if (!CastBack(&other, CastEvidence::kNothing)) return std::nullopt;
  return Reading{"cast-back-guessed",
                 "assumed: norms, softmaxes and rotary embeddings return fp32 under autocast; code for halves may cast "
                 "them back",
                 "a dynamo export of PyTorch 2.9 or newer writes the source lines", std::move(other)};
}

// The head behind a result: behind views, and behind cap * tanh(logits / cap) (transformers, modeling_xlstm.py, Gemma 2).
ValueId HeadOf(const Uses& uses, ValueId result) {
  for (;;) {
    result = uses.Behind({"reshape", "view", "transpose", "permute", "squeeze", "unsqueeze"}, result);
    const Layer* maker = uses.MakerOf(result);
    const bool caps = maker != nullptr &&
                      (maker->op == "tanh" || (IsOneOf(maker->op, {"mul", "div"}) && maker->attributes.Has("scalar")));
    if (!caps || maker->inputs.empty() || !maker->inputs[0].valid()) return result;
    result = maker->inputs[0];
  }
}

// logits = self.head(x).float(), for a softmax in fp32; where the head's line is in the file it says so.
std::optional<Reading> FloatResultsInstead(const Layers& layers) {
  const Uses uses(layers);
  Layers other = layers;
  Edit edit(&other);
  bool any = false;
  for (const ValueId output : layers.outputs) {
    const ValueId made = HeadOf(uses, output);
    const Layer* head = uses.MakerOf(made);
    if (head == nullptr || !(IsOneOf(head->op, {"linear", "matmul"}) || head->op.starts_with("conv"))) continue;
    if (LinesTellNoFloat(layers, *head)) continue;
    const Value value{.type = layers[made].type, .shape = layers[made].shape};
    edit.Rename(made, edit.InsertBehind(uses.PlaceOf(head), CallBeside(*head, "float", {made}), value));
    any = true;
  }
  if (!any) return std::nullopt;
  edit.Apply();
  return Reading{"results-in-halves", "assumed: results stay in halves under autocast; code may return logits.float()",
                 "a dynamo export of PyTorch 2.9 or newer writes the source lines", std::move(other)};
}

// F.one_hot(i, n).to(x.dtype) in front of a product, which casts it all the same.
bool CastsNumbersForProduct(const Uses& uses, const Layer& layer) {
  const Layers& layers = uses.layers();
  if (layer.op != "to" || !layer.inputs[0].valid() || IsFloating(layers[layer.inputs[0]].type)) return false;
  return std::ranges::any_of(uses.LayersReading(layer.outputs[0]), [&](size_t place) {
    return IsOneOf(layers.layers[place].op, {"matmul", "mm", "bmm", "linear", "einsum"});
  });
}

// A tensor that forward() makes of x's type, torch.arange(n, dtype=x.dtype) or x.new_tensor(...): the export computed it,
// and stores it as fp32 without a name.
std::optional<Reading> HalfConstantsInstead(const Layers& layers) {
  const Uses uses(layers);
  Layers other = layers;
  Edit edit(&other);
  bool any = false;
  for (size_t v = 0; v < layers.values.size(); ++v) {
    const Value& stored = layers.values[v];
    const ValueId id = ValueId::At(v);
    const bool is_named = !stored.name.starts_with('/') && stored.name.find('.') != std::string::npos;
    if (!uses.IsStored(id) || is_named || stored.type != DType::kFloat32 || stored.shape.rank() == 0) continue;
    const auto readers = uses.LayersReading(id);
    if (readers.empty()) continue;
    Value made = stored;
    made.name += ".made";
    made.role = Role::kActivation;
    const auto first = static_cast<size_t>(readers.front());
    Layer makes = CallBeside(layers.layers[first], "zeros", {});
    makes.name = made.name;
    makes.attributes.Set("like_half", int64_t{1});
    edit.Rename(id, edit.InsertBefore(first, std::move(makes), std::move(made)));
    any = true;
  }
  // torch.arange of the dynamo exporter (graph/lift/dynamo/computed_constants.cc), and as TorchScript casts it; with them
  // what is filled with a number.
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const bool is_computed = layer.op == "arange" && layer.inputs.empty();
    const bool is_cast = layer.op == "to" && uses.Operand(&layer, 0, "arange") != nullptr;
    if (layer.outputs.empty() || !IsFloating(layers[layer.outputs[0]].type)) continue;
    if (CastsNumbersForProduct(uses, layer)) {
      other.layers[l].op = "half";
      any = true;
      continue;
    }
    if (!is_computed && !is_cast && !IsUntypedCreation(layers, layer)) continue;
    if (layer.attributes.Has("like_half") || layer.attributes.Has("like_float")) continue;
    if (is_cast) other.layers[l].op = "zeros";
    other.layers[l].inputs.clear();
    other.layers[l].attributes.Set("like_half", int64_t{1});
    any |= is_computed || is_cast;
  }
  if (!any) return std::nullopt;
  edit.Apply();
  return Reading{"constant-type-guessed",
                 "assumed: tensors that forward() makes of numbers are fp32 under autocast; code may make them of the "
                 "type of what they meet, as torch.arange(n, dtype=x.dtype) does",
                 kScriptTells, std::move(other)};
}

// F.grid_sample(x, grid.to(x.dtype)), a cast that fp32 does not need and that no export keeps; with fp32 coordinates the
// result is fp32 (aten/src/ATen/autocast_mode.h, grid_sampler is promoted to the widest). What is multiplied with the
// result, a mask of what lies inside, is then cast alike.
std::optional<Reading> GridsAsOperandsInstead(const Layers& layers) {
  const auto samples = [](const Layer& layer) {
    return IsOneOf(layer.op, {"grid_sample", "grid_sampler"}) && layer.inputs.size() > 1;
  };
  if (std::ranges::none_of(layers.layers, samples)) return std::nullopt;
  Layers other = layers;
  Edit edit(&other);
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    if (!samples(layer)) continue;
    const ValueId grid = layer.inputs[1];
    const Value& given = layers[grid];
    const ValueId cast = edit.InsertBefore(l, CallBeside(layer, "type_as", {grid, layer.inputs[0]}),
                                           Value{.type = given.type, .shape = given.shape});
    other.layers[l].inputs[1] = cast;
  }
  edit.Apply();
  static_cast<void>(CastAsOperand(&other));
  return Reading{
      "grid-type-guessed",
      "assumed: grid_sample is given coordinates in fp32 under autocast; code may cast them to its input's type",
      kScriptTells, std::move(other)};
}

}  // namespace vramplan
