// Unary operators: one new tensor; derivatives.yaml says what each keeps and which temporaries its formula makes.
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

// The formula of the gradient, as derivatives.yaml (PyTorch 2.10) has it: it says what is kept, `self` or `result`, and how
// many tensors are made on the way. C++ holds those until the whole expression is done.
struct UnaryRow {
  std::string_view op;
  const char* node;
  std::string_view gradient;
  Cast cast = Cast::kNone;
  bool keeps_integers = false;  // integers stay integers (UnaryOps.cpp)

  constexpr bool Keeps(std::string_view name) const { return gradient.find(name) != std::string_view::npos; }
};

constexpr UnaryRow kUnaryRows[] = {
    {"neg", "NegBackward0", "grad.neg()", Cast::kNone, true},
    {"deg2rad", "Deg2RadBackward0", "grad.deg2rad()"},
    {"rad2deg", "Rad2DegBackward0", "grad.rad2deg()"},
    {"abs", "AbsBackward0", "grad * self.sgn()", Cast::kNone, true},
    {"exp", "ExpBackward0", "grad * result", Cast::kFloat32},
    {"exp2", "Exp2Backward0", "grad * result * log2"},
    {"expm1", "Expm1Backward0", "grad * (result + 1)", Cast::kFloat32},
    {"log", "LogBackward0", "grad / self", Cast::kFloat32},
    {"log2", "Log2Backward0", "grad / (self * log2)", Cast::kFloat32},
    {"log10", "Log10Backward0", "grad / (self * log10)", Cast::kFloat32},
    {"log1p", "Log1PBackward0", "grad / (self + 1)", Cast::kFloat32},
    {"logit", "LogitBackward0", "logit_backward(grad, self)"},
    {"sqrt", "SqrtBackward0", "grad / (2 * result)"},
    {"rsqrt", "RsqrtBackward0", "-0.5 * grad * result.pow(3)", Cast::kFloat32},
    {"reciprocal", "ReciprocalBackward0", "grad.neg() * (result * result)", Cast::kFloat32},
    {"sin", "SinBackward0", "grad * self.cos()"},
    {"cos", "CosBackward0", "grad * self.sin().neg()"},
    {"tan", "TanBackward0", "grad * (1 + result.pow(2))", Cast::kFloat32},
    {"asin", "AsinBackward0", "grad * (self.neg() * self + 1).rsqrt()", Cast::kFloat32},
    {"acos", "AcosBackward0", "grad * (self.neg() * self + 1).rsqrt().neg()", Cast::kFloat32},
    {"atan", "AtanBackward0", "grad / (self * self + 1)"},
    {"sinh", "SinhBackward0", "grad * self.cosh()", Cast::kFloat32},
    {"cosh", "CoshBackward0", "grad * self.sinh()", Cast::kFloat32},
    {"asinh", "AsinhBackward0", "grad * (self.pow(2) + 1).rsqrt()"},
    {"acosh", "AcoshBackward0", "grad * (self.pow(2) - 1).rsqrt()"},
    {"atanh", "AtanhBackward0", "grad * 1 / (1 - self.pow(2))"},
    {"erf", "ErfBackward0", "c * self.pow(2).neg().exp() * grad"},
    {"erfc", "ErfcBackward0", "c * self.pow(2).neg().exp() * grad"},
    {"erfinv", "ErfinvBackward0", "c * self.erfinv().pow(2).exp() * grad", Cast::kFloat32},
    {"lgamma", "LgammaBackward0", "grad * self.digamma()"},
    {"digamma", "DigammaBackward0", "grad * polygamma(1, self)"},
    {"floor", "FloorBackward0", "zeros_like(grad)", Cast::kNone, true},
    {"ceil", "CeilBackward0", "zeros_like(grad)", Cast::kNone, true},
    {"round", "RoundBackward0", "zeros_like(grad)", Cast::kNone, true},
    {"trunc", "TruncBackward0", "zeros_like(grad)", Cast::kNone, true},
    {"sign", "SignBackward0", "zeros_like(grad)", Cast::kNone, true},
};

// Tensors that a formula makes before its result: one for each operator and each call, but the last.
constexpr int TemporariesOf(std::string_view formula) {
  int made = 0;
  for (size_t i = 0; i < formula.size(); ++i) {
    const bool between = i > 0 && formula[i - 1] == ' ' && i + 1 < formula.size() && formula[i + 1] == ' ';
    const bool calls = formula[i] == '(' && i > 0 && formula[i - 1] != ' ' && formula[i - 1] != '(';
    if (calls || (between && std::string_view("+-*/").find(formula[i]) != std::string_view::npos)) ++made;
  }
  return made - 1;
}
static_assert(TemporariesOf("grad * (self.neg() * self + 1).rsqrt()") == 4);

// In place, an operator that keeps its input keeps a clone of it, made before (gen_variable_type.py).
Tensor Unary(Eager& e, const Tensor& x, const UnaryRow& row, bool inplace = false) {
  const bool clones = inplace && row.Keeps("self") && e.grad_mode && x->tracked();
  const Tensor before = clones ? e.EmptyLike(x) : x;
  Tensor out = inplace ? e.Overwrite(x) : e.EmptyLike(x, row.keeps_integers ? x->dtype : Floating(x->dtype));
  if (GradNode* node = e.Record(row.node, {x}, {out})) {
    if (row.Keeps("self")) node->Save(before);
    if (row.Keeps("result")) node->SaveOutput(out);
    node->Backward([temporaries = TemporariesOf(row.gradient)](GradContext& g) {
      std::vector<Tensor> scratch;
      const Tensor& like = g.node.saved.empty() ? g.grad() : g.saved(0);
      for (int i = 0; i < temporaries; ++i) scratch.push_back(g.e.EmptyLike(like, g.grad()->dtype));
      g.Set(0, Iterate(g.e, g.grad(), like, g.grad()->dtype));
      while (!scratch.empty()) scratch.pop_back();
    });
  }
  return out;
}

template <size_t row>
void RunUnary(Call& c) {
  c.Return(Unary(c.e, c.In(0), kUnaryRows[row], c.InPlace()));
}

template <size_t... rows>
std::vector<OpRule> UnaryRulesOf(std::index_sequence<rows...>) {
  return {{kUnaryRows[rows].op, RunUnary<rows>, kUnaryRows[rows].cast}...};
}

const UnaryRow& RowOf(std::string_view op) {
  for (const UnaryRow& row : kUnaryRows) {
    if (row.op == op) return row;
  }
  CHECK(false);
  return kUnaryRows[0];
}

void Boolean(Call& c) { c.Return(c.e.EmptyLike(c.In(0), DType::kBool)); }
void BitwiseNot(Call& c) { c.Return(c.e.EmptyLike(c.In(0))); }

// frac: the gradient passes.
void Frac(Call& c) {
  Tensor out = c.e.EmptyLike(c.In(0));
  if (GradNode* node = c.e.Record("FracBackward0", {c.In(0)}, {out})) {
    node->Backward([](GradContext& g) { g.Set(0, g.grad()); });
  }
  c.Return(std::move(out));
}

// isinf: self.abs() == inf; isfinite: (self == self) * (self.abs() != inf) (TensorCompare.cpp).
Tensor IsInfinite(Eager& e, const Tensor& x) {
  const Tensor magnitude = e.EmptyLike(x);
  return e.EmptyLike(x, DType::kBool);
}
Tensor IsFinite(Eager& e, const Tensor& x) {
  const Tensor magnitude = e.EmptyLike(x);
  const Tensor differs = e.EmptyLike(x, DType::kBool), same = e.EmptyLike(x, DType::kBool);
  return e.EmptyLike(x, DType::kBool);
}

void NanToNum(Call& c) {
  const Tensor& x = c.In(0);
  Tensor out = c.e.EmptyLike(x);
  if (GradNode* node = c.e.Record("NanToNumBackward0", {x}, {out})) {
    node->Save(x);
    node->Backward([](GradContext& g) {  // grad * at::isfinite(self)
      const Tensor finite = IsFinite(g.e, g.saved(0));
      g.Set(0, Iterate(g.e, g.grad(), finite, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

// sinc: where(x == 0, 0, grad * (cos(pi x) * pi x - sin(pi x)) / (x * x * pi)) (FunctionsManual.cpp, sinc_backward).
void Sinc(Call& c) {
  const Tensor& x = c.In(0);
  Tensor out = c.e.EmptyLike(x, Floating(x->dtype));
  if (GradNode* node = c.e.Record("SincBackward0", {x}, {out})) {
    node->Save(x);
    node->Backward([](GradContext& g) {
      const Tensor& like = g.saved(0);
      const auto made = [&] { return g.e.EmptyLike(like); };
      const Tensor angle = made();
      Tensor square = made();
      const Tensor divisor = made();
      square = Tensor();
      Tensor product;
      {
        const Tensor sine = made(), cosine = made(), turned = made(), difference = made(), ratio = made();
        product = made();
      }
      const Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
      const Tensor at_zero = g.e.EmptyLike(like, DType::kBool);
      g.Set(0, made());
    });
  }
  c.Return(std::move(out));
}

}  // namespace

Tensor Neg(Eager& e, const Tensor& t) { return Unary(e, t, RowOf("neg")); }
Tensor Abs(Eager& e, const Tensor& t) { return Unary(e, t, RowOf("abs")); }

std::vector<OpRule> UnaryRules() {
  std::vector<OpRule> rules = UnaryRulesOf(std::make_index_sequence<std::size(kUnaryRows)>());
  rules.push_back({"isnan", Boolean});
  rules.push_back({"logical_not", Boolean});
  rules.push_back({"bitwise_not", BitwiseNot});
  rules.push_back({"isinf", [](Call& c) { c.Return(IsInfinite(c.e, c.In(0))); }});
  rules.push_back({"isfinite", [](Call& c) { c.Return(IsFinite(c.e, c.In(0))); }});
  rules.push_back({"nan_to_num", NanToNum});
  rules.push_back({"frac", Frac});
  rules.push_back({"sinc", Sinc});
  return rules;
}

}  // namespace vramplan::eager
