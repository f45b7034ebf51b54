// Pointwise nodes: one node, one operator. A number on one side becomes the attribute `scalar`.
#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "graph/base/text.h"
#include "graph/lift/match/source.h"
#include "graph/lift/simplifiers/fx_names.h"

namespace vramplan {
namespace {

// The framework's name (masks are joined by Python's & | ~, which are the bitwise operators: the same bytes as the
// logical ones); `flipped` when a number stands on the left and the operator does not commute.
struct BinaryName {
  const char* op;
  const char* flipped;
};
const std::unordered_map<std::string, BinaryName>& BinaryNames() {
  static const std::unordered_map<std::string, BinaryName> names = {
      {"Add", {"add", "add"}},
      {"Sub", {"sub", "rsub"}},
      {"Mul", {"mul", "mul"}},
      {"Div", {"div", "rdiv"}},
      {"Pow", {"pow", "rpow"}},
      {"Max", {"maximum", "maximum"}},
      {"Min", {"minimum", "minimum"}},
      {"Mod", {"remainder", "remainder"}},
      {"Equal", {"eq", "eq"}},
      {"Less", {"lt", "gt"}},
      {"LessOrEqual", {"le", "ge"}},
      {"Greater", {"gt", "lt"}},
      {"GreaterOrEqual", {"ge", "le"}},
      {"And", {"bitwise_and", "bitwise_and"}},
      {"Or", {"bitwise_or", "bitwise_or"}},
      {"Xor", {"ne", "ne"}},
      {"BitwiseAnd", {"bitwise_and", "bitwise_and"}},
      {"BitwiseOr", {"bitwise_or", "bitwise_or"}},
      {"BitwiseXor", {"ne", "ne"}},
  };
  return names;
}

bool IsWholeNumber(DType type) { return type == DType::kInt64 || type == DType::kInt32; }

bool MatchBinary(PatternSource& source, NodeId root) {
  const BinaryName& name = BinaryNames().at(source[root].op);
  if (source[root].inputs.size() != 2) return false;
  const TensorId left = source.In(root, 0), right = source.In(root, 1);
  // Integers are divided by floor_divide; `/` would have cast them first.
  const bool whole = source[root].op == "Div" && IsWholeNumber(source.TypeOf(source[root].outputs[0]));
  const char* op = whole ? "floor_divide" : name.op;
  if (const auto scalar = source.Number(right))
    return source.Emit(op, {source.Use(left), Operand{}}, {root}, Named({{"scalar", *scalar}}));
  if (const auto scalar = source.Number(left))
    return source.Emit(name.flipped, {source.Use(right), Operand{}}, {root}, Named({{"scalar", *scalar}}));
  return source.Emit(op, {source.Use(left), source.Use(right)}, {root});
}

// "view_3", "unsqueeze_1": a folded view of a parameter.
bool IsViewName(const std::string& name) {
  const std::string op = FxOperatorOf(name);
  return op == "view" || op == "reshape" || op == "unsqueeze";
}

// x * gamma.reshape(1, -1, 1, 1), timm's LayerScale, whose view the exporter or onnxsim folded: onnx::Mul_193 or _v_12
// of [1, 96, 1, 1].
bool MatchFoldedScale(PatternSource& source, NodeId root) {
  for (size_t side = 0; source.FromPyTorch() && side < 2; ++side) {
    const TensorId scale = source.In(root, side);
    if (!scale.valid() || source.Stored(scale) == nullptr || !source.IsInitializer(scale)) continue;
    const std::string& name = source.NameOf(scale);
    const Shape shape = source.ShapeOf(scale);
    const auto is_one = [](const Dim& d) { return d.Is(1); };
    const bool one_long_axis = std::ranges::count_if(shape, is_one) == shape.rank() - 1;
    const bool is_view = source.FromFx() && IsViewName(name);
    if (!name.starts_with("onnx::Mul_") && !name.starts_with("_v_") && !is_view) continue;
    if (shape.rank() < 2 || !one_long_axis || !IsFloating(source.TypeOf(scale))) continue;
    const Operand view = source.New(Beside(source[root], "scale"), source.TypeOf(scale), shape);
    source.Put(view, "reshape", {source.Parameter(scale, root, "gamma", Shape{shape.Elements()})}, {root});
    const Operand other = source.Input(root, 1 - side);
    return source.Emit("mul", {side == 0 ? view : other, side == 0 ? other : view}, {root});
  }
  return false;
}

// Not(Equal(a, b))  ->  ne(a, b)
bool MatchNotEqual(PatternSource& source, NodeId root) {
  const NodeId equal = source.OnlyMakerOf(source.In(root, 0), "Equal");
  if (!equal.valid()) return false;
  const auto number = source.Number(source.In(equal, 1));
  return source.Emit("ne", {source.Input(equal, 0), number ? Operand{} : source.Input(equal, 1)}, {equal, root},
                     number ? Named({{"scalar", *number}}) : Attributes());
}

// Max(Min(x, high), low) and the like of more than two operands: Sum, Mean, Max, Min with many inputs fold to the left.
bool MatchMany(PatternSource& source, NodeId root) {
  const Node& node = source[root];
  const char* op = node.op == "Max" ? "maximum" : node.op == "Min" ? "minimum" : "add";
  if (node.inputs.size() < 2) return false;
  Operand left = source.Input(root, 0);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const bool last = i + 1 == node.inputs.size();
    const TensorId output = node.outputs[0];
    const Operand to =
        last ? source.Out(root) : source.New(Beside(node, "partial"), source.TypeOf(output), source.ShapeOf(output));
    source.Put(to, op, {left, source.Input(root, i)}, {root});
    left = to;
  }
  return true;
}

// PyTorch calls these as ONNX does, in small letters.
constexpr std::string_view kSameNames =
    "Abs Acos Acosh Asin Asinh Atan Atanh Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid HardSwish IsInf IsNaN "
    "Log Mish Neg Reciprocal Relu Round Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh";

bool MatchSameName(PatternSource& source, NodeId root) { return source.EmitOf(root, LowerCase(source[root].op)); }

// Where(mask, number, x) is masked_fill; otherwise where.
bool MatchWhere(PatternSource& source, NodeId root) {
  const TensorId condition = source.In(root, 0);
  const auto yes = source.Number(source.In(root, 1)), no = source.Number(source.In(root, 2));
  if (yes.has_value() && !no.has_value()) {
    return source.Emit("masked_fill", {source.Input(root, 2), source.Use(condition)}, {root},
                       Named({{"scalar", *yes}}));
  }
  return source.Emit(
      "where", {source.Use(condition), yes ? Operand{} : source.Input(root, 1), no ? Operand{} : source.Input(root, 2)},
      {root});
}

}  // namespace

const PatternRows& PointwiseNodes() {
  static const PatternRows rows = [] {
    PatternRows made = {{"Not", MatchNotEqual}, {"Where", MatchWhere}};
    made.push_back({"Mul", MatchFoldedScale});
    for (const auto& [op, name] : BinaryNames()) made.push_back({op.c_str(), MatchBinary});
    for (const std::string_view op : TextsIn(kSameNames, ' ')) made.push_back({std::string(op), MatchSameName});
    made.push_back(Becomes("Not|BitwiseNot(x)", "bitwise_not(x)"));
    made.push_back({"Max|Min|Sum|Mean", MatchMany});
    return made;
  }();
  return rows;
}

}  // namespace vramplan
