#include "planner/semantics/pointwise.h"

#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

int Rank(DType type) {  // bool < integers < floating
  if (type == DType::kBool) return 0;
  return IsFloating(type) ? 2 : 1;
}

DType Wider(DType a, DType b) {
  if (Rank(a) != Rank(b)) return Rank(a) > Rank(b) ? a : b;
  if (BitWidth(a) == BitWidth(b) && a != b && IsFloating(a)) return DType::kFloat32;  // fp16 with bf16
  return BitWidth(a) >= BitWidth(b) ? a : b;
}

// An operand of a binary operator that may be a Python number.
Tensor Iterate(Eager& e, const Tensor& a, const Tensor& b, DType type) {
  if (!b) return e.EmptyIterator({&a}, type);
  if (!a) return e.EmptyIterator({&b}, type);
  return e.EmptyIterator({&a, &b}, type);
}

// A leaf cannot be written in place, nor a tensor of another type.
Tensor Result(Eager& e, const Tensor& a, const Tensor& b, DType type, bool inplace) {
  const bool possible = a && !a->requires_grad && a->dtype == type && e.spec().inplace != Inplace::kOff;
  return inplace && possible ? e.Overwrite(a) : Iterate(e, a, b, type);
}

DType Floating(DType type) { return IsFloating(type) ? type : DType::kFloat32; }

}  // namespace

DType Promote(const Tensor& a, const Tensor& b) {
  if (!a) return b->dtype;
  if (!b) return a->dtype;
  // A tensor without axes only decides when it is of a higher kind.
  if (a->dim() == 0 && b->dim() != 0 && Rank(a->dtype) <= Rank(b->dtype)) return b->dtype;
  if (b->dim() == 0 && a->dim() != 0 && Rank(b->dtype) <= Rank(a->dtype)) return a->dtype;
  return Wider(a->dtype, b->dtype);
}

Tensor ToType(Eager& e, const Tensor& t, DType type) {
  if (t->dtype == type) return t;
  OpScope scope(e, "aten::to");
  Tensor out = e.EmptyLike(t, type);
  if (!IsFloating(type)) return out;
  if (GradNode* node = e.Record("ToCopyBackward0", {t}, {out})) {
    node->Backward([from = t->dtype](GradContext& g) { g.Set(0, ToType(g.e, g.grad(), from)); });
  }
  return out;
}

Tensor Add(Eager& e, const Tensor& a, const Tensor& b, bool inplace) {
  OpScope scope(e, "aten::add");
  Tensor out = Result(e, a, b, Promote(a, b), inplace);
  // derivatives.yaml: self: grad, other: maybe_multiply(grad, alpha): the same tensor for both; the engine sums
  // broadcasts.
  if (GradNode* node = e.Record("AddBackward0", {a, b}, {out})) {
    node->Backward([](GradContext& g) {
      if (g.Needs(1)) g.Set(1, g.grad());
      if (g.Needs(0)) g.Set(0, g.grad());
    });
  }
  return out;
}

Tensor Sub(Eager& e, const Tensor& a, const Tensor& b, bool inplace) {
  OpScope scope(e, "aten::sub");
  Tensor out = Result(e, a, b, Promote(a, b), inplace);
  if (GradNode* node = e.Record("SubBackward0", {a, b}, {out})) {
    node->Backward([](GradContext& g) {
      if (g.Needs(1)) g.Set(1, g.e.EmptyLike(g.grad()));  // -grad
      if (g.Needs(0)) g.Set(0, g.grad());
    });
  }
  return out;
}

Tensor Mul(Eager& e, const Tensor& a, const Tensor& b, bool inplace) {
  OpScope scope(e, "aten::mul");
  Tensor out = Result(e, a, b, Promote(a, b), inplace);
  // Each factor is kept when the other needs a gradient.
  if (GradNode* node = e.Record("MulBackward0", {a, b}, {out})) {
    node->Save(b && a && a->tracked() ? b : Tensor()).Save(a && b && b->tracked() ? a : Tensor());
    node->Backward([](GradContext& g) {
      OpScope mul(g.e, "aten::mul");
      for (int i = 0; i < 2; ++i) {
        if (g.Needs(i)) g.Set(i, Iterate(g.e, g.grad(), g.saved(i), g.grad()->dtype));
      }
    });
  }
  return out;
}

Tensor Div(Eager& e, const Tensor& a, const Tensor& b, bool inplace) {
  OpScope scope(e, "aten::div");
  if (!a) {  // number / tensor: reciprocal, then mul (torch/_tensor.py __rtruediv__)
    Tensor reciprocal = e.EmptyLike(b, Floating(b->dtype));
    if (GradNode* node = e.Record("ReciprocalBackward0", {b}, {reciprocal})) {
      node->SaveOutput(reciprocal);
      node->Backward([](GradContext& g) {  // -grad * (result * result)
        Tensor negative = g.e.EmptyLike(g.grad());
        Tensor square = g.e.EmptyLike(g.saved(0));
        g.Set(0, Iterate(g.e, negative, square, negative->dtype));
      });
    }
    return Mul(e, reciprocal, nullptr);
  }
  Tensor out = Result(e, a, b, Floating(Promote(a, b)), inplace);
  if (GradNode* node = e.Record("DivBackward0", {a, b}, {out})) {
    node->Save(b).Save(b && b->tracked() ? a : Tensor());
    node->Backward([](GradContext& g) {
      OpScope div(g.e, "aten::div");
      if (g.Needs(1)) {  // -grad * ((self / other) / other)
        Tensor negative = g.e.EmptyLike(g.grad());
        Tensor ratio = Iterate(g.e, g.saved(1), g.saved(0), g.grad()->dtype);
        Tensor again = Iterate(g.e, ratio, g.saved(0), g.grad()->dtype);
        g.Set(1, Iterate(g.e, negative, again, g.grad()->dtype));
      }
      if (g.Needs(0)) g.Set(0, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype));
    });
  }
  return out;
}

namespace {

// How a unary operator differentiates: what it keeps, and the temporaries of its formula besides the result.
enum class Keeps : uint8_t { kNothing, kInput, kOutput };
struct UnaryRow {
  const char* node;
  Keeps keeps;
  int temporaries;              // of the formula, alive together until it is done
  bool keeps_integers = false;  // integers stay integers (UnaryOps.cpp: abs, neg)
};

Tensor Unary(Eager& e, const Tensor& x, const UnaryRow& row) {
  Tensor out = e.EmptyLike(x, row.keeps_integers ? x->dtype : Floating(x->dtype));
  if (GradNode* node = e.Record(row.node, {x}, {out})) {
    if (row.keeps == Keeps::kInput) node->Save(x);
    if (row.keeps == Keeps::kOutput) node->SaveOutput(out);
    node->Backward([temporaries = row.temporaries](GradContext& g) {
      std::vector<Tensor> scratch;
      const Tensor& like = g.node.saved.empty() ? g.grad() : g.saved(0);
      for (int i = 0; i < temporaries; ++i) scratch.push_back(g.e.EmptyLike(like, g.grad()->dtype));
      g.Set(0, Iterate(g.e, g.grad(), like, g.grad()->dtype));
      while (!scratch.empty()) scratch.pop_back();  // the last made dies first, as in a C++ expression
    });
  }
  return out;
}

template <int row>
void RunUnary(Call& c) {
  // derivatives.yaml, with the temporaries of each formula.
  static constexpr UnaryRow kRows[] = {
      {"NegBackward0", Keeps::kNothing, 0, true},  // 0  -grad
      {"AbsBackward0", Keeps::kInput, 1, true},    // 1  grad * self.sgn()
      {"ExpBackward0", Keeps::kOutput, 0},         // 2  grad * result
      {"LogBackward0", Keeps::kInput, 0},          // 3  grad.div(self)
      {"SqrtBackward0", Keeps::kOutput, 1},        // 4  grad / (2 * result)
      {"RsqrtBackward0", Keeps::kOutput, 2},       // 5  -0.5 * grad * result.pow(3)
      {"ReciprocalBackward0", Keeps::kOutput, 2},  // 6  -grad * (result * result)
      {"SinBackward0", Keeps::kInput, 1},          // 7  grad * self.cos()
      {"CosBackward0", Keeps::kInput, 2},          // 8  grad * -self.sin()
      {"ErfBackward0", Keeps::kInput, 4},          // 9  2 / sqrt(pi) * exp(-(self.pow(2))) * grad
      {"Log1PBackward0", Keeps::kInput, 1},        // 10 grad / (self + 1)
      {"Expm1Backward0", Keeps::kOutput, 1},       // 11 grad * (result + 1)
  };
  c.Return(Unary(c.e, c.In(0), kRows[row]));
}

// Differentiable nowhere, or with gradient zero: nothing saved; backward makes zeros.
void RunStep(Call& c) {
  const Tensor& x = c.In(0);
  Tensor out = c.e.EmptyLike(x);
  if (GradNode* node = c.e.Record("RoundBackward0", {x}, {out})) {
    node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.grad())); });
  }
  c.Return(std::move(out));
}

void RunBoolean(Call& c) { c.Return(Iterate(c.e, c.In(0), c.In(1), DType::kBool)); }

void RunInteger(Call& c) { c.Return(Iterate(c.e, c.In(0), c.In(1), Promote(c.In(0), c.In(1)))); }

void RunPow(Call& c) {
  const Tensor& x = c.In(0);
  const Tensor& exponent = c.In(1);
  Eager& e = c.e;
  if (exponent && x) {  // pow.Tensor_Tensor keeps self, exponent and result
    Tensor out = Iterate(e, x, exponent, Promote(x, exponent));
    if (GradNode* node = e.Record("PowBackward1", {x, exponent}, {out})) {
      node->Save(x).Save(exponent).SaveOutput(out);
      node->Backward([](GradContext& g) {
        for (int i = 0; i < 2; ++i) {
          if (!g.Needs(i)) continue;
          Tensor power = g.e.EmptyLike(g.saved(0));
          Tensor scaled = g.e.EmptyLike(power);
          g.Set(i, Iterate(g.e, g.grad(), scaled, g.grad()->dtype));
        }
      });
    }
    c.Return(std::move(out));
    return;
  }
  const Tensor& base = x ? x : exponent;
  Tensor out = e.EmptyLike(base, base->dtype);
  const bool zero = c.Real("scalar", 2) == 0;
  if (GradNode* node = e.Record("PowBackward0", {base}, {out})) {
    node->Save(base);
    node->Backward([zero](GradContext& g) {  // pow_backward: grad * (exponent * self.pow(exponent - 1))
      if (zero) {
        g.Set(0, g.e.EmptyLike(g.saved(0)));
        return;
      }
      Tensor power = g.e.EmptyLike(g.saved(0));
      Tensor scaled = g.e.EmptyLike(power);
      g.Set(0, Iterate(g.e, g.grad(), scaled, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

// maximum, minimum: both operands are kept; backward masks: (self == other).logical_or_(self > other)...
void RunExtremum(Call& c) {
  const Tensor& a = c.In(0);
  const Tensor& b = c.In(1);
  Tensor out = Iterate(c.e, a, b, Promote(a, b));
  if (!IsFloating(out->dtype)) {
    c.Return(std::move(out));
    return;
  }
  if (GradNode* node = c.e.Record("MaximumBackward0", {a, b}, {out})) {
    node->Save(a).Save(b);
    node->Backward([](GradContext& g) {  // at::where(self == other, grad / 2, grad).masked_fill_(self < other, 0)
      for (int i = 0; i < 2; ++i) {
        if (!g.Needs(i)) continue;
        Tensor equal = g.e.EmptyLike(g.grad(), DType::kBool);
        Tensor half = g.e.EmptyLike(g.grad());
        Tensor chosen = g.e.EmptyLike(g.grad());
        Tensor mask = g.e.EmptyLike(g.grad(), DType::kBool);
        g.Set(i, chosen);
      }
    });
  }
  c.Return(std::move(out));
}

void RunWhere(Call& c) {
  const Tensor& condition = c.In(0);
  const Tensor& a = c.In(1);
  const Tensor& b = c.In(2);
  Eager& e = c.e;
  const DType type = a || b ? Promote(a, b) : e.ModelType(c.OutType());
  // A Python number becomes a tensor without axes on the card (aten::where.ScalarOther: full({})).
  std::vector<Tensor> scalars;
  if (!a || !b) scalars.push_back(e.Empty(Shape(), type));
  if (!a && !b) scalars.push_back(e.Empty(Shape(), type));
  Tensor out = a && b ? e.EmptyIterator({&condition, &a, &b}, type) : Iterate(e, condition, a ? a : b, type);
  if (GradNode* node = e.Record("WhereBackward0", {a, b}, {out})) {
    node->Save(condition);
    node->Backward([](GradContext& g) {  // where(condition, grad, 0), where(condition, 0, grad)
      for (int i = 0; i < 2; ++i) {
        if (!g.Needs(i)) continue;
        Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
        g.Set(i, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype));
      }
    });
  }
  c.Return(std::move(out));
}

void RunMaskedFill(Call& c) {
  const Tensor& x = c.In(0);
  const Tensor& mask = c.In(1);
  Tensor out = Iterate(c.e, x, mask, x->dtype);
  if (GradNode* node = c.e.Record("MaskedFillBackward0", {x}, {out})) {
    node->Save(mask);
    node->Backward([](GradContext& g) { g.Set(0, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype)); });
  }
  c.Return(std::move(out));
}

void RunClamp(Call& c) {
  const Tensor& x = c.In(0);
  Tensor out = c.e.EmptyLike(x);
  if (GradNode* node = c.e.Record("ClampBackward1", {x}, {out})) {
    node->Save(x);  // clamp_backward: where((self >= min).logical_and_(self <= max), grad, 0)
    node->Backward([](GradContext& g) {
      Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
      Tensor above = g.e.EmptyLike(g.saved(0), DType::kBool);
      Tensor below = g.e.EmptyLike(g.saved(0), DType::kBool);
      g.Set(0, Iterate(g.e, g.grad(), above, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

void RunCumsum(Call& c) {
  const Tensor& x = c.In(0);
  const DType type = IsFloating(x->dtype) ? x->dtype : DType::kInt64;
  Tensor out = c.e.EmptyLike(x, type);
  if (GradNode* node = c.e.Record("CumsumBackward0", {x}, {out})) {
    node->Backward([](GradContext& g) {  // cumsum_backward: flip, cumsum, flip
      Tensor flipped = g.e.EmptyLike(g.grad());
      Tensor summed = g.e.EmptyLike(g.grad());
      flipped = Tensor();
      g.Set(0, g.e.EmptyLike(g.grad()));
    });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> PointwiseRules() {
  return {
      {"add", [](Call& c) { c.Return(Add(c.e, c.In(0), c.In(1), c.Int("inplace") != 0)); }},
      {"sub", [](Call& c) { c.Return(Sub(c.e, c.In(0), c.In(1), c.Int("inplace") != 0)); }},
      {"rsub", [](Call& c) { c.Return(Sub(c.e, c.In(1), c.In(0))); }},
      {"mul", [](Call& c) { c.Return(Mul(c.e, c.In(0), c.In(1), c.Int("inplace") != 0)); }},
      {"div", [](Call& c) { c.Return(Div(c.e, c.In(0), c.In(1), c.Int("inplace") != 0)); }},
      {"rdiv", [](Call& c) { c.Return(Div(c.e, c.In(1), c.In(0))); }},
      {"pow", RunPow, Cast::kFloat32},
      {"square", RunPow},
      {"neg", RunUnary<0>},
      {"abs", RunUnary<1>},
      {"exp", RunUnary<2>, Cast::kFloat32},
      {"log", RunUnary<3>, Cast::kFloat32},
      {"sqrt", RunUnary<4>},
      {"rsqrt", RunUnary<5>, Cast::kFloat32},
      {"reciprocal", RunUnary<6>, Cast::kFloat32},
      {"sin", RunUnary<7>},
      {"cos", RunUnary<8>},
      {"erf", RunUnary<9>},
      {"log1p", RunUnary<10>, Cast::kFloat32},
      {"expm1", RunUnary<11>, Cast::kFloat32},
      {"floor", RunStep},
      {"ceil", RunStep},
      {"round", RunStep},
      {"sign", RunStep},
      {"remainder", RunInteger},
      {"eq", RunBoolean},
      {"ne", RunBoolean},
      {"lt", RunBoolean},
      {"le", RunBoolean},
      {"gt", RunBoolean},
      {"ge", RunBoolean},
      {"isnan", RunBoolean},
      {"logical_and", RunBoolean},
      {"logical_or", RunBoolean},
      {"logical_not", RunBoolean},
      {"logical_xor", RunBoolean},
      {"bitwise_and", RunInteger},
      {"bitwise_or", RunInteger},
      {"bitwise_not", RunInteger},
      {"maximum", RunExtremum},
      {"minimum", RunExtremum},
      {"where", RunWhere},
      {"masked_fill", RunMaskedFill},
      {"clamp", RunClamp},
      {"cumsum", RunCumsum, Cast::kFloat32},
  };
}

}  // namespace vramplan::eager
