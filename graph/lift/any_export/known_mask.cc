#include "graph/lift/any_export/known_mask.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/text.h"

namespace vramplan {
namespace {

using Index = std::array<int64_t, Shape::kMaxRank>;

int64_t Length(const Dim& dim) { return dim.At(1); }

std::optional<double> Combine(std::string_view op, double a, double b) {
  if (op == "le") return a <= b;
  if (op == "lt") return a < b;
  if (op == "ge") return a >= b;
  if (op == "gt") return a > b;
  if (op == "eq") return a == b;
  if (op == "ne") return a != b;
  if (IsOneOf(op, {"bitwise_and", "logical_and"})) return a != 0 && b != 0;
  if (IsOneOf(op, {"bitwise_or", "logical_or"})) return a != 0 || b != 0;
  if (op == "add") return a + b;
  if (op == "sub") return a - b;
  if (op == "rsub") return b - a;
  if (op == "mul") return a * b;
  return std::nullopt;
}

// One element of a value, computed from its makers.
class MaskElements {
 public:
  explicit MaskElements(const Uses& uses) : layers_(uses.layers()), uses_(uses) {}

  std::optional<double> At(ValueId id, const Index& index, int depth = 0) const {
    constexpr int kDeepest = 64;
    if (depth > kDeepest || !id.valid() || !layers_[id].shape.known()) return std::nullopt;
    if (uses_.MakerOf(id) == nullptr) return Folded(layers_[id], index);
    const Layer& layer = *uses_.MakerOf(id);
    const std::string_view op = layer.op;
    if (op == "arange") return static_cast<double>(index[0]);  // positions: from 0 in steps of 1
    if (op == "ones") return 1.0;
    if (op == "zeros") return 0.0;
    if (layer.inputs.empty()) return std::nullopt;
    if (IsOneOf(op, {"unsqueeze", "squeeze", "reshape", "view", "contiguous", "clone", "to", "detach"})) {
      return At(layer.inputs[0], Unfold(layers_[layer.inputs[0]].shape, Fold(layers_[id].shape, index)), depth + 1);
    }
    if (op == "slice") {  // x[:, None, :, None] is one, too: of everything
      const int64_t dim = layer.attributes.Int("dim", 0), start = layer.attributes.Int("start", 0);
      constexpr int64_t kLongest = int64_t{1} << 31;
      if (dim < 0 || dim >= Shape::kMaxRank || start < 0 || start > kLongest || layer.attributes.Int("step", 1) != 1)
        return std::nullopt;
      Index from = index;
      from[static_cast<size_t>(dim)] += start;
      return At(layer.inputs[0], from, depth + 1);
    }
    if (op == "expand") return Operand(layer, 0, layers_[id].shape, index, depth);
    if (IsOneOf(op, {"bitwise_not", "logical_not"})) {
      const auto a = Operand(layer, 0, layers_[id].shape, index, depth);
      return a ? std::optional<double>(*a == 0) : std::nullopt;
    }
    const auto a = Operand(layer, 0, layers_[id].shape, index, depth);
    const auto b = Operand(layer, 1, layers_[id].shape, index, depth);
    return a && b ? Combine(op, *a, *b) : std::nullopt;
  }

 private:
  // A comparison of positions that the exporter folded, its numbers perhaps not in the file: its name is left.
  static std::optional<double> Folded(const Value& value, const Index& index) {
    if (value.role != Role::kConstant || value.type != DType::kBool || value.shape.rank() < 2) return std::nullopt;
    const std::string op = value.name.substr(0, value.name.find('_'));
    if (op == "ge") return 1.0;  // position >= 0: transformers' bidirectional_mask_function
    const auto rank = static_cast<size_t>(value.shape.rank());
    if (op == "le") return index[rank - 1] <= index[rank - 2];  // key <= query: causal_mask_function
    return std::nullopt;
  }

  // An operand under broadcasting, or the Python number in its place.
  std::optional<double> Operand(const Layer& layer, size_t i, const Shape& out, const Index& index, int depth) const {
    if (i >= layer.inputs.size() || !layer.inputs[i].valid()) {
      if (!layer.attributes.Has("scalar")) return std::nullopt;
      return layer.attributes.Real("scalar", 0);
    }
    const Shape& shape = layers_[layer.inputs[i]].shape;
    if (!shape.known() || shape.rank() > out.rank()) return std::nullopt;
    Index own{};
    for (int axis = 0; axis < shape.rank(); ++axis) {
      own[static_cast<size_t>(axis)] =
          shape[axis].Is(1) ? 0 : index[static_cast<size_t>(axis + out.rank() - shape.rank())];
    }
    return At(layer.inputs[i], own, depth + 1);
  }

  static int64_t Fold(const Shape& shape, const Index& index) {
    int64_t flat = 0;
    for (int axis = 0; axis < shape.rank(); ++axis)
      flat = flat * Length(shape[axis]) + index[static_cast<size_t>(axis)];
    return flat;
  }
  static Index Unfold(const Shape& shape, int64_t flat) {
    Index index{};
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      const int64_t length = std::max<int64_t>(Length(shape[axis]), 1);
      index[static_cast<size_t>(axis)] = flat % length;
      flat /= length;
    }
    return index;
  }

  const Layers& layers_;
  const Uses& uses_;
};

}  // namespace

KnownMask ReadMask(const Uses& uses, ValueId mask) {
  const Value& value = uses.layers()[mask];
  const int rank = value.shape.rank();
  if (value.type != DType::kBool || rank < 2 || !value.shape.known()) return KnownMask::kUnknown;
  const int64_t queries = Length(value.shape[rank - 2]), keys = Length(value.shape[rank - 1]);
  const MaskElements elements(uses);
  bool all_true = true, causal = queries == keys;
  for (const int64_t query : {int64_t{0}, int64_t{1}, queries / 2, queries - 1}) {
    for (int64_t key = 0; key < keys && query >= 0 && query < queries; ++key) {
      Index index{};
      index[static_cast<size_t>(rank - 2)] = query;
      index[static_cast<size_t>(rank - 1)] = key;
      const auto element = elements.At(mask, index);
      if (!element) return KnownMask::kUnknown;
      all_true = all_true && *element != 0;
      causal = causal && (*element != 0) == (key <= query);
    }
  }
  return all_true ? KnownMask::kAllTrue : causal ? KnownMask::kCausal : KnownMask::kOther;
}

}  // namespace vramplan
