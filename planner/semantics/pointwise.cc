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

// A leaf cannot be written in place. A tensor of lower precision can, and keeps its type: fp16 += fp32 stays fp16, while
// integers += fp32 is an error (c10::canCast, TensorIterator "result type Float can't be cast to the desired output type").
Tensor Result(Eager& e, const Tensor& a, const Tensor& b, DType type, bool inplace) {
  const bool possible = a && !a->requires_grad && Rank(a->dtype) == Rank(type) && e.spec().inplace != Inplace::kOff;
  return inplace && possible ? e.Overwrite(a) : Iterate(e, a, b, type);
}

// What an in-place operator keeps of the tensor that it overwrites: a clone, made before (gen_variable_type.py).
Tensor Original(Eager& e, const Tensor& a, const Tensor& out, bool kept) {
  if (!kept || !a) return Tensor();
  return out->storage.get() == a->storage.get() && e.grad_mode ? e.EmptyLike(a) : a;
}

}  // namespace

DType Floating(DType type) { return IsFloating(type) ? type : DType::kFloat32; }

Tensor Iterate(Eager& e, const Tensor& a, const Tensor& b, DType type) {
  if (!b) return e.EmptyIterator({&a}, type);
  if (!a) return e.EmptyIterator({&b}, type);
  return e.EmptyIterator({&a, &b}, type);
}

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
  Tensor out = e.EmptyAs(t, type);
  if (!IsFloating(type)) return out;
  if (GradNode* node = e.Record("ToCopyBackward0", {t}, {out})) {
    node->Backward([from = t->dtype](GradContext& g) { g.Set(0, ToType(g.e, g.grad(), from)); });
  }
  return out;
}

Tensor Add(Eager& e, const Tensor& a, const Tensor& b, bool inplace, bool scaled) {
  OpScope scope(e, "aten::add");
  Tensor out = Result(e, a, b, Promote(a, b), inplace);
  // self: grad, other: maybe_multiply(grad, alpha): the same tensor for both; the engine sums broadcasts.
  if (GradNode* node = e.Record("AddBackward0", {a, b}, {out})) {
    node->Backward([scaled](GradContext& g) {
      if (g.Needs(1)) g.Set(1, scaled ? g.e.EmptyLike(g.grad()) : g.grad());
      if (g.Needs(0)) g.Set(0, g.grad());
    });
  }
  return out;
}

Tensor Sub(Eager& e, const Tensor& a, const Tensor& b, bool inplace, bool scaled) {
  OpScope scope(e, "aten::sub");
  Tensor out = Result(e, a, b, Promote(a, b), inplace);
  if (GradNode* node = e.Record("SubBackward0", {a, b}, {out})) {
    node->Backward([scaled](GradContext& g) {
      if (g.Needs(1)) {  // maybe_multiply(-grad, alpha)
        Tensor negative = g.e.EmptyLike(g.grad());
        g.Set(1, scaled ? g.e.EmptyLike(negative) : negative);
      }
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
    node->Save(b && a && a->tracked() ? b : Tensor()).Save(Original(e, a, out, b && b->tracked()));
    node->Backward([](GradContext& g) {
      OpScope mul(g.e, "aten::mul");
      if (g.Needs(1)) g.Set(1, Iterate(g.e, g.grad(), g.saved(1), g.grad()->dtype));
      if (g.Needs(0)) g.Set(0, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype));
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
    node->Save(b).Save(Original(e, a, out, b && b->tracked()));
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

bool Scaled(const Call& c) { return c.Real("alpha", 1) != 1; }

// Rounded to integers: the type stays, the gradient is zeros.
void RunRoundedDiv(Call& c) {
  OpScope scope(c.e, "aten::div");
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out = Iterate(c.e, a, b, Promote(a, b));
  if (GradNode* node = c.e.Record("DivBackward1", {a, b}, {out})) {
    node->Save(b).Save(b && b->tracked() ? a : Tensor());
    node->Backward([](GradContext& g) {
      if (g.Needs(1)) g.Set(1, g.e.EmptyLike(g.grad()));
      if (g.Needs(0)) g.Set(0, g.e.EmptyLike(g.grad()));
    });
  }
  c.Return(std::move(out));
}

void RunDiv(Call& c) {
  const std::string mode = c.layer.attributes.Text("rounding_mode", "");
  if (!mode.empty()) return RunRoundedDiv(c);
  c.Return(Div(c.e, c.In(0), c.In(1), c.Int("inplace") != 0));
}

void RunBoolean(Call& c) { c.Return(Iterate(c.e, c.In(0), c.In(1), DType::kBool)); }
void RunInteger(Call& c) { c.Return(Iterate(c.e, c.In(0), c.In(1), Promote(c.In(0), c.In(1)))); }

// remainder, fmod: self: grad, other: -grad * self.div(other, rounding)
void RunRemainder(Call& c) {
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out = Iterate(c.e, a, b, Promote(a, b));
  if (GradNode* node = c.e.Record("RemainderBackward1", {a, b}, {out})) {
    node->Save(b && b->tracked() ? b : Tensor()).Save(b && b->tracked() ? a : Tensor());
    node->Backward([](GradContext& g) {
      if (g.Needs(1)) {
        Tensor negative = g.e.EmptyLike(g.grad());
        Tensor whole = Iterate(g.e, g.saved(1), g.saved(0), g.grad()->dtype);
        g.Set(1, Iterate(g.e, negative, whole, g.grad()->dtype));
      }
      if (g.Needs(0)) g.Set(0, g.grad());
    });
  }
  c.Return(std::move(out));
}

// pow_backward_self: where(exponent == 0, zeros, grad * (exponent * self.pow(exponent - 1)))
Tensor PowerOfSelf(Eager& e, const Tensor& grad, const Tensor& self, const Tensor& exponent) {
  const Tensor less = e.EmptyLike(exponent);
  const Tensor power = Iterate(e, self, less, grad->dtype);
  const Tensor scaled = Iterate(e, exponent, power, grad->dtype);
  const Tensor product = Iterate(e, grad, scaled, grad->dtype);
  const Tensor zero = e.Empty(Shape(), grad->dtype);
  const Tensor condition = e.EmptyLike(exponent, DType::kBool);
  return Iterate(e, condition, product, grad->dtype);
}

// pow_backward_exponent: grad * where(self == 0 and exponent >= 0, zeros, result * self.log()); a number as the base
// needs no condition.
Tensor PowerOfExponent(Eager& e, const Tensor& grad, const Tensor& self, const Tensor& exponent, const Tensor& result) {
  if (!self) return Iterate(e, grad, e.EmptyLike(result), grad->dtype);
  Tensor condition;
  {
    const Tensor positive = e.EmptyLike(exponent, DType::kBool);
    const Tensor zero = e.EmptyLike(self, DType::kBool);
    condition = Iterate(e, zero, positive, DType::kBool);
  }
  const Tensor logarithm = e.EmptyLike(self);
  const Tensor product = Iterate(e, result, logarithm, grad->dtype);
  const Tensor zero = e.Empty(Shape(), grad->dtype);
  const Tensor chosen = Iterate(e, condition, product, grad->dtype);
  return Iterate(e, grad, chosen, grad->dtype);
}

void RunPow(Call& c) {
  Eager& e = c.e;
  const Tensor &x = c.In(0), &exponent = c.In(1);
  if (exponent && x) {  // pow.Tensor_Tensor keeps exponent, self and result
    Tensor out = Iterate(e, x, exponent, Promote(x, exponent));
    if (GradNode* node = e.Record("PowBackward1", {x, exponent}, {out})) {
      node->Save(exponent).Save(x).SaveOutput(out);
      node->Backward([](GradContext& g) {
        if (g.Needs(1)) g.Set(1, PowerOfExponent(g.e, g.grad(), g.saved(1), g.saved(0), g.saved(2)));
        if (g.Needs(0)) g.Set(0, PowerOfSelf(g.e, g.grad(), g.saved(1), g.saved(0)));
      });
    }
    c.Return(std::move(out));
    return;
  }
  const Tensor& base = x ? x : exponent;
  const bool inplace = c.InPlace() && IsFloating(base->dtype);
  const Tensor before = inplace && e.grad_mode && base->tracked() ? e.EmptyLike(base) : base;
  Tensor out = inplace ? e.Overwrite(base) : e.EmptyLike(base, base->dtype);
  const bool zero = c.Real("scalar", 2) == 0;
  if (GradNode* node = e.Record("PowBackward0", {base}, {out})) {
    node->Save(before);
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

// Integers and a real number make fp32, the default type (aten/src/ATen/native/TypeProperties.cpp, result_type).
bool WidensIntegers(const Call& c) {
  const bool number = c.layer.attributes.Get<double>("scalar") != nullptr && c.Int("inplace") == 0;
  const Tensor& only = c.In(c.Has(0) ? 0 : 1);
  return number && c.Has(0) != c.Has(1) && !IsFloating(only->dtype) && IsFloating(c.OutType());
}

// number ** tensor: the number goes through a tensor of 8 bytes (Pow.cpp pow.Scalar, wrapped_scalar_tensor).
void RunPowOfNumber(Call& c) {
  Eager& e = c.e;
  const Tensor& exponent = c.Has(0) ? c.In(0) : c.In(1);
  Tensor out = e.EmptyLike(exponent, WidensIntegers(c) ? e.ModelType(DType::kFloat32) : exponent->dtype);
  { const Storage number = e.Scratch(Bytes::Of(8)); }
  if (GradNode* node = e.Record("PowBackward2", {exponent}, {out})) {
    node->Save(exponent).SaveOutput(out);
    node->Backward([](GradContext& g) { g.Set(0, PowerOfExponent(g.e, g.grad(), Tensor(), g.saved(0), g.saved(1))); });
  }
  c.Return(std::move(out));
}

// atan2_backward: both gradients share 1 / (self * self + other * other).
void RunAtan2(Call& c) {
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out = Iterate(c.e, a, b, Floating(Promote(a, b)));
  if (GradNode* node = c.e.Record("Atan2Backward0", {a, b}, {out})) {
    node->Save(b).Save(a);
    node->Backward([](GradContext& g) {
      const Tensor &other = g.saved(0), &self = g.saved(1);
      Tensor reciprocal, sum;
      {
        const Tensor self_square = g.e.EmptyLike(self), other_square = g.e.EmptyLike(other);
        sum = Iterate(g.e, self_square, other_square, g.grad()->dtype);
      }
      reciprocal = g.e.EmptyLike(sum);
      { const Tensor infinite = g.e.EmptyLike(sum, DType::kBool); }
      Tensor of_self, of_other, scaled, negative, turned;
      if (g.Needs(0)) {
        scaled = Iterate(g.e, g.grad(), other, g.grad()->dtype);
        of_self = Iterate(g.e, scaled, reciprocal, g.grad()->dtype);
      }
      if (g.Needs(1)) {
        negative = g.e.EmptyLike(g.grad());
        turned = Iterate(g.e, negative, self, g.grad()->dtype);
        of_other = Iterate(g.e, turned, reciprocal, g.grad()->dtype);
      }
      turned = negative = scaled = Tensor();
      reciprocal = Tensor();
      sum = Tensor();
      g.Set(0, std::move(of_self));
      g.Set(1, std::move(of_other));
    });
  }
  c.Return(std::move(out));
}

// hypot: grad * (operand / result), for other first.
void RunHypot(Call& c) {
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out = Iterate(c.e, a, b, Promote(a, b));
  if (GradNode* node = c.e.Record("HypotBackward0", {a, b}, {out})) {
    node->Save(b).Save(a).SaveOutput(out);
    node->Backward([](GradContext& g) {
      for (const int i : {1, 0}) {
        if (!g.Needs(i)) continue;
        const Tensor ratio = Iterate(g.e, g.saved(1 - i), g.saved(2), g.grad()->dtype);
        g.Set(i, Iterate(g.e, g.grad(), ratio, g.grad()->dtype));
      }
    });
  }
  c.Return(std::move(out));
}

// logaddexp: grad / (1 + exp(self - other)) and the other way round.
void RunLogAddExp(Call& c) {
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out = Iterate(c.e, a, b, Promote(a, b));
  if (GradNode* node = c.e.Record("LogaddexpBackward0", {a, b}, {out})) {
    node->Save(b).Save(a);
    node->Backward([](GradContext& g) {
      for (const int i : {1, 0}) {
        if (!g.Needs(i)) continue;
        const Tensor difference = Iterate(g.e, g.saved(0), g.saved(1), g.grad()->dtype);
        const Tensor exponential = g.e.EmptyLike(difference), sum = g.e.EmptyLike(difference);
        g.Set(i, Iterate(g.e, g.grad(), sum, g.grad()->dtype));
      }
    });
  }
  c.Return(std::move(out));
}

// lerp: self + weight * (end - self). Gradients in the order end, self, weight.
void RunLerp(Call& c) {
  Eager& e = c.e;
  const Tensor &self = c.In(0), &end = c.In(1), &weight = c.In(2);
  Tensor out = c.InPlace() ? e.Overwrite(self)
               : weight    ? e.EmptyIterator({&self, &end, &weight}, self->dtype)
                           : Iterate(e, self, end, self->dtype);
  if (GradNode* node = e.Record("LerpBackward0", {self, end, weight}, {out})) {
    const bool keeps = weight && weight->tracked();
    node->Save(keeps ? end : Tensor()).Save(keeps ? self : Tensor()).Save(weight);
    node->Backward([](GradContext& g) {
      const Tensor& kept_weight = g.saved(2);
      const DType type = g.grad()->dtype;
      if (g.Needs(1)) g.Set(1, Iterate(g.e, g.grad(), kept_weight, type));
      if (g.Needs(0)) {
        const Tensor rest = kept_weight ? g.e.EmptyLike(kept_weight) : Tensor();  // 1 - weight
        g.Set(0, Iterate(g.e, g.grad(), rest, type));
      }
      if (g.Needs(2)) {
        const Tensor difference = Iterate(g.e, g.saved(0), g.saved(1), type);
        g.Set(2, Iterate(g.e, g.grad(), difference, type));
      }
    });
  }
  c.Return(std::move(out));
}

// addcmul: self + value * tensor1 * tensor2; addcdiv: self + value * tensor1 / tensor2. Gradients in the order tensor1,
// tensor2, self (the names' order in derivatives.yaml: self passes its gradient on).
template <bool divides>
void RunAddC(Call& c) {
  Eager& e = c.e;
  const Tensor &self = c.In(0), &first = c.In(1), &second = c.In(2);
  Tensor out = c.InPlace() ? e.Overwrite(self) : e.EmptyIterator({&self, &first, &second}, Promote(self, first));
  if (GradNode* node = e.Record(divides ? "AddcdivBackward0" : "AddcmulBackward0", {self, first, second}, {out})) {
    node->Save(first).Save(second);
    node->Backward([](GradContext& g) {
      const DType type = g.grad()->dtype;
      const Tensor &one = g.saved(0), &two = g.saved(1);
      if (g.Needs(1)) {
        const Tensor scaled = g.e.EmptyLike(two);  // value * tensor2, value / tensor2
        g.Set(1, Iterate(g.e, g.grad(), scaled, type));
      }
      if (g.Needs(2) && divides) {  // -grad * (value * tensor1 / (tensor2 * tensor2))
        const Tensor negative = g.e.EmptyLike(g.grad());
        const Tensor scaled = g.e.EmptyLike(one), square = g.e.EmptyLike(two);
        const Tensor ratio = Iterate(g.e, scaled, square, type);
        g.Set(2, Iterate(g.e, negative, ratio, type));
      } else if (g.Needs(2)) {
        const Tensor scaled = g.e.EmptyLike(one);
        g.Set(2, Iterate(g.e, g.grad(), scaled, type));
      }
      if (g.Needs(0)) g.Set(0, g.grad());
    });
  }
  c.Return(std::move(out));
}

// xlogy: other: grad * self / other; self: grad * other.log(), masked where self is 0.
void RunXlogy(Call& c) {
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out = Iterate(c.e, a, b, Floating(Promote(a, b)));
  if (GradNode* node = c.e.Record("XlogyBackward0", {a, b}, {out})) {
    node->Save(b).Save(a);
    node->Backward([](GradContext& g) {
      const DType type = g.grad()->dtype;
      if (g.Needs(1)) {
        const Tensor product = Iterate(g.e, g.grad(), g.saved(1), type);
        g.Set(1, Iterate(g.e, product, g.saved(0), type));
      }
      if (g.Needs(0)) {
        const Tensor logarithm = g.e.EmptyLike(g.saved(0));
        g.Set(0, Iterate(g.e, g.grad(), logarithm, type));
      }
    });
  }
  c.Return(std::move(out));
}

template <auto rule>
void RunOf(Call& c) {
  if (!WidensIntegers(c)) return c.Return(rule(c));
  c.Return(Iterate(c.e, c.In(0), c.In(1), c.e.ModelType(DType::kFloat32)));
}

}  // namespace

std::vector<OpRule> PointwiseRules() {
  return {
      {"add", RunOf<[](Call& c) { return Add(c.e, c.In(0), c.In(1), c.Int("inplace") != 0, Scaled(c)); }>},
      {"sub", RunOf<[](Call& c) { return Sub(c.e, c.In(0), c.In(1), c.Int("inplace") != 0, Scaled(c)); }>},
      {"rsub", RunOf<[](Call& c) { return Sub(c.e, c.In(1), c.In(0)); }>},
      {"mul", RunOf<[](Call& c) { return Mul(c.e, c.In(0), c.In(1), c.Int("inplace") != 0); }>},
      {"div", RunDiv},
      {"rdiv", [](Call& c) { c.Return(Div(c.e, c.In(1), c.In(0))); }},
      {"floor_divide", RunInteger},
      {"remainder", RunRemainder},
      {"fmod", RunRemainder},
      {"pow", RunPow, Cast::kFloat32},
      {"square", RunPow, Cast::kFloat32},
      {"rpow", RunPowOfNumber, Cast::kFloat32},
      {"atan2", RunAtan2, Cast::kPromote},
      {"hypot", RunHypot},
      {"logaddexp", RunLogAddExp},
      {"xlogy", RunXlogy},
      {"lerp", RunLerp},
      {"addcmul", RunAddC<false>, Cast::kPromote},
      {"addcdiv", RunAddC<true>, Cast::kPromote},
      {"eq", RunBoolean},
      {"ne", RunBoolean},
      {"lt", RunBoolean},
      {"le", RunBoolean},
      {"gt", RunBoolean},
      {"ge", RunBoolean},
      {"logical_and", RunBoolean},
      {"logical_or", RunBoolean},
      {"logical_xor", RunBoolean},
      {"bitwise_and", RunInteger},
      {"bitwise_or", RunInteger},
      {"bitwise_xor", RunInteger},
  };
}

}  // namespace vramplan::eager
