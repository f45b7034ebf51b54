// Weights that are made anew in front of each call of their module (torch/nn/utils/weight_norm.py, spectral_norm.py).
#include "planner/semantics/blas.h"
#include "planner/semantics/loss.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// setattr(module, "weight", weight): the module holds it until it is given the next one.
void Bind(Call& c, const Tensor& weight) {
  if (c.Int("bound") != 0) c.e.handles["weight of " + c.layer.name] = weight->storage;
}

DType NormType(DType type) { return BitWidth(type) == 16 ? DType::kFloat32 : type; }

// torch._weight_norm (ATen/native/WeightNorm.cpp, PyTorch 2.10; recorded there: "+2048 +32", backward "+2048 +32 -grad
// -norms"): one fused call over the first or last axis of a fp32 weight, which keeps the direction, the magnitude and
// the norms. Over an axis between them it is v * (g / norm), whose halves the file shows as they are.
void WeightNorm(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::_weight_norm");
  const Tensor v = Contiguous(e, c.In(0)), magnitude = Contiguous(e, c.In(1));
  Tensor out = e.Empty(v->sizes, v->dtype);
  Tensor norms = e.Empty(magnitude->sizes, NormType(v->dtype));
  if (GradNode* node = e.Record("WeightNormInterfaceBackward0", {c.In(0), c.In(1)}, {out})) {
    node->Save(v).Save(magnitude).Save(norms);
    node->Backward([](GradContext& g) {
      const Tensor grad = Contiguous(g.e, g.grad());
      Tensor direction = g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype);
      Tensor length = g.e.Empty(g.saved(1)->sizes, g.saved(1)->dtype);
      g.Set(0, std::move(direction));
      g.Set(1, std::move(length));
    });
  }
  norms = Tensor();
  Bind(c, out);
  c.Return(std::move(out));
}

// An operand of a product, as autocast gives it: views of a weight are not cached.
Tensor Lower(Eager& e, const Tensor& t) {
  switch (e.spec().precision) {
    case Precision::kAmpFp16:
      return ToType(e, t, DType::kFloat16);
    case Precision::kAmpBf16:
      return ToType(e, t, DType::kBFloat16);
    default:
      return t;
  }
}

// mv keeps the vector; its gradient of the matrix is an outer product (derivatives.yaml: grad.ger(vec)).
Tensor Mv(Eager& e, const Tensor& matrix_given, const Tensor& vector_given) {
  const Tensor vector = Lower(e, vector_given), matrix = Lower(e, matrix_given);
  Tensor out = e.Empty(Shape{matrix->sizes[0]}, matrix->dtype);
  { const Storage workspace = CublasWorkspace(e); }
  if (GradNode* node = e.Record("MvBackward0", {matrix, vector}, {out})) {
    node->Save(vector);
    node->Backward([sizes = matrix->sizes](GradContext& g) { g.Set(0, g.e.Empty(sizes, g.grad()->dtype)); });
  }
  return out;
}

// The largest singular value, u . (W v).
Tensor DotOf(Eager& e, const Tensor& u, const Tensor& product_given) {
  const Tensor product = InFloat32(e, product_given);
  Tensor out = e.Empty(Shape(), product->dtype);
  { const Storage workspace = CublasWorkspace(e); }
  if (GradNode* node = e.Record("DotBackward0", {u, product}, {out})) {
    node->Save(u);
    node->Backward([](GradContext& g) { g.Set(1, g.e.EmptyLike(g.saved(0))); });
  }
  return out;
}

// F.normalize(product, dim=0, out=vector): the norm is made and divided by, both die.
void PowerIteration(Eager& e, const Tensor& matrix, const Tensor& vector) {
  Tensor product = Mv(e, matrix, vector);
  const bool amp = vector->dtype != product->dtype;  // norm is on autocast's fp32 list
  Tensor norm = e.Empty(Shape(), amp ? DType::kFloat32 : product->dtype);
  product = Tensor();
  norm = Tensor();
}

// compute_weight: in training one power iteration without gradients, copies of u and v, then weight / sigma.
void SpectralNorm(Call& c) {
  Eager& e = c.e;
  const Tensor& weight = c.In(0);
  Tensor u = c.In(1), v = c.In(2);
  const int axis = static_cast<int>(c.Int("dim"));
  const auto as_matrix = [&](const Tensor& t) {
    std::vector<int> order = {axis};
    for (int i = 0; i < t->dim(); ++i) {
      if (i != axis) order.push_back(i);
    }
    const Tensor turned = axis == 0 ? t : Permute(e, t, order);
    return Reshape(e, turned, Shape{u->sizes[0], v->sizes[0]});
  };
  Tensor matrix = as_matrix(weight);
  const bool hook = c.Int("bound") != 0;
  if (e.spec().mode == Mode::kTrain) {
    const NoGradGuard no_grad(e);
    if (!hook) PowerIteration(e, matrix, v);  // the hook begins with v, the parametrization with u
    PowerIteration(e, Transpose(e, matrix, 0, 1), u);
    if (hook) PowerIteration(e, matrix, v);
  }
  if (e.spec().mode == Mode::kTrain || !hook) {  // a parametrization clones them in evaluation, too
    u = e.EmptyLike(u);
    v = e.EmptyLike(v);
  }
  Tensor product = Mv(e, matrix, v);
  Tensor sigma = DotOf(e, u, product);
  product = Tensor();
  Tensor out = Div(e, weight, sigma);
  if (!hook) matrix = Tensor();  // a frame lets its names go in the order of their first use
  u = Tensor();
  v = Tensor();
  matrix = Tensor();
  sigma = Tensor();
  Bind(c, out);
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> ParametrizedRules() { return {{"weight_norm", WeightNorm}, {"spectral_norm", SpectralNorm}}; }

}  // namespace vramplan::eager
