// Operators that work element by element: unary, binary with numpy broadcasting, variadic, Where, Clip, Cast.
#include <algorithm>
#include <cmath>

#include "graph/shapes/folding.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

double Truth(bool value) { return value ? 1 : 0; }
Dim Negation(Dim d) { return d.known() ? Dim(1) - d : d; }
Dim And(Dim a, Dim b) { return a.Is(0) || b.Is(0) ? Dim(0) : a.Is(1) && b.Is(1) ? Dim(1) : Dim::Unknown(); }

// One struct an operator: on lengths, on whole-numbered reals (where a division must be exact), on reals.
struct Plus {
  static Dim Of(Dim a, Dim b) { return a + b; }
  static Dim OfWholeReals(Dim a, Dim b) { return a + b; }
  static double Of(double a, double b) { return a + b; }
};
struct Minus {
  static Dim Of(Dim a, Dim b) { return a - b; }
  static Dim OfWholeReals(Dim a, Dim b) { return a - b; }
  static double Of(double a, double b) { return a - b; }
};
struct Times {
  static Dim Of(Dim a, Dim b) { return a.Is(0) || b.Is(0) ? Dim(0) : a * b; }
  static Dim OfWholeReals(Dim a, Dim b) { return Of(a, b); }
  static double Of(double a, double b) { return a * b; }
};
struct Divides {
  static Dim Of(Dim a, Dim b) { return TruncatingDivide(a, b); }
  static Dim OfWholeReals(Dim a, Dim b) { return Quotient(a, b).value_or(Dim::Unknown()); }
  static double Of(double a, double b) { return a / b; }
};
struct Mod {
  static Dim Of(Dim a, Dim b) { return Modulo(a, b); }
  static Dim OfWholeReals(Dim, Dim) { return Dim::Unknown(); }
  static double Of(double a, double b) { return std::fmod(a, b); }
};
struct Power {
  static Dim Of(Dim a, Dim b) {
    if (!b.IsConstant() || b.c0() < 0 || b.c0() > 62) return Dim::Unknown();
    Dim power(1);
    for (int64_t i = 0; i < b.c0(); ++i) power = power * a;
    return power;
  }
  static Dim OfWholeReals(Dim a, Dim b) { return Of(a, b); }
  static double Of(double a, double b) { return std::pow(a, b); }
};
struct Smaller {
  static Dim Of(Dim a, Dim b) { return Minimum(a, b); }
  static Dim OfWholeReals(Dim a, Dim b) { return Minimum(a, b); }
  static double Of(double a, double b) { return std::min(a, b); }
};
struct Larger {
  static Dim Of(Dim a, Dim b) { return Maximum(a, b); }
  static Dim OfWholeReals(Dim a, Dim b) { return Maximum(a, b); }
  static double Of(double a, double b) { return std::max(a, b); }
};
struct EqualTo {
  static Dim Of(Dim a, Dim b) { return Equals(a, b); }
  static Dim OfWholeReals(Dim a, Dim b) { return Equals(a, b); }
  static double Of(double a, double b) { return Truth(a == b); }
};
struct LessThan {
  static Dim Of(Dim a, Dim b) { return Less(a, b); }
  static Dim OfWholeReals(Dim a, Dim b) { return Less(a, b); }
  static double Of(double a, double b) { return Truth(a < b); }
};
struct AtMost {
  static Dim Of(Dim a, Dim b) { return Negation(Less(b, a)); }
  static Dim OfWholeReals(Dim a, Dim b) { return Of(a, b); }
  static double Of(double a, double b) { return Truth(a <= b); }
};
struct MoreThan {
  static Dim Of(Dim a, Dim b) { return Less(b, a); }
  static Dim OfWholeReals(Dim a, Dim b) { return Of(a, b); }
  static double Of(double a, double b) { return Truth(a > b); }
};
struct AtLeast {
  static Dim Of(Dim a, Dim b) { return Negation(Less(a, b)); }
  static Dim OfWholeReals(Dim a, Dim b) { return Of(a, b); }
  static double Of(double a, double b) { return Truth(a >= b); }
};
struct Both {
  static Dim Of(Dim a, Dim b) { return And(a, b); }
  static Dim OfWholeReals(Dim a, Dim b) { return And(a, b); }
  static double Of(double a, double b) { return Truth(a != 0 && b != 0); }
};
struct Either {
  static Dim Of(Dim a, Dim b) { return Negation(And(Negation(a), Negation(b))); }
  static Dim OfWholeReals(Dim a, Dim b) { return Of(a, b); }
  static double Of(double a, double b) { return Truth(a != 0 || b != 0); }
};
struct OnlyOne {
  static Dim Of(Dim a, Dim b) { return Negation(Equals(a, b)); }
  static Dim OfWholeReals(Dim a, Dim b) { return Of(a, b); }
  static double Of(double a, double b) { return Truth((a != 0) != (b != 0)); }
};

// Before opset 7 the second operand was fitted to the first ("broadcast=1, axis=k"); from then on numpy's rule holds.
void BroadcastTwo(NodeInference& n) {
  n.Out(0).shape = n.opset() != 0 && n.opset() < 7 ? n.ShapeOf(0) : n.BroadcastInputs(2);
}

template <typename Op>
void Binary(NodeInference& n) {
  BroadcastTwo(n);
  FoldBinary<Op>(n);
}

// Comparisons write 0 and 1 whatever the type of their inputs.
template <typename Op>
void Comparison(NodeInference& n) {
  BroadcastTwo(n);
  FoldBinary<Op>(n);
  if (n.Out(0).reals) {
    std::vector<Dim> truths;
    for (double r : *n.Out(0).reals) truths.push_back(r != 0 ? 1 : 0);
    n.Out(0).reals.reset();
    n.SetIntegers(0, std::move(truths));
  }
}

template <typename Op>
void Variadic(NodeInference& n) {
  n.Out(0).shape = n.BroadcastInputs(n.inputs());
  if (n.inputs() == 2) return FoldBinary<Op>(n);
  if (n.inputs() == 1) {
    n.Out(0).integers = n.In(0).integers;
    n.Out(0).reals = n.In(0).reals;
  }
}

void VariadicShape(NodeInference& n) { n.Out(0).shape = n.BroadcastInputs(n.inputs()); }

using OnReal = double (*)(double);

// A unary operator on reals; lengths pass when `whole` says what becomes of them.
template <OnReal real, Dim (*whole)(Dim) = nullptr>
void Unary(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  if (whole != nullptr && n.In(0).integers) {
    std::vector<Dim> out = *n.In(0).integers;
    for (Dim& d : out) d = whole(d);
    return n.SetIntegers(0, std::move(out));
  }
  if (!n.In(0).reals && !n.In(0).integers) return;
  auto values = n.Reals(0);
  if (!values || !IsFloating(n.In(0).type)) return;
  for (double& v : *values) v = real(v);
  n.Out(0).reals = std::move(values);
}

double Positive(double v) { return v > 0 ? v : 0; }
double Negated(double v) { return -v; }
double Inverted(double v) { return 1 / v; }
double Inverse(double v) { return Truth(v == 0); }
double Signum(double v) { return v > 0 ? 1 : v < 0 ? -1 : 0; }
Dim SameLength(Dim d) { return d; }
Dim NegatedLength(Dim d) { return Dim(0) - d; }
Dim AbsoluteLength(Dim d) { return AlwaysAtLeast(d, 0) ? d : AlwaysAtLeast(0, d) ? Dim(0) - d : Dim::Unknown(); }
Dim SignOf(Dim d) {
  return AlwaysAtLeast(d, 1) ? Dim(1) : AlwaysAtLeast(-1, d) ? Dim(-1) : d.Is(0) ? Dim(0) : Dim::Unknown();
}
Dim PositivePart(Dim d) { return Maximum(d, 0); }

void Identity(NodeInference& n) {
  n.Out(0) = n.In(0);
  if (const auto* elements = n.ElementsOf(0)) n.SetElements(0, *elements);
}

void CastTo(NodeInference& n, DType to) {
  const TensorFacts& in = n.In(0);
  TensorFacts& out = n.Out(0);
  out.type = to;
  out.shape = in.shape;
  if (in.integers) {
    out.integers = in.integers;
    if (to == DType::kBool) {
      for (Dim& d : *out.integers) d = d.Is(0) ? Dim(0) : Negation(Equals(d, 0));
    }
  } else if (in.reals && IsFloating(to)) {
    out.reals = in.reals;
  } else if (in.reals) {
    std::vector<Dim> whole;
    for (double v : *in.reals) {
      const bool fits = std::fabs(v) < 9e18;
      whole.push_back(to == DType::kBool ? Dim(v != 0) : fits ? Dim(static_cast<int64_t>(v)) : Dim::Unknown());
    }
    n.SetIntegers(0, std::move(whole));
  }
}

void Cast(NodeInference& n) {
  const auto to = DTypeFromOnnx(static_cast<int32_t>(n.Int("to", 0)));
  if (!to) return n.Fail("its attribute \"to\" names no type: " + std::to_string(n.Int("to", 0)));
  CastTo(n, *to);
}

void CastLike(NodeInference& n) { CastTo(n, n.In(1).type); }

void BitCast(NodeInference& n) {
  const auto to = DTypeFromOnnx(static_cast<int32_t>(n.Int("to", 0)));
  if (to) n.Out(0).type = *to;
  n.Out(0).shape = n.ShapeOf(0);
}

void Where(NodeInference& n) {
  n.Out(0).shape = n.BroadcastInputs(3);
  if (!n.Out(0).shape || !n.Integers(0) || n.In(1).is_tensor == false) return;
  const auto dims = FoldableDims(*n.Out(0).shape);
  if (!dims) return;
  const auto condition = WholeValues(n, 0, *dims), yes = WholeValues(n, 1, *dims), no = WholeValues(n, 2, *dims);
  if (!condition || !yes || !no) return;
  std::vector<Dim> out;
  for (size_t i = 0; i < condition->size(); ++i) {
    const Dim choice = (*condition)[i];
    out.push_back(choice.Is(1) || (*yes)[i] == (*no)[i] ? (*yes)[i] : choice.Is(0) ? (*no)[i] : Dim::Unknown());
  }
  n.SetIntegers(0, std::move(out));
}

void Clip(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  if (!n.Out(0).shape) return;
  const auto dims = FoldableDims(*n.Out(0).shape);
  auto out = dims ? WholeValues(n, 0, *dims) : std::nullopt;
  if (!out) return;
  for (int bound : {1, 2}) {
    if (!n.Has(bound)) continue;
    const Dim limit = ScalarOf(n, bound);
    if (!limit.known()) return;
    for (Dim& d : *out) d = bound == 1 ? Maximum(d, limit) : Minimum(d, limit);
  }
  if (IsFloating(n.In(0).type) && !std::all_of(out->begin(), out->end(), [](const Dim& d) { return d.known(); }))
    return;
  n.SetIntegers(0, std::move(*out));
}

// Slope is broadcast to the input one way (onnx PRelu-9).
void PRelu(NodeInference& n) { n.Out(0).shape = n.ShapeOf(0); }

// Output and mask alike (onnx Dropout-12; before opset 7 the mask had the input's type).
void Dropout(NodeInference& n) {
  SameShape(n);
  if (n.outputs() > 1) n.Out(1).type = n.opset() != 0 && n.opset() < 10 ? n.In(0).type : DType::kBool;
}

constexpr RuleRow kElementwiseRows[] = {
    {"Add", Binary<Plus>},
    {"Sub", Binary<Minus>},
    {"Mul", Binary<Times>},
    {"Div", Binary<Divides>},
    {"Mod", Binary<Mod>},
    {"Pow", Binary<Power>},
    {"Equal", Comparison<EqualTo>, Type::kBool},
    {"Less", Comparison<LessThan>, Type::kBool},
    {"LessOrEqual", Comparison<AtMost>, Type::kBool},
    {"Greater", Comparison<MoreThan>, Type::kBool},
    {"GreaterOrEqual", Comparison<AtLeast>, Type::kBool},
    {"And", Comparison<Both>, Type::kBool},
    {"Or", Comparison<Either>, Type::kBool},
    {"Xor", Comparison<OnlyOne>, Type::kBool},
    {"BitShift", BroadcastTwo},
    {"BitwiseAnd", BroadcastTwo},
    {"BitwiseOr", BroadcastTwo},
    {"BitwiseXor", BroadcastTwo},
    {"Max", Variadic<Larger>},
    {"Min", Variadic<Smaller>},
    {"Sum", Variadic<Plus>},
    {"Mean", VariadicShape},
    {"Where", Where, Type::kSecondInput},
    {"Clip", Clip},
    {"Cast", Cast, Type::kRule},
    {"CastLike", CastLike, Type::kRule},
    {"BitCast", BitCast},
    {"Identity", Identity},
    {"Dropout", Dropout},
    {"PRelu", PRelu},
    {"Abs", Unary<std::fabs, AbsoluteLength>},
    {"Neg", Unary<Negated, NegatedLength>},
    {"Sign", Unary<Signum, SignOf>},
    {"Floor", Unary<std::floor, SameLength>},
    {"Ceil", Unary<std::ceil, SameLength>},
    {"Round", Unary<std::nearbyint, SameLength>},
    {"Relu", Unary<Positive, PositivePart>},
    {"Not", Unary<Inverse, Negation>, Type::kBool},
    {"Sqrt", Unary<std::sqrt>},
    {"Reciprocal", Unary<Inverted>},
    {"Exp", Unary<std::exp>},
    {"Log", Unary<std::log>},
    {"Acos", SameShape},
    {"Acosh", SameShape},
    {"Asin", SameShape},
    {"Asinh", SameShape},
    {"Atan", SameShape},
    {"Atanh", SameShape},
    {"BitwiseNot", SameShape},
    {"Celu", SameShape},
    {"Cos", SameShape},
    {"Cosh", SameShape},
    {"Elu", SameShape},
    {"Erf", SameShape},
    {"Gelu", SameShape},
    {"HardSigmoid", SameShape},
    {"HardSwish", SameShape},
    {"Hardmax", SameShape},
    {"IsInf", SameShape, Type::kBool},
    {"IsNaN", SameShape, Type::kBool},
    {"LeakyRelu", SameShape},
    {"LogSoftmax", SameShape},
    {"Mish", SameShape},
    {"Selu", SameShape},
    {"Shrink", SameShape},
    {"Sigmoid", SameShape},
    {"Sin", SameShape},
    {"Sinh", SameShape},
    {"Softmax", SameShape},
    {"Softplus", SameShape},
    {"Softsign", SameShape},
    {"SwiGLU", SameShape},
    {"Swish", SameShape},
    {"Tan", SameShape},
    {"Tanh", SameShape},
    {"ThresholdedRelu", SameShape},
};

}  // namespace

constinit const std::span<const RuleRow> kElementwiseRules(kElementwiseRows);

}  // namespace vramplan
