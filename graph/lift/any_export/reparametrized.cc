// Weights that are made in front of each call, where the file still has how (constants of more than 2^18 elements are
// not folded; smaller ones: dynamo/folded.h):
//
//   weight_norm(v, g)             mul(v, div(g, norm(v)))
//   spectral_norm(weight, u, v)   div(weight, dot(u, mv(weight as a matrix, v))), in training with one power iteration
//                                 in front (torch/nn/utils/spectral_norm.py, parametrizations.py, PyTorch 2.10); an
//                                 export of eval() by TorchScript stores the matrix beside the weight
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/base/text.h"
#include "graph/habits/reparametrizations.h"
#include "graph/layers/edit.h"
#include "graph/layers/trained.h"
#include "graph/lift/any_export/decomposed.h"
#include "graph/lift/any_export/passes.h"

namespace vramplan {
namespace {

bool IsParameter(const Uses& uses, ValueId id) { return id.valid() && uses.layers()[id].role == Role::kParameter; }

// Over all axes but the first or the last it is one fused call.
bool IsWeightNormOfLayers(const DecomposedMatch& found, Layer* call) {
  if (!IsParameter(found.uses, found["v"]) || !IsParameter(found.uses, found["g"])) return false;
  const int rank = found.At("v").shape.rank();
  const std::vector<int64_t> dims = found.MakerOf("norm")->attributes.Ints("dim");
  const bool first = Contains(dims, 0);
  const bool last = Contains(dims, rank - 1);
  if (IsBoundWeightNorm(found.At("v").name, found.At("g").name)) call->attributes.Set("bound", int64_t{1});
  return rank >= 2 && static_cast<int>(dims.size()) == rank - 1 && !(first && last);
}

// v / |v| * g is what TorchScript writes (symbolic_opset9.py 2.10, _weight_norm) for what PyTorch computes as
// v * (g / |v|), where it is not one call: a number for each row is divided, not the weight.
void DivideMagnitudes(Layers* layers) {
  const Uses uses(*layers);
  for (Layer& product : layers->layers) {
    const Layer* quotient =
        product.op == "mul" && product.inputs.size() == 2 ? uses.Operand(&product, 0, "div") : nullptr;
    const Layer* norm = quotient != nullptr ? uses.Operand(quotient, 1, "norm") : nullptr;
    if (norm == nullptr || uses.OnlyReaderOf(quotient->outputs[0]) != &product) continue;
    const ValueId v = quotient->inputs[0], g = product.inputs[1];
    if (!IsParameter(uses, v) || !IsParameter(uses, g) || Uses::In(norm, 0) != v) continue;
    if (WeightNormOf((*layers)[v].name, (*layers)[g].name) == nullptr) continue;
    Layer& divides = layers->layers[uses.PlaceOf(quotient)];
    layers->values[divides.outputs[0].index()].shape = (*layers)[norm->outputs[0]].shape;
    product.inputs = {v, divides.outputs[0]};
    divides.inputs[0] = g;
  }
}

}  // namespace

const DecomposedTable& DecomposedWeightNorms() {
  static const DecomposedTable table({
      {"mul(v, div(g, norm=norm(v)))", "weight_norm(v, g)", Exporter::kAny, IsWeightNormOfLayers},
      // A linear whose weight was made is a product with what it is transposed to, and a sum.
      {"add(b, matmul(x, transpose(!w=weight_norm())))", "linear(x, w, b)", Exporter::kTorchScript,
       [](const DecomposedMatch& found, Layer*) { return IsParameter(found.uses, found["b"]); }},
  });
  return table;
}

namespace {

// The buffer of that name. A vector that an export of eval() only multiplies looks like a parameter in its file.
ValueId BufferNamed(Layers* layers, const std::string& name) {
  for (const std::vector<ValueId>* list : {&layers->buffers, &layers->parameters}) {
    const auto found = std::ranges::find(*list, name, [&](ValueId id) { return (*layers)[id].name; });
    if (found == list->end()) continue;
    const ValueId id = *found;
    MakeBuffer(layers, id);
    return id;
  }
  return {};
}

// What the first vector is multiplied with: the weight as a matrix, its axis `dim` for rows.
struct Matrix {
  Shape sizes;
  int64_t dim = 0;
};

// TorchScript folds the reshape of an export of eval(): a stored matrix of the weight's length.
std::optional<Matrix> FoldedMatrix(const Uses& uses, ValueId id, const Shape& weight) {
  const Value& value = uses.layers()[id];
  if (value.role != Role::kBuffer || value.shape.rank() != 2 || weight.rank() < 2) return std::nullopt;
  if (value.shape.Elements() != weight.Elements()) return std::nullopt;
  if (value.shape[0] == weight[0]) return Matrix{value.shape, 0};
  if (value.shape[0] == weight[1]) return Matrix{value.shape, 1};
  return std::nullopt;
}

std::optional<Matrix> MatrixOfWeight(const Uses& uses, const Layer* product, ValueId weight) {
  const ValueId id = Uses::In(product, 0);
  if (!id.valid()) return std::nullopt;
  const Layer* matrix = uses.Operand(product, 0, "reshape");
  if (matrix == nullptr) return FoldedMatrix(uses, id, uses.layers()[weight].shape);
  const Layer* turned = uses.Operand(matrix, 0, "permute");
  const Shape& sizes = uses.layers()[id].shape;
  if (Uses::In(turned != nullptr ? turned : matrix, 0) != weight || sizes.rank() != 2) return std::nullopt;
  return Matrix{sizes, turned != nullptr ? 1 : 0};
}

std::optional<Layer> SpectralNorm(const Uses& uses, const Layer& div, Layers* layers) {
  const ValueId weight = Uses::In(&div, 0);
  const Layer* dot = div.op == "div" && IsParameter(uses, weight) ? uses.Operand(&div, 1, "matmul") : nullptr;
  const Layer* product = uses.Operand(dot, 1, "matmul");
  if (product == nullptr || uses.layers()[dot->outputs[0]].shape.rank() != 0) return std::nullopt;
  const std::optional<Matrix> matrix = MatrixOfWeight(uses, product, weight);
  if (!matrix) return std::nullopt;
  const std::string& name = uses.layers()[weight].name;
  for (const Reparametrization& form : kReparametrizations) {
    const std::optional<std::string_view> found = form.op == kSpectralNorm ? ModuleWith(form, 0, name) : std::nullopt;
    if (!found) continue;
    const std::string module(*found);
    const ValueId u = BufferNamed(layers, module + std::string(form.operands[1]));
    const ValueId v = BufferNamed(layers, module + std::string(form.operands[2]));
    if (!u.valid() || !v.valid()) continue;
    // Training overwrites v before it reads it, so nothing in the file may tell its length.
    Value& vector = layers->values[v.index()];
    vector.shape = Shape{matrix->sizes[1]};
    vector.type = uses.layers()[weight].type;
    Layer call = CallInPlaceOf(div, "spectral_norm", {weight, u, v});
    if (form.bound) call.attributes.Set("bound", int64_t{1});
    if (matrix->dim != 0) call.attributes.Set("dim", matrix->dim);
    return call;
  }
  return std::nullopt;
}

}  // namespace

void GatherReparametrized(Layers* layers) {
  DivideMagnitudes(layers);
  const Uses uses(*layers);
  std::map<size_t, Layer> calls;
  for (const Layer& layer : layers->layers) {
    if (layer.outputs.size() != 1) continue;
    std::optional<Layer> call = SpectralNorm(uses, layer, layers);
    if (!call) call = DecomposedWeightNorms().CallAt(uses, uses.PlaceOf(&layer));
    if (call) calls.emplace(uses.PlaceOf(&layer), std::move(*call));
  }
  PutCalls(layers, std::move(calls));
}

}  // namespace vramplan
