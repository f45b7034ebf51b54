// cosine_embedding_loss and triplet_margin_loss (Loss.cpp, Distance.cpp): composites, written as there. Their vectors
// of one number a pair are as large as nothing; what counts are the products and differences of whole embeddings.
#include "planner/semantics/loss.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"

namespace vramplan::eager {
namespace {

std::vector<int> LastAxis(const Tensor& t) { return {t->dim() - 1}; }

// (a * b).sum(-1): the product dies, unless the loss keeps it.
Tensor Dot(Eager& e, const Tensor& a, const Tensor& b) {
  const Tensor product = Mul(e, a, b);
  return Sum(e, product, LastAxis(a), false);
}

// Dot(a, a) + EPSILON
Tensor SquaredLength(Eager& e, const Tensor& a) {
  const Tensor product = Mul(e, a, a);
  const Tensor sum = Sum(e, product, LastAxis(a), false);
  return Add(e, sum, Tensor());
}

Tensor SqrtInPlace(Eager& e, const Tensor& t) {
  Tensor out = e.Overwrite(t);
  if (GradNode* node = e.Record("SqrtBackward0", {t}, {out})) {
    node->SaveOutput(out);
    node->Backward([](GradContext& g) {  // grad / (2 * result)
      const Tensor twice = g.e.EmptyLike(g.saved(0));
      g.Set(0, g.e.EmptyLike(g.grad()));
    });
  }
  return out;
}

// pairwise_distance: norm(a - b + eps, 2, -1)
Tensor Distance(Eager& e, const Tensor& a, const Tensor& b) {
  Tensor difference = Sub(e, a, b);
  const Tensor shifted = Add(e, difference, Tensor());
  const std::vector<int> axis = LastAxis(a);
  Tensor out = e.Empty(ReducedSizes(shifted, axis, false), shifted->dtype);
  { const ReduceScratch scratch = AllocateReduceScratch(e, *shifted, axis, shifted->dtype); }
  if (GradNode* node = e.Record("NormBackward1", {shifted}, {out})) {
    node->Save(shifted).SaveOutput(out);
    node->Backward([](GradContext& g) {  // grad * (self / norm).masked_fill_(norm == 0, 0)
      const Tensor direction = g.e.EmptyLike(g.saved(0));
      const Tensor zero = g.e.EmptyLike(g.saved(1), DType::kBool);
      g.Set(0, g.e.EmptyLike(g.saved(0)));
    });
  }
  return out;
}

}  // namespace

Tensor CosineEmbedding(Eager& e, const Tensor& first_given, const Tensor& second_given, const Tensor& target_given) {
  OpScope scope(e, "aten::cosine_embedding_loss");
  const Tensor first = InFloat32(e, first_given), second = InFloat32(e, second_given);
  const Tensor target = InFloat32(e, target_given);
  Tensor each;
  {
    const Tensor products = Dot(e, first, second);
    const Tensor length1 = SquaredLength(e, first), length2 = SquaredLength(e, second);
    Tensor denominator = Mul(e, length1, length2);
    denominator = SqrtInPlace(e, denominator);
    const Tensor cosine = Div(e, products, denominator);
    const Tensor zeros = e.EmptyLike(cosine);
    const Tensor positive = Sub(e, Tensor(), cosine);
    Tensor negative = Sub(e, cosine, Tensor());
    negative = ClampMin(e, negative, true);
    const Tensor of_positive = WhereTarget(e, target, positive);
    const Tensor of_negative = WhereTarget(e, target, negative);
    each = Add(e, of_positive, of_negative);
    const Tensor loss = Mean(e, each, {}, false);
    each = loss;
  }
  return each;
}

Tensor TripletMargin(Eager& e, const Tensor& anchor_given, const Tensor& positive_given, const Tensor& negative_given) {
  OpScope scope(e, "aten::triplet_margin_loss");
  const Tensor anchor = InFloat32(e, anchor_given), positive = InFloat32(e, positive_given);
  const Tensor negative = InFloat32(e, negative_given);
  const Tensor near = Distance(e, anchor, positive), far = Distance(e, anchor, negative);
  Tensor clamped;
  {
    const Tensor shifted = Add(e, near, Tensor());  // margin + distance
    const Tensor difference = Sub(e, shifted, far);
    clamped = ClampMin(e, difference, false);
  }
  return Mean(e, clamped, {}, false);
}

}  // namespace vramplan::eager
