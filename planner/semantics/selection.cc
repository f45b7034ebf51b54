// Selections: where, masked_fill, clamp, maximum and minimum. What chose is kept; the gradient is masked.
#include "planner/semantics/pointwise.h"
#include "planner/semantics/sort_scratch.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

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
        g.Set(i, Iterate(g.e, g.saved(0), g.grad(), g.grad()->dtype));  // which lies as the condition does
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
// tensors: inputs 1 and 2, whose gradients come first (clamp_backward_min_max: where((self < min).logical_and_(min <
// max), grad, 0)).
void Clamp(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  const bool low = c.Has(1) || c.layer.attributes.Has("min"), high = c.Has(2) || c.layer.attributes.Has("max");
  const bool inplace = c.InPlace();
  Tensor out = inplace ? e.Overwrite(x) : Iterate(e, x, c.In(1), x->dtype);
  // The operand itself bounds nothing; a file whose constants have no name of their own may be read so.
  const auto edge = [&](const Tensor& bound) { return bound.get() == x.get() ? Tensor() : bound; };
  if (GradNode* node = e.Record("ClampBackward1", {x, edge(c.In(1)), edge(c.In(2))}, {out})) {
    node->Save(c.In(2)).Save(c.In(1)).Save(inplace ? e.EmptyLike(x) : x);
    node->Backward([both = low == high](GradContext& g) {
      const Tensor& self = g.saved(2);
      if (g.Needs(1) || g.Needs(2)) {
        const Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
        for (const int i : {1, 2}) {
          if (!g.Needs(i)) continue;
          const Tensor &bound = g.saved(2 - i), &other = g.saved(i - 1);
          const Tensor beyond = Iterate(g.e, self, bound, DType::kBool);
          const Tensor apart = other ? Iterate(g.e, bound, other, DType::kBool) : Tensor();
          g.Set(i, Iterate(g.e, beyond, g.grad(), g.grad()->dtype));
        }
      }
      if (!g.Needs(0)) return;
      const Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
      const Tensor first = g.e.EmptyLike(self, DType::kBool);
      const Tensor second = both ? g.e.EmptyLike(self, DType::kBool) : Tensor();
      g.Set(0, Iterate(g.e, first, g.grad(), g.grad()->dtype));
    });
  }
  c.Return(std::move(out));
}

// masked_scatter (cuda/IndexKernel.cu, launch_masked_scatter_kernel): places in the source by a running sum over the
// whole mask. masked_scatter_backward takes what the mask selects out of the gradient, whose count only the data knows,
// and fills it up with zeros to the source's size: here none is selected, as on a card that gives zeros, and a larger
// selection needs no more.
void MaskedScatter(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::masked_scatter");
  const Tensor &x = c.In(0), &given = c.In(1), &source = c.In(2);
  const bool inplace = c.InPlace();
  const bool wider = !inplace && x->sizes != c.OutShape();  // both are expanded to one size
  Tensor out = inplace ? e.Overwrite(x) : wider ? e.Empty(c.OutShape(), x->dtype) : e.EmptyLike(x);
  {
    const Tensor sums = e.Empty(out->sizes, DType::kInt64);
    const Tensor mask = given->sizes == out->sizes ? Contiguous(e, given) : e.Empty(out->sizes, DType::kBool);
    e.Scratch(ExclusiveSumScratch(out->numel()));
  }
  if (GradNode* node = e.Record("MaskedScatterBackward0", {x, source}, {out})) {
    node->Save(given);
    node->Backward([sizes = source->sizes](GradContext& g) {
      const Tensor &grad = g.grad(), &mask = g.saved(0);
      if (g.Needs(0)) g.Set(0, Iterate(g.e, grad, mask, grad->dtype));
      if (!g.Needs(1)) return;
      {
        const Tensor expanded = mask->sizes == grad->sizes ? mask : g.e.Empty(grad->sizes, DType::kBool);
        const Tensor count = g.e.Empty(Shape(), DType::kInt32);
        g.e.Scratch(Bytes::Of(1));
        g.e.Scratch(SelectScratch(grad->numel()));
      }
      const Tensor zeros = g.e.Empty(sizes, grad->dtype);
      g.Set(1, g.e.Empty(sizes, grad->dtype));
    });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> SelectionRules() {
  return {
      {"masked_scatter", MaskedScatter},
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
