// _scaled_dot_product_attention_math (attention.cpp): ordinary products, every step on the tape. Halves are computed in
// fp32.
#include "planner/semantics/attention.h"
#include "planner/semantics/blas.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/softmax.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// _safe_softmax: a softmax; rows that are -inf throughout are found and zeroed in place.
Tensor SafeSoftmax(Eager& e, const Tensor& scores) {
  OpScope scope(e, "aten::_safe_softmax");
  Tensor out = SoftmaxKernel(e, scores, scores->dtype);
  {
    Shape rows = scores->sizes;
    rows[rows.rank() - 1] = Dim(1);
    const Tensor infinite = e.EmptyLike(scores, DType::kBool);
    const Tensor all = e.Empty(rows, DType::kBool);
    const Tensor zero = e.Empty(Shape(), scores->dtype);
  }
  if (GradNode* node = e.Record("SafeSoftmaxBackward0", {scores}, {out})) {
    node->SaveOutput(out);
    node->Backward(
        [from = scores->dtype](GradContext& g) { g.Set(0, SoftmaxBackwardKernel(g.e, g.grad(), g.saved(0), from)); });
  }
  return out;
}

Tensor AddInPlace(Eager& e, const Tensor& scores, const Tensor& mask) {
  Tensor out = e.Alias(scores);
  e.overwritten.push_back(scores->storage->block);
  if (GradNode* node = e.Record("AddBackward0", {scores, mask}, {out})) {
    node->Backward([](GradContext& g) {
      if (g.Needs(1)) g.Set(1, g.grad());
      if (g.Needs(0)) g.Set(0, g.grad());
    });
  }
  return out;
}

Tensor Dropped(Eager& e, const Tensor& x) {
  OpScope scope(e, "aten::native_dropout");
  const Tensor mask = e.EmptyLike(x, DType::kBool);
  Tensor out = e.EmptyLike(x);
  if (GradNode* node = e.Record("NativeDropoutBackward0", {x}, {out})) {
    node->Save(mask);
    node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.grad())); });
  }
  return out;
}

// repeat_interleave over the heads: unsqueeze, expand, clone, flatten.
Tensor Repeated(Eager& e, const Tensor& t, Dim heads) {
  const int axis = t->dim() - 3;
  const Dim groups = DivideExactly(heads, t->sizes[axis]).value_or(Dim(1));
  Shape unsqueezed = t->sizes;
  unsqueezed.Insert(axis + 1, Dim(1));
  Shape expanded = unsqueezed;
  expanded[axis + 1] = groups;
  Shape flat = t->sizes;
  flat[axis] = heads;
  return Reshape(e, Clone(e, Expand(e, Squeeze(e, t, unsqueezed), expanded)), flat);
}

}  // namespace

Tensor MathAttention(Eager& e, const AttentionCall& call) {
  OpScope scope(e, "aten::_scaled_dot_product_attention_math");
  const DType origin = call.query->dtype;
  const bool half = origin == DType::kFloat16 || origin == DType::kBFloat16;
  const DType type = half ? DType::kFloat32 : origin;
  Tensor half_probabilities;  // returned beside the output, and let go last
  const Tensor query_given = ToType(e, call.query, type);
  const Tensor key_given = ToType(e, call.key, type);
  const Tensor value_given = ToType(e, call.value, type);
  Tensor mask = call.mask;
  const Tensor query = Mul(e, query_given, nullptr);
  if (call.causal) {
    Tensor lower;
    {
      const Tensor ones = e.Empty(Shape{query->sizes.FromEnd(2), call.key->sizes.FromEnd(2)}, DType::kBool);
      lower = e.EmptyLike(ones);  // tril
    }
    mask = AdditiveMask(e, lower, type);
  }
  const Dim heads = query->dim() >= 3 ? query->sizes.FromEnd(3) : Dim(1);
  const bool grouped =
      query->dim() >= 3 && query->lengths[query->dim() - 3] != key_given->lengths[key_given->dim() - 3];
  const Tensor key = grouped ? Repeated(e, key_given, heads) : key_given;
  const Tensor value = grouped ? Repeated(e, value_given, heads) : value_given;
  Tensor scores = Matmul(e, query, Mul(e, Transpose(e, key, -2, -1), nullptr));
  if (mask) scores = AddInPlace(e, scores, mask);
  scores = SafeSoftmax(e, scores);
  if (call.dropout > 0) scores = Dropped(e, scores);
  if (half) half_probabilities = ToType(e, scores, origin);
  return ToType(e, Matmul(e, scores, value), origin);
}

}  // namespace vramplan::eager
