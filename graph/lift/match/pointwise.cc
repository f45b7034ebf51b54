// Pointwise nodes: one node, one operator. A number on one side becomes the attribute `scalar`.
#include <algorithm>
#include <unordered_map>

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
    const std::string& name = source.graph()[scale].name;
    const Shape shape = source.ShapeOf(scale);
    const auto is_one = [](const Dim& d) { return d.Is(1); };
    const bool one_long_axis = std::count_if(shape.begin(), shape.end(), is_one) == shape.rank() - 1;
    const bool is_view = source.FromFx() && IsViewName(name);
    if (name.rfind("onnx::Mul_", 0) != 0 && name.rfind("_v_", 0) != 0 && !is_view) continue;
    if (shape.rank() < 2 || !one_long_axis || !IsFloating(source.TypeOf(scale))) continue;
    const Operand view = source.New(Beside(source[root], "scale"), source.TypeOf(scale), shape);
    source.Put(view, "reshape", {source.Parameter(scale, root, "gamma", Shape{shape.Elements()})}, {root});
    const Operand other = source.Use(source.In(root, 1 - side));
    return source.Emit("mul", {side == 0 ? view : other, side == 0 ? other : view}, {root});
  }
  return false;
}

// Not(Equal(a, b))  ->  ne(a, b)
bool MatchNotEqual(PatternSource& source, NodeId root) {
  const NodeId equal = source.OnlyMakerOf(source.In(root, 0), "Equal");
  if (!equal.valid()) return false;
  const auto number = source.Number(source.In(equal, 1));
  return source.Emit("ne", {source.Use(source.In(equal, 0)), number ? Operand{} : source.Use(source.In(equal, 1))},
                     {equal, root}, number ? Named({{"scalar", *number}}) : Attributes());
}

// Max(Min(x, high), low) and the like of more than two operands: Sum, Mean, Max, Min with many inputs fold to the left.
bool MatchMany(PatternSource& source, NodeId root) {
  const Node& node = source[root];
  const char* op = node.op == "Max" ? "maximum" : node.op == "Min" ? "minimum" : "add";
  if (node.inputs.size() < 2) return false;
  Operand left = source.Use(source.In(root, 0));
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const bool last = i + 1 == node.inputs.size();
    const TensorId output = node.outputs[0];
    const Operand to =
        last ? source.Out(root) : source.New(Beside(node, "partial"), source.TypeOf(output), source.ShapeOf(output));
    source.Put(to, op, {left, source.Use(source.In(root, i))}, {root});
    left = to;
  }
  return true;
}

constexpr std::pair<const char*, const char*> kUnary[] = {{"Neg", "neg"},
                                                          {"Abs", "abs"},
                                                          {"Exp", "exp"},
                                                          {"Log", "log"},
                                                          {"Sqrt", "sqrt"},
                                                          {"Sin", "sin"},
                                                          {"Cos", "cos"},
                                                          {"Erf", "erf"},
                                                          {"Floor", "floor"},
                                                          {"Ceil", "ceil"},
                                                          {"Round", "round"},
                                                          {"Sign", "sign"},
                                                          {"IsNaN", "isnan"},
                                                          {"IsInf", "isinf"},
                                                          {"Tan", "tan"},
                                                          {"Asin", "asin"},
                                                          {"Acos", "acos"},
                                                          {"Atan", "atan"},
                                                          {"Sinh", "sinh"},
                                                          {"Cosh", "cosh"},
                                                          {"Asinh", "asinh"},
                                                          {"Acosh", "acosh"},
                                                          {"Atanh", "atanh"},
                                                          {"Not", "bitwise_not"},
                                                          {"Reciprocal", "reciprocal"},
                                                          {"BitwiseNot", "bitwise_not"}};

// Where(mask, number, x) is masked_fill; otherwise where.
bool MatchWhere(PatternSource& source, NodeId root) {
  const TensorId condition = source.In(root, 0);
  const auto yes = source.Number(source.In(root, 1)), no = source.Number(source.In(root, 2));
  if (yes.has_value() && !no.has_value()) {
    return source.Emit("masked_fill", {source.Use(source.In(root, 2)), source.Use(condition)}, {root},
                       Named({{"scalar", *yes}}));
  }
  return source.Emit("where",
                     {source.Use(condition), yes ? Operand{} : source.Use(source.In(root, 1)),
                      no ? Operand{} : source.Use(source.In(root, 2))},
                     {root});
}

}  // namespace

const PatternRows& PointwiseNodes() {
  static const PatternRows rows = [] {
    PatternRows made = {{"Not", MatchNotEqual}, {"Where", MatchWhere}};
    made.push_back({"Mul", MatchFoldedScale});
    for (const auto& [op, name] : BinaryNames()) made.push_back({op.c_str(), MatchBinary});
    for (const auto& [op, name] : kUnary) made.push_back(Becomes(std::string(op) + "(x)", std::string(name) + "(x)"));
    for (const char* op : {"Max", "Min", "Sum", "Mean"}) made.push_back({op, MatchMany});
    return made;
  }();
  return rows;
}

}  // namespace vramplan
