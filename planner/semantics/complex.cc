// Complex numbers: two numbers that lie next to each other seen as one, and back (aten/src/ATen/native/
// ComplexHelper.h, PyTorch 2.10); their making from two tensors.
#include "planner/semantics/concat.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

DType ComplexOf(DType type) { return type == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64; }
DType RealOf(DType type) { return type == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32; }

// computeStrideForViewAsComplex: the last axis, of length 2, is gone, and each step is of twice as many bytes.
Tensor ComplexView(Eager& e, const Tensor& x) {
  Shape sizes;
  Ints strides;
  for (int axis = 0; axis + 1 < x->dim(); ++axis) {
    sizes.Append(x->sizes[axis]);
    strides[axis] = x->strides[axis] / 2;
  }
  strides.n = sizes.rank();
  Tensor view = e.AsStrided(x, sizes, strides);
  view->dtype = ComplexOf(x->dtype);
  return view;
}

Tensor RealView(Eager& e, const Tensor& x) {
  Shape sizes = x->sizes;
  Ints strides;
  for (int axis = 0; axis < x->dim(); ++axis) strides[axis] = x->strides[axis] * 2;
  strides[x->dim()] = 1;
  strides.n = x->dim() + 1;
  sizes.Append(2);
  Tensor view = e.AsStrided(x, sizes, strides);
  view->dtype = RealOf(x->dtype);
  return view;
}

// derivatives.yaml: view_as_complex: at::view_as_real(grad.contiguous().resolve_conj()).
void ViewAsComplex(Call& c) {
  Tensor out = ComplexView(c.e, c.In(0));
  if (GradNode* node = c.e.Record("ViewAsComplexBackward0", {c.In(0)}, {out})) {
    node->Backward([](GradContext& g) { g.Set(0, RealView(g.e, ContiguousIn(g.e, g.grad(), false))); });
  }
  c.Return(std::move(out));
}

// derivatives.yaml: view_as_real: at::view_as_complex(grad.contiguous()), for gradients are real and imaginary parts.
void ViewAsReal(Call& c) {
  Tensor out = RealView(c.e, c.In(0));
  if (GradNode* node = c.e.Record("ViewAsRealBackward0", {c.In(0)}, {out})) {
    node->Backward([](GradContext& g) { g.Set(0, ComplexView(g.e, ContiguousIn(g.e, g.grad(), false))); });
  }
  c.Return(std::move(out));
}

// at::real and at::imag: every other number.
Tensor PartView(Eager& e, const Tensor& x) {
  Ints strides = x->strides;
  for (int axis = 0; axis < x->dim(); ++axis) strides[axis] *= 2;
  Tensor view = e.AsStrided(x, x->sizes, strides);
  view->dtype = RealOf(x->dtype);
  return view;
}

void Complex(Call& c) {
  const Tensor &real = c.In(0), &imag = c.In(1);
  Tensor out = c.e.EmptyIterator({&real, &imag}, ComplexOf(real->dtype));
  if (GradNode* node = c.e.Record("ComplexBackward0", {real, imag}, {out})) {
    node->Save(imag).Save(real);  // for their types
    node->Backward([](GradContext& g) {
      for (int i = 0; i < 2; ++i) {
        if (g.Needs(i)) g.Set(i, PartView(g.e, g.grad()));
      }
    });
  }
  c.Return(std::move(out));
}

// FunctionsManual.cpp, polar_backward: real(conj(grad) * sgn(result)) and real(conj(grad) * (result * i)); a product
// makes its conjugate first (ConjugateFallback.cpp).
void Polar(Call& c) {
  const Tensor &length = c.In(0), &angle = c.In(1);
  Tensor out = c.e.EmptyIterator({&length, &angle}, ComplexOf(length->dtype));
  if (GradNode* node = c.e.Record("PolarBackward0", {length, angle}, {out})) {
    node->SaveOutput(out);
    node->Backward([](GradContext& g) {
      Tensor gradients[2];
      for (Tensor& gradient : gradients) {
        const Tensor factor = g.e.EmptyLike(g.saved(0)), conjugate = g.e.EmptyLike(g.saved(0));
        gradient = PartView(g.e, g.e.EmptyLike(g.saved(0)));
      }
      for (int i = 0; i < 2; ++i) {
        if (g.Needs(i)) g.Set(i, std::move(gradients[i]));
      }
    });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> ComplexRules() {
  return {{"view_as_complex", ViewAsComplex}, {"view_as_real", ViewAsReal}, {"polar", Polar}, {"complex", Complex}};
}

}  // namespace vramplan::eager
