#include "graph/lift/any_export/reparametrized.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "graph/layers/edit.h"
#include "graph/layers/uses.h"

namespace vramplan {
namespace {

bool IsParameter(const Uses& uses, ValueId id) { return id.valid() && uses.layers()[id].role == Role::kParameter; }

Layer CallInPlaceOf(const Layer& layer, std::string op, std::vector<ValueId> inputs, bool bound) {
  Layer call{.op = std::move(op), .name = layer.name, .inputs = std::move(inputs), .outputs = layer.outputs};
  if (bound) call.attributes.Set("bound", int64_t{1});
  call.module = layer.module;
  call.nodes = layer.nodes;
  call.evidence = layer.evidence;
  return call;
}

std::optional<Layer> WeightNorm(const Uses& uses, const Layer& mul) {
  const Layer* ratio = mul.op == "mul" ? uses.Operand(&mul, 1, "div") : nullptr;
  const Layer* norm = uses.Operand(ratio, 1, "norm");
  const ValueId direction = Uses::In(&mul, 0), magnitude = Uses::In(ratio, 0);
  if (norm == nullptr || Uses::In(norm, 0) != direction || !IsParameter(uses, direction) ||
      !IsParameter(uses, magnitude))
    return std::nullopt;
  // Over all axes but the first or the last it is one fused call.
  const int rank = uses.layers()[direction].shape.rank();
  const std::vector<int64_t> dims = norm->attributes.Ints("dim");
  const bool first = std::find(dims.begin(), dims.end(), 0) != dims.end();
  const bool last = std::find(dims.begin(), dims.end(), rank - 1) != dims.end();
  if (rank < 2 || static_cast<int>(dims.size()) != rank - 1 || (first && last)) return std::nullopt;
  return CallInPlaceOf(mul, "weight_norm", {direction, magnitude}, uses.layers()[direction].name.ends_with("weight_v"));
}

struct Names {
  std::string_view weight, u, v;
  bool bound;
};
constexpr Names kSpectral[] = {
    {"weight_orig", "weight_u", "weight_v", true},
    {"parametrizations.weight.original", "parametrizations.weight.0._u", "parametrizations.weight.0._v", false}};

// The buffer of that name. A vector that an export of eval() only multiplies looks like a parameter in its file.
ValueId BufferNamed(Layers* layers, const std::string& name) {
  const auto is_named = [&](ValueId id) { return (*layers)[id].name == name; };
  const auto buffer = std::find_if(layers->buffers.begin(), layers->buffers.end(), is_named);
  if (buffer != layers->buffers.end()) return *buffer;
  const auto parameter = std::find_if(layers->parameters.begin(), layers->parameters.end(), is_named);
  if (parameter == layers->parameters.end()) return {};
  const ValueId id = *parameter;
  layers->parameters.erase(parameter);
  layers->buffers.push_back(id);
  layers->values[id.index()].role = Role::kBuffer;
  return id;
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

std::optional<Matrix> MatrixOf(const Uses& uses, const Layer* product, ValueId weight) {
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
  const std::optional<Matrix> matrix = MatrixOf(uses, product, weight);
  if (!matrix) return std::nullopt;
  const std::string& name = uses.layers()[weight].name;
  for (const Names& names : kSpectral) {
    if (!name.ends_with(names.weight)) continue;
    const std::string module = name.substr(0, name.size() - names.weight.size());
    const ValueId u = BufferNamed(layers, module + std::string(names.u));
    const ValueId v = BufferNamed(layers, module + std::string(names.v));
    if (!u.valid() || !v.valid()) continue;
    // Training overwrites v before it reads it, so nothing in the file may tell its length.
    Value& vector = layers->values[static_cast<size_t>(v.value)];
    vector.shape = Shape{matrix->sizes[1]};
    vector.type = uses.layers()[weight].type;
    Layer call = CallInPlaceOf(div, "spectral_norm", {weight, u, v}, names.bound);
    if (matrix->dim != 0) call.attributes.Set("dim", matrix->dim);
    return call;
  }
  return std::nullopt;
}

// TorchScript: a linear whose weight was made is a product with what it is transposed to, and a sum.
std::optional<Layer> Linear(const Uses& uses, const Layer& add) {
  if (add.op != "add" || add.evidence == Evidence::kProvenance || !IsParameter(uses, Uses::In(&add, 0)))
    return std::nullopt;
  const Layer* product = uses.Operand(&add, 1, "matmul");
  const Layer* transposed = uses.Operand(product, 1, "transpose");
  const Layer* made = uses.Operand(transposed, 0, "weight_norm");
  if (made == nullptr || uses.OnlyReaderOf(made->outputs[0]) == nullptr) return std::nullopt;
  return CallInPlaceOf(add, "linear", {Uses::In(product, 0), made->outputs[0], Uses::In(&add, 0)}, false);
}

}  // namespace

void GatherReparametrized(Layers* layers) {
  const Uses uses(*layers);
  std::map<size_t, Layer> calls;
  for (const Layer& layer : layers->layers) {
    if (layer.outputs.size() != 1) continue;
    std::optional<Layer> call = WeightNorm(uses, layer);
    if (!call) call = SpectralNorm(uses, layer, layers);
    if (!call) call = Linear(uses, layer);
    if (call) calls.emplace(uses.PlaceOf(&layer), std::move(*call));
  }
  PutCalls(layers, std::move(calls));
}

}  // namespace vramplan
