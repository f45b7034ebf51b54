// Unary operators: one new tensor; derivatives.yaml says what each keeps and which temporaries its formula makes.
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

enum class Keeps : uint8_t { kNothing, kInput, kOutput };
struct UnaryRow {
  std::string_view op;
  const char* node;
  Keeps keeps;
  int temporaries;  // of the formula, alive together until it is done; the last made dies first
  Cast cast = Cast::kNone;
  bool keeps_integers = false;  // integers stay integers (UnaryOps.cpp)
};

constexpr UnaryRow kUnaryRows[] = {
    {"neg", "NegBackward0", Keeps::kNothing, 0, Cast::kNone, true},            // -grad
    {"deg2rad", "Deg2RadBackward0", Keeps::kNothing, 0},                       // grad * (pi / 180)
    {"rad2deg", "Rad2DegBackward0", Keeps::kNothing, 0},                       // grad * (180 / pi)
    {"abs", "AbsBackward0", Keeps::kInput, 1, Cast::kNone, true},              // grad * self.sgn()
    {"exp", "ExpBackward0", Keeps::kOutput, 0, Cast::kFloat32},                // grad * result
    {"exp2", "Exp2Backward0", Keeps::kOutput, 1},                              // grad * result * log(2)
    {"expm1", "Expm1Backward0", Keeps::kOutput, 1, Cast::kFloat32},            // grad * (result + 1)
    {"log", "LogBackward0", Keeps::kInput, 0, Cast::kFloat32},                 // grad.div(self)
    {"log2", "Log2Backward0", Keeps::kInput, 1, Cast::kFloat32},               // grad / (self * log(2))
    {"log10", "Log10Backward0", Keeps::kInput, 1, Cast::kFloat32},             // grad / (self * log(10))
    {"log1p", "Log1PBackward0", Keeps::kInput, 1, Cast::kFloat32},             // grad / (self + 1)
    {"logit", "LogitBackward0", Keeps::kInput, 0},                             // one kernel
    {"sqrt", "SqrtBackward0", Keeps::kOutput, 1},                              // grad / (2 * result)
    {"rsqrt", "RsqrtBackward0", Keeps::kOutput, 2, Cast::kFloat32},            // -0.5 * grad * result.pow(3)
    {"reciprocal", "ReciprocalBackward0", Keeps::kOutput, 2, Cast::kFloat32},  // -grad * (result * result)
    {"sin", "SinBackward0", Keeps::kInput, 1},                                 // grad * self.cos()
    {"cos", "CosBackward0", Keeps::kInput, 2},                                 // grad * -self.sin()
    {"tan", "TanBackward0", Keeps::kOutput, 2, Cast::kFloat32},                // grad * (1 + result.pow(2))
    {"asin", "AsinBackward0", Keeps::kInput, 4, Cast::kFloat32},               // grad * (-self * self + 1).rsqrt()
    {"acos", "AcosBackward0", Keeps::kInput, 5, Cast::kFloat32},               // grad * -(...).rsqrt()
    {"atan", "AtanBackward0", Keeps::kInput, 2},                               // grad / (self * self + 1)
    {"sinh", "SinhBackward0", Keeps::kInput, 1, Cast::kFloat32},               // grad * self.cosh()
    {"cosh", "CoshBackward0", Keeps::kInput, 1, Cast::kFloat32},               // grad * self.sinh()
    {"asinh", "AsinhBackward0", Keeps::kInput, 3},                             // grad * (self.pow(2) + 1).rsqrt()
    {"acosh", "AcoshBackward0", Keeps::kInput, 3},                             // grad * (self.pow(2) - 1).rsqrt()
    {"atanh", "AtanhBackward0", Keeps::kInput, 3},                             // grad * 1 / (1 - self.pow(2))
    {"erf", "ErfBackward0", Keeps::kInput, 4},                                 // c * exp(-(self.pow(2))) * grad
    {"erfc", "ErfcBackward0", Keeps::kInput, 4},                               // -c * exp(-(self.pow(2))) * grad
    {"erfinv", "ErfinvBackward0", Keeps::kInput, 4, Cast::kFloat32},           // c * exp(self.erfinv().pow(2)) * grad
    {"lgamma", "LgammaBackward0", Keeps::kInput, 1},                           // grad * digamma(self)
    {"digamma", "DigammaBackward0", Keeps::kInput, 1},                         // grad * polygamma(1, self)
    {"floor", "FloorBackward0", Keeps::kNothing, 0, Cast::kNone, true},        // zeros
    {"ceil", "CeilBackward0", Keeps::kNothing, 0, Cast::kNone, true},          // zeros
    {"round", "RoundBackward0", Keeps::kNothing, 0, Cast::kNone, true},        // zeros
    {"trunc", "TruncBackward0", Keeps::kNothing, 0, Cast::kNone, true},        // zeros
    {"sign", "SignBackward0", Keeps::kNothing, 0, Cast::kNone, true},          // zeros
};

// In place, an operator that keeps its input keeps a clone of it, made before (gen_variable_type.py).
Tensor Unary(Eager& e, const Tensor& x, const UnaryRow& row, bool inplace = false) {
  const bool clones = inplace && row.keeps == Keeps::kInput && e.grad_mode && x->tracked();
  const Tensor before = clones ? e.EmptyLike(x) : x;
  Tensor out = inplace ? e.Overwrite(x) : e.EmptyLike(x, row.keeps_integers ? x->dtype : Floating(x->dtype));
  if (GradNode* node = e.Record(row.node, {x}, {out})) {
    if (row.keeps == Keeps::kInput) node->Save(before);
    if (row.keeps == Keeps::kOutput) node->SaveOutput(out);
    node->Backward([temporaries = row.temporaries](GradContext& g) {
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
