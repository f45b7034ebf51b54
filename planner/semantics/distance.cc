// Products of two inputs and a table, and distances of rows.
#include "planner/semantics/blas.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// cdist with p = 2 of more than 25 rows (Distance.cpp, _euclidean_dist): one product of matrices that hold the squared
// lengths, too. Beyond two leading axes they are flattened. Backward (FunctionsManual.cpp, _euclidean_dist_backward).
void Cdist(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::cdist");
  const auto prepared = [&](const Tensor& t) {  // expand, contiguous, view
    const Tensor contiguous = Contiguous(e, t);
    return Reshape(e, contiguous, contiguous->sizes);
  };
  const Tensor a = prepared(c.In(0)), b = prepared(c.In(1));
  Tensor out;
  {
    Tensor left, norm, ones;
    const std::vector<int> last = {a->dim() - 1};
    const auto squares = [&](const Tensor& t, Tensor* of_rows, Tensor* column) {
      {
        const Tensor square = e.EmptyLike(t);
        *of_rows = SumKernel(e, square, last, true);
      }
      *column = e.EmptyLike(*of_rows);
    };
    Tensor other_norm, other_ones;
    squares(a, &norm, &ones);
    squares(b, &other_norm, &other_ones);
    const auto widened = [](const Tensor& t) {
      Shape sizes = t->sizes;
      sizes[t->dim() - 1] = sizes[t->dim() - 1] + Dim(2);
      return sizes;
    };
    Tensor product = e.EmptyLike(a);
    left = e.Empty(widened(a), a->dtype);
    ones = Tensor();
    norm = Tensor();
    product = Tensor();
    const Tensor right = e.Empty(widened(b), b->dtype);
    other_norm = Tensor();
    other_ones = Tensor();
    out = Matmul(e, left, Transpose(e, right, right->dim() - 2, right->dim() - 1));
  }
  if (GradNode* node = e.Record("EuclideanDistBackward0", {a, b}, {out})) {
    node->Save(a).Save(b).SaveOutput(out);
    node->Backward([](GradContext& g) {
      const Tensor &left = g.saved(0), &right = g.saved(1);
      const int last = left->dim() - 1;
      const Tensor ratio = g.e.EmptyLike(g.grad());
      { const Tensor zero = g.e.EmptyLike(g.saved(2), DType::kBool); }
      const auto half = [&](const Tensor& self, const Tensor& other, const Tensor& weights, int axis) {
        struct Half {
          Tensor product, sum, scaled, result;
        } h;
        h.product = Matmul(g.e, weights, g.e.Alias(other));
        h.sum = SumKernel(g.e, ratio, {axis}, true);
        h.scaled = g.e.EmptyLike(self);
        h.result = g.e.EmptyLike(self);
        return h;
      };
      auto one = half(left, right, ratio, last);
      auto two = half(right, left, Transpose(g.e, ratio, last - 1, last), last - 1);
      for (auto* h : {&two, &one}) {
        h->scaled = Tensor();
        h->sum = Tensor();
        h->product = Tensor();
      }
      g.Set(0, std::move(one.result));
      g.Set(1, std::move(two.result));
    });
  }
  c.Return(std::move(out));
}

// cdist of another p (Distance.cpp, _cdist_forward): no product, but each half of the backward (_cdist_backward, cuda/
// DistanceKernel.cu) has a buffer of all differences.
void CdistOfPower(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::cdist");
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out;
  {
    const Tensor left = Contiguous(e, a), right = Contiguous(e, b);
    out = e.Empty(c.OutShape(), a->dtype);
  }
  if (GradNode* node = e.Record("CdistBackward0", {a, b}, {out})) {
    node->Save(a).Save(b).SaveOutput(out);
    node->Backward([](GradContext& g) {
      const Tensor grad = g.grad();
      const auto half = [&](const Tensor& self, const Tensor& other) {
        const Tensor one = Contiguous(g.e, self), two = Contiguous(g.e, other);
        Tensor result = g.e.Empty(self->sizes, grad->dtype);
        Shape differences = grad->sizes;
        differences.Append(self->sizes[self->dim() - 1]);
        g.e.Empty(differences, grad->dtype);
        return result;
      };
      if (g.Needs(0)) g.Set(0, half(g.saved(0), g.saved(1)));
      if (!g.Needs(1)) return;
      const int last = grad->dim() - 1;
      const Tensor turned = Contiguous(g.e, Transpose(g.e, grad, last - 1, last));
      const Tensor distances = Contiguous(g.e, Transpose(g.e, g.saved(2), last - 1, last));
      g.Set(1, half(g.saved(1), g.saved(0)));
    });
  }
  c.Return(std::move(out));
}

// Distance.cpp, cdist_impl: compute_mode 0 takes a product where there are more than 25 rows, 1 always, 2 never.
bool IsEuclidean(const Call& c) {
  constexpr int64_t kManyRows = 25, kAlways = 1, kNever = 2;
  const auto rows = [](const Tensor& t) { return t->lengths[t->dim() - 2]; };
  const int64_t mode = c.Int("compute_mode");
  if (c.Real("p", 2) != 2 || mode == kNever) return false;
  return mode == kAlways || rows(c.In(0)) > kManyRows || rows(c.In(1)) > kManyRows;
}

// linalg_cross (derivatives.yaml 2.10): cross products of the gradient with the other operand.
void Cross(Call& c) {
  const Tensor &a = c.In(0), &b = c.In(1);
  Tensor out = c.e.Empty(c.OutShape(), a->dtype);
  if (GradNode* node = c.e.Record("LinalgCrossBackward0", {a, b}, {out})) {
    node->Save(a->tracked() ? b : Tensor()).Save(b->tracked() ? a : Tensor());
    node->Backward([](GradContext& g) {
      for (const int i : {1, 0}) {
        if (g.Needs(i)) g.Set(i, g.e.Empty(g.grad()->sizes, g.grad()->dtype));
      }
    });
  }
  c.Return(std::move(out));
}

// _trilinear (Linear.cpp) goes through the output features one by one, in both directions.
void Steps(Eager& e, int64_t count, const Shape& first, bool multiplies, const Shape& second, DType type) {
  for (int64_t k = 0; k < count; ++k) {
    Tensor buffer = e.Empty(first, type);  // a product of matrices or of elements
    if (!multiplies) CublasWorkspace(e);
    Tensor next = e.Empty(second, type);
    CublasWorkspace(e);
    buffer = std::move(next);
  }
}

void Bilinear(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::bilinear");
  const Tensor &a = c.In(0), &b = c.In(1), &weight = c.In(2), &bias = c.In(3);
  Dim rows(1);
  for (int i = 0; i + 1 < a->dim(); ++i) rows = rows * a->sizes[i];
  const Tensor left = Reshape(e, a, Shape{rows, a->sizes[a->dim() - 1]});
  const Tensor right = Reshape(e, b, Shape{rows, b->sizes[b->dim() - 1]});
  const int64_t features = weight->lengths[0];
  Tensor out = e.Empty(Shape{rows, weight->sizes[0]}, weight->dtype);
  Steps(e, features, right->sizes, false, Shape{rows}, weight->dtype);
  if (GradNode* node = e.Record("TrilinearBackward0", {left, weight, right}, {out})) {
    node->Save(left).Save(weight).Save(right);
    node->Backward([rows, features](GradContext& g) {
      const Tensor &one = g.saved(0), &table = g.saved(1), &two = g.saved(2);
      const DType type = g.grad()->dtype;
      const Shape pairs{rows, table->sizes[1], table->sizes[2]}, matrix{table->sizes[1], table->sizes[2]};
      if (g.Needs(0)) {
        g.Set(0, g.e.Empty(one->sizes, type));
        Steps(g.e, features, pairs, true, one->sizes, type);
      }
      if (g.Needs(1)) {
        g.Set(1, g.e.Empty(table->sizes, type));
        Steps(g.e, features, one->sizes, true, matrix, type);
      }
      if (g.Needs(2)) {
        g.Set(2, g.e.Empty(two->sizes, type));
        Steps(g.e, features, two->sizes, false, two->sizes, type);
      }
    });
  }
  if (bias) out = Add(e, Reshape(e, out, c.OutShape()), bias);
  c.Return(bias ? std::move(out) : Reshape(e, out, c.OutShape()));
}

// cosine_similarity (Distance.cpp): each tensor divided by a copy of its length, which is at least eps, then multiplied
// and summed.
void CosineSimilarity(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::cosine_similarity");
  const int64_t dim = c.Int("dim");
  const std::vector<int> axes = {static_cast<int>(dim < 0 ? dim + c.In(0)->dim() : dim)};
  Shape whole = c.In(0)->sizes;
  for (int i = 0; i < whole.rank(); ++i) {
    if (whole[i].Is(1)) whole[i] = c.In(1)->sizes[i];
  }
  const Tensor pair[] = {Expand(e, c.In(0), whole), Expand(e, c.In(1), whole)};
  std::vector<Tensor> lengths;
  for (const Tensor& t : pair) lengths.push_back(Clone(e, VectorNorm(e, t, axes, true, 2)));
  const Tensor right = Div(e, pair[1], lengths[1]);  // the compiler evaluates the right operand of the product first
  const Tensor left = Div(e, pair[0], lengths[0]);
  c.Return(Sum(e, Mul(e, left, right), axes, false));
}

}  // namespace

std::vector<OpRule> DistanceRules() {
  const auto cdist = [](Call& c) { IsEuclidean(c) ? Cdist(c) : CdistOfPower(c); };
  return {{"cdist", cdist, Cast::kFloat32},
          {"linalg_cross", Cross},
          {"bilinear", Bilinear, Cast::kPromote},
          {"cosine_similarity", CosineSimilarity, Cast::kFloat32}};
}

}  // namespace vramplan::eager
