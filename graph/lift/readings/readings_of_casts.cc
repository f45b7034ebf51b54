#include "graph/lift/readings/readings_of_casts.h"

#include <algorithm>
#include <utility>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/creations.h"
#include "graph/lift/readings/changed.h"

namespace vramplan {
namespace {

// F.one_hot(i, n).to(x.dtype) in front of a product, which casts it all the same.
bool CastsNumbersForProduct(const Uses& uses, const Layer& layer) {
  const Layers& layers = uses.layers();
  if (layer.op != "to" || !layer.inputs[0].valid() || IsFloating(layers[layer.inputs[0]].type)) return false;
  return std::ranges::any_of(uses.LayersReading(layer.outputs[0]), [&](size_t place) {
    return IsOneOf(layers.layers[place].op, {"matmul", "mm", "bmm", "linear", "einsum"});
  });
}

}  // namespace

std::optional<Reading> HalfCreationsInstead(const Layers& layers) {
  const auto is_untyped = [&](const Layer& layer) {
    return IsUntypedCreation(layers, layer) && layers[layer.outputs[0]].shape.rank() > 0;
  };
  return ReadAs(Changed(layers, is_untyped, [](Layer& layer) { layer.attributes.Set("like_half", int64_t{1}); }),
                "created-type-guessed",
                "assumed: torch.zeros makes fp32 under autocast; x.new_zeros, which a file writes alike, has x's type",
                "torch.onnx.export(dynamo=True) names the call");
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

}  // namespace vramplan
