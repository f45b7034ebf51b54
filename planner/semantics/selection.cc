// Selections: where, masked_fill, clamp, maximum and minimum. What chose is kept; the gradient is masked.
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

// maximum, minimum: both operands are kept. For other, then self:
// at::where(self == other, grad / 2, grad).masked_fill_(self < other, 0)
void Extremum(Call& c) {
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out = Iterate(c.e, a, b, Promote(a, b));
  if (GradNode* node = c.e.Record("MaximumBackward0", {a, b}, {out})) {
    node->Save(b).Save(a);
    node->Backward([](GradContext& g) {
      for (const int i : {1, 0}) {
        if (!g.Needs(i)) continue;
        const Tensor half = g.e.EmptyLike(g.grad());
        const Tensor equal = Iterate(g.e, g.saved(1), g.saved(0), DType::kBool);
        g.Set(i, Iterate(g.e, equal, half, g.grad()->dtype));
        { const Tensor less = Iterate(g.e, g.saved(1), g.saved(0), DType::kBool); }
      }
    });
  }
  c.Return(std::move(out));
}

// fmax, fmin: grad.masked_fill((self >= other).logical_or_(other.isnan()), 0)
void ExtremumOfNumbers(Call& c) {
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out = Iterate(c.e, a, b, Promote(a, b));
  if (GradNode* node = c.e.Record("FmaxBackward0", {a, b}, {out})) {
    node->Save(b).Save(a);
    node->Backward([](GradContext& g) {
      for (const int i : {1, 0}) {
        if (!g.Needs(i)) continue;
        const Tensor chosen = Iterate(g.e, g.saved(1), g.saved(0), DType::kBool);
        const Tensor nan = g.e.EmptyLike(g.saved(0), DType::kBool);
        g.Set(i, Iterate(g.e, g.grad(), chosen, g.grad()->dtype));
      }
    });
  }
  c.Return(std::move(out));
}

void Where(Call& c) {
  const Tensor &condition = c.In(0), &a = c.In(1), &b = c.In(2);
  Eager& e = c.e;
  const DType type = a || b ? Promote(a, b) : e.ModelType(c.OutType());
  // A Python number becomes a tensor without axes on the card (aten::where.ScalarOther: full({})).
  std::vector<Tensor> scalars;
  if (!a || !b) scalars.push_back(e.Empty(Shape(), type));
  if (!a && !b) scalars.push_back(e.Empty(Shape(), type));
  Tensor out = a && b ? e.EmptyIterator({&condition, &a, &b}, type) : Iterate(e, condition, a ? a : b, type);
  if (GradNode* node = e.Record("WhereBackward0", {a, b}, {out})) {
    node->Save(condition);
    node->Backward([](GradContext& g) {  // where(condition, 0, grad) for other, then where(condition, grad, 0)
      for (const int i : {1, 0}) {
        if (!g.Needs(i)) continue;
        const Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
        g.Set(i, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype));
      }
    });
  }
  c.Return(std::move(out));
}

void MaskedFill(Call& c) {
  const Tensor &x = c.In(0), &mask = c.In(1);
  Tensor out = c.InPlace() ? c.e.Overwrite(x) : Iterate(c.e, x, mask, x->dtype);
  if (GradNode* node = c.e.Record("MaskedFillBackward0", {x}, {out})) {
    node->Save(mask);
    node->Backward([](GradContext& g) { g.Set(0, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype)); });
  }
  c.Return(std::move(out));
}

// clamp_backward: where((self >= min).logical_and_(self <= max), grad, 0): one mask for each bound. Bounds may be
// tensors: inputs 1 and 2.
void Clamp(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  const bool low = c.Has(1) || c.layer.attributes.Has("min"), high = c.Has(2) || c.layer.attributes.Has("max");
  const bool inplace = c.InPlace();
  Tensor out = inplace ? e.Overwrite(x) : Iterate(e, x, c.In(1), x->dtype);
  if (GradNode* node = e.Record("ClampBackward1", {x}, {out})) {
    node->Save(c.In(2)).Save(c.In(1)).Save(inplace ? e.EmptyLike(x) : x);
    node->Backward([both = low == high](GradContext& g) {
      const Tensor& self = g.saved(2);
      const Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
      const Tensor first = g.e.EmptyLike(self, DType::kBool);
      const Tensor second = both ? g.e.EmptyLike(self, DType::kBool) : Tensor();
      g.Set(0, Iterate(g.e, g.grad(), first, g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> SelectionRules() {
  return {
      {"maximum", Extremum},
      {"minimum", Extremum},
      {"fmax", ExtremumOfNumbers},
      {"fmin", ExtremumOfNumbers},
      {"where", Where},
      {"masked_fill", MaskedFill},
      {"clamp", Clamp},
      {"clamp_min", Clamp},
      {"clamp_max", Clamp},
  };
}

}  // namespace vramplan::eager
