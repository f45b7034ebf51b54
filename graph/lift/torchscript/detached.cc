// Detached: tensors that the code takes out of the graph of gradients, x.detach(), which leaves no node in a
// TorchScript file. What is computed shows it:
//
//   add(x, sub(y, x))                    y with the gradient of x: the straight-through estimator of values that were
//                                        rounded or looked up (VQ-VAE, arXiv 1711.00937, section 3.2;
//                                        lucidrains/vector-quantize-pytorch, vector_quantize_pytorch.py, 1.0)
//   exp(sub(x, index_select(m, i)))      m, the greatest of x by index: torch_geometric's softmax over the edges of a
//                                        node, which takes it from x.detach() (utils/_softmax.py, 2.6)
//
// and x - x.max() in front of an exponential, or x / x.abs().sum(), may be either: OtherReadings asks it.
#include <optional>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/torchscript/passes.h"

namespace vramplan {
namespace {

bool IsPlain(const Layer& layer) {  // x + y, x - y: no factor, no number
  return layer.inputs.size() == 2 && layer.inputs[0].valid() && layer.inputs[1].valid() &&
         layer.attributes.Real("alpha", 1.0) == 1.0;
}

// Which operand of `add` is the difference that nobody else reads.
std::optional<size_t> DifferenceOf(const Uses& uses, const Layer& add) {
  for (const size_t i : {1, 0}) {
    const Layer* sub = uses.Operand(&add, i, "sub");
    if (sub == nullptr || !IsPlain(*sub) || uses.OnlyReaderOf(add.inputs[i]) != &add) continue;
    if (uses.BehindViews(sub->inputs[1]) == uses.BehindViews(add.inputs[1 - i])) return i;
  }
  return std::nullopt;
}

// The maxima by index that this difference subtracts from what they are taken of; null: it subtracts others.
const Layer* MaximaByIndexIn(const Uses& uses, const Layer& sub) {
  if (sub.op != "sub" || !IsPlain(sub) || FromDynamo(sub)) return nullptr;
  const Layer* maxima = uses.Operand(uses.Operand(&sub, 1, "index_select"), 0, "scatter_reduce");
  const bool of_same = Uses::In(maxima, 2) == sub.inputs[0] && maxima->attributes.Text("reduce", "") == "amax";
  return of_same ? maxima : nullptr;
}

// x / x.detach().abs().sum(dim=-1, keepdim=True).clamp(min=1), of retention's products and of quantization's scales: the
// divisor is made of sizes of what is divided.
bool IsOfSizes(const Uses& uses, const Layer& div) {
  bool sizes = false;
  ValueId id = uses.BehindViews(Uses::In(&div, 1));
  while (const Layer* maker = uses.MakerOf(id)) {
    if (!IsOneOf(maker->op, {"clamp", "sum", "mean", "max", "amax", "max_dim", "abs"})) break;
    sizes = sizes || maker->op == "abs";
    id = uses.BehindViews(maker->inputs[0]);
  }
  return sizes && id == uses.BehindViews(div.inputs[0]);
}

}  // namespace

void Detach(const Operands& operands, Layers* layers) {
  Edit edit(layers);
  for (const auto& [place, operand] : operands) {
    Layer& reader = layers->layers[place];
    const Value& value = (*layers)[reader.inputs[operand]];
    Layer detach{.op = "detach", .name = value.name + ".detach", .inputs = {reader.inputs[operand]}};
    detach.module = reader.module;
    detach.evidence = reader.evidence;
    reader.inputs[operand] = edit.InsertBefore(place, std::move(detach), value);
  }
  edit.Apply();
}

void DetachStraightThrough(Layers* layers) {
  Operands found;
  const Uses uses(*layers);
  for (const Layer& layer : layers->layers) {
    if (layer.op != "add" || FromDynamo(layer) || !IsPlain(layer)) continue;
    if (const std::optional<size_t> operand = DifferenceOf(uses, layer)) found.insert({uses.PlaceOf(&layer), *operand});
  }
  Detach(found, layers);
}

void DetachSoftmaxByIndex(Layers* layers) {
  Operands found;
  const Uses uses(*layers);
  for (const Layer& layer : layers->layers) {
    const Layer* maxima = MaximaByIndexIn(uses, layer);
    if (maxima != nullptr && maxima->attributes.Int("include_self", 1) == 0) found.insert({uses.PlaceOf(maxima), 2});
  }
  Detach(found, layers);
}

Operands PerhapsDetached(const Layers& layers) {
  Operands found;
  const Uses uses(layers);
  for (const Layer& layer : layers.layers) {
    if (layer.op == "div" && !FromDynamo(layer) && IsPlain(layer) && IsOfSizes(uses, layer))
      found.insert({uses.PlaceOf(&layer), 1});
    if (layer.op != "sub" || FromDynamo(layer) || !IsPlain(layer)) continue;
    const Layer* maximum = uses.MakerOf(uses.BehindViews(layer.inputs[1]));
    const bool of_rows = maximum != nullptr && IsOneOf(maximum->op, {"max", "amax", "max_dim"});
    if ((of_rows && Uses::In(maximum, 0) == layer.inputs[0]) || MaximaByIndexIn(uses, layer) != nullptr)
      found.insert({uses.PlaceOf(&layer), 1});
  }
  return found;
}

}  // namespace vramplan
