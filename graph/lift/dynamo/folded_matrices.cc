#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/base/ablation.h"
#include "graph/lift/dynamo/folded.h"
#include "graph/lift/dynamo/without_node.h"

namespace vramplan {
namespace {

bool IsView(std::string_view op) {
  static const std::unordered_set<std::string_view> kViews = {"view", "reshape", "unsqueeze", "transpose", "permute"};
  return kViews.contains(op);
}
bool IsMatrixProduct(std::string_view op) { return op == "mm" || op == "matmul"; }
bool IsUnary(std::string_view op) {
  static const std::unordered_set<std::string_view> kUnary = {"softmax", "relu", "sigmoid", "tanh", "exp"};
  return kUnary.contains(op);
}
bool TakesNumber(std::string_view op) {
  static const std::unordered_set<std::string_view> kWithNumber = {"add", "sub", "mul", "div"};
  return kWithNumber.contains(op);
}

// A constant and the frames that its layers are in.
struct MatrixPlace : FxSite {
  Value whole;
  const std::string& name;
  std::string op;  // the last one of those that made it
  NodeId position;
  ModulePath path;

  ValueId Add(const std::string& made_by, const std::string& called, const Shape& shape, std::vector<ValueId> inputs,
              Attributes attributes) const {
    return builder.Make({.name = called, .type = whole.type, .shape = shape}, made_by, std::move(inputs), path,
                        position, std::move(attributes));
  }
};

// Its long axes, if there are two: [12, 12, 1, 1] is a matrix of 12 by 12.
Shape MatrixOf(const Shape& shape) {
  Shape matrix;
  for (const Dim& length : shape) {
    if (!length.IsConstant()) return {};
    if (!length.Is(1)) matrix.Append(length);
  }
  return matrix.rank() == 2 ? matrix : Shape{};
}

std::vector<ValueId> ParametersOf(const MatrixPlace& place, const std::string& module) {
  std::vector<ValueId> result;
  for (const ValueId own : place.signature.UnreferencedOf(module)) {
    if (place.builder.At(own).role == Role::kParameter) result.push_back(own);
  }
  return result;
}

// Whether the constant is the weight of a convolution or a linear.
bool IsWeightOf(const FxNode& reader, const std::string& name) {
  const bool weighs = reader.target.starts_with("aten.conv") || reader.target.starts_with("aten.linear");
  return weighs && reader.arguments.size() > 1 && reader.arguments[1].kind == FxLiteral::Kind::kRef &&
         reader.arguments[1].text == name;
}

// mm(mm(a, b), c), and what the name says behind it. A view of a product is a weight: of several parameters that are
// only seen under other axes each is a constant of its own. A module with a `weight` has computed that weight itself
// anew: timm's ScaledStdConv2d gives a batch norm's result times its gain (timm/layers/std_conv.py, timm 1.0).
ValueId Product(const MatrixPlace& place, const std::vector<ValueId>& parameters) {
  const Shape matrix = MatrixOf(place.whole.shape);
  const bool last_known =
      IsUnary(place.op) || IsMatrixProduct(place.op) || (IsView(place.op) && IsWeightOf(place.user.fx, place.name));
  if (matrix.rank() != 2 || !last_known || parameters.size() < 2) return {};
  const auto is_weight = [&](ValueId id) { return SplitTarget(place.builder.At(id).name).second == "weight"; };
  if (std::ranges::any_of(parameters, is_weight)) return {};
  const Shape square{matrix[1], matrix[1]};
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Shape& wanted = i == 0 ? matrix : square;
    if (place.signature.ShapeIsKnown(parameters[i]) && !(place.builder.At(parameters[i]).shape == wanted)) return {};
  }
  for (size_t i = 0; i < parameters.size(); ++i)
    place.signature.Take(parameters[i], place.whole.type, i == 0 ? matrix : square);
  ValueId product = parameters[0];
  for (size_t i = 1; i < parameters.size(); ++i) {
    const bool is_last = i + 1 == parameters.size() && IsMatrixProduct(place.op);
    const std::string called = is_last ? place.name : place.name + ".mm" + (i > 1 ? "_" + std::to_string(i - 1) : "");
    product = place.Add("mm", called, matrix, {product, parameters[i]}, {});
  }
  if (IsMatrixProduct(place.op)) return product;
  return place.Add(IsView(place.op) ? "reshape" : place.op, place.name, place.whole.shape, {product},
                   place.op == "softmax" ? Named({{"dim", int64_t{-1}}}) : Attributes());
}

// importance * adjacency, softmax(table), latents.unsqueeze(0).repeat(B, 1, 1) (lucidrains/perceiver-pytorch 0.8): the
// first that may be as large. Arithmetic that meets nothing but numbers is on numbers of the program, angles of
// positions for instance; so are other views, of masks and coordinates.
ValueId Single(const MatrixPlace& place, const std::vector<ValueId>& parameters) {
  int operands = 0;
  for (const FxLiteral& argument : place.user.fx.arguments)
    VisitRefs(argument, [&](const std::string&) { ++operands; });
  const bool computes = (TakesNumber(place.op) || IsUnary(place.op)) && operands > 1;
  const bool unsqueezes =
      place.op == "unsqueeze" && place.whole.shape[0].Is(1) && place.user.fx.target.starts_with("aten.repeat");
  if (!computes && !unsqueezes) return {};
  Shape own = place.whole.shape;
  if (unsqueezes) own.Remove(0);
  const auto found = std::ranges::find_if(parameters, [&](ValueId parameter) {
    return !place.signature.ShapeIsKnown(parameter) || place.builder.At(parameter).shape == own;
  });
  if (found == parameters.end()) return {};
  place.signature.Take(*found, place.whole.type, own);
  Attributes attributes;
  if (TakesNumber(place.op)) attributes.Set("scalar", 1.0);
  if (place.op == "softmax") attributes.Set("dim", int64_t{-1});
  return place.Add(unsqueezes ? "reshape" : place.op, place.name, place.whole.shape, {*found}, std::move(attributes));
}

// A table: two axes or more that are longer than one.
bool IsTable(const Value& value) {
  const bool constant = std::ranges::all_of(value.shape, [](const Dim& length) { return length.IsConstant(); });
  const auto longer = std::ranges::count_if(value.shape, [](const Dim& length) { return !length.Is(1); });
  return IsFloating(value.type) && constant && longer >= 2;
}

bool IsInsideModule(const ModulePath& path, const ModulePath& call) {
  return path.size() >= call.size() && std::equal(call.begin(), call.end(), path.begin());
}

// In front of the call that the group is in; with an empty `call`, of the group itself.
NodeId Before(const FxGroups& groups, int32_t group, const ModulePath& call) {
  NodeId first = groups.groups[static_cast<size_t>(group)].nodes.front();
  for (int32_t i = group - 1; i >= 0 && !call.empty(); --i) {
    const FxGroup& earlier = groups.groups[static_cast<size_t>(i)];
    if (!IsInsideModule(earlier.path, call)) break;
    first = std::min(first, earlier.nodes.front());
  }
  return NodeId{std::max(first.value - 1, 0)};
}

}  // namespace

ValueId LiftFoldedProduct(TensorId constant, const std::string& name, const FxSite& at) {
  if (!Runs("read", "folded_matrices LiftFoldedProduct")) return {};
  const Value whole = at.builder.At(at.builder.ValueOf(constant));
  if (at.user.path.empty() || !IsTable(whole)) return {};
  const MatrixPlace place{at, whole, name, OperatorOf(name), at.user.last(), at.user.path};
  return Product(place, ParametersOf(place, at.user.path.back().path));
}

ValueId LiftFoldedOutside(TensorId constant, const std::string& name, const FxGroups& groups, int32_t user,
                          const FxSite& at, std::unordered_map<std::string, ValueId>* names) {
  const Value whole = at.builder.At(at.builder.ValueOf(constant));
  if (!IsTable(whole)) return {};
  for (ModulePath path = at.user.path;;) {
    const ModulePath call = path;
    if (!path.empty()) path.pop_back();
    const MatrixPlace place{at, whole, name, OperatorOf(name), Before(groups, user, call), path};
    const std::vector<ValueId> parameters = ParametersOf(place, path.empty() ? std::string() : path.back().path);
    if (!parameters.empty()) {
      ValueId made = Product(place, parameters);
      if (!made.valid()) made = Single(place, parameters);
      if (made.valid()) (*names)[name] = made;
      return made;
    }
    if (path.empty()) return {};
  }
}

}  // namespace vramplan
