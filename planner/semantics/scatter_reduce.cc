#include "planner/semantics/scatter_reduce.h"

#include <string>
#include <utility>

namespace vramplan::eager {
namespace {

// include_self=False: the places that are written get no gradient.
Tensor WithoutWritten(GradContext& g, Tensor grad_self, bool include_self) {
  return include_self ? std::move(grad_self) : g.e.EmptyLike(grad_self);
}

void SumBackward(GradContext& g, bool include_self) {
  const Tensor grad = g.grad();
  Tensor grad_source;
  if (g.Needs(1)) grad_source = g.e.Empty(g.saved(2)->sizes, grad->dtype);
  Tensor grad_self = WithoutWritten(g, grad, include_self);
  if (g.Needs(0)) g.Set(0, std::move(grad_self));
  if (g.Needs(1)) g.Set(1, std::move(grad_source));
}

// The gradient by how many were written: grad / N for self, grad.gather() / N.gather() for src.
void MeanBackward(GradContext& g, bool include_self) {
  const Tensor grad = g.grad();
  const Shape &whole = grad->sizes, part = g.saved(2)->sizes;
  Tensor counts;
  {
    const Tensor ones = g.e.EmptyLike(grad), each = g.e.Empty(part, grad->dtype);
    counts = g.e.Empty(whole, grad->dtype);
  }
  g.e.Empty(whole, DType::kBool);  // N == 0
  Tensor grad_self = g.e.EmptyLike(grad), grad_source;
  {
    const Tensor of_part = g.e.Empty(part, grad->dtype), counts_of_part = g.e.Empty(part, grad->dtype);
    grad_source = g.e.Empty(part, grad->dtype);
  }
  counts = Tensor();
  grad_self = WithoutWritten(g, std::move(grad_self), include_self);
  if (g.Needs(0)) g.Set(0, std::move(grad_self));
  if (g.Needs(1)) g.Set(1, std::move(grad_source));
}

// The gradient is shared by all that equal the extreme.
void ExtremeBackward(GradContext& g, bool include_self) {
  const Tensor grad = g.grad();
  const Shape &whole = grad->sizes, part = g.saved(2)->sizes;
  const auto equal = [&](const Shape& sizes) {
    const Tensor mask = g.e.Empty(sizes, DType::kBool);
    return g.e.Empty(sizes, grad->dtype);
  };
  Tensor grad_self, grad_source;
  {
    const Tensor value = g.e.Empty(part, grad->dtype);
    const Tensor self_is_result = equal(whole), source_is_result = equal(part);
    const Tensor count = g.e.Empty(whole, grad->dtype), share = g.e.Empty(whole, grad->dtype);
    grad_self = equal(whole);
    const Tensor of_part = g.e.Empty(part, grad->dtype);
    grad_source = equal(part);
  }
  grad_self = WithoutWritten(g, std::move(grad_self), include_self);
  if (g.Needs(0)) g.Set(0, std::move(grad_self));
  if (g.Needs(1)) g.Set(1, std::move(grad_source));
}

}  // namespace

void ScatterReduce(Call& c) {
  const std::string reduce = c.layer.attributes.Text("reduce", "");
  const bool include_self = c.Int("include_self", 1) != 0;
  const bool sum = reduce == "sum", mean = reduce == "mean";
  if (!sum && !mean && reduce != "amax" && reduce != "amin") return RunUnknown(c, "has no memory rule for this reduce");
  Eager& e = c.e;
  OpScope scope(e, "aten::scatter_reduce");
  const Tensor &x = c.In(0), &index = c.In(1), &source = c.In(2);
  const bool writes = c.Int("inplace") != 0 && !x->tracked();
  // What the backward needs of self is copied before it is written (tools/autograd/gen_variable_type.py:
  // original_self).
  const Tensor self = writes && e.grad_mode && source->tracked() ? e.EmptyLike(x) : x;
  Tensor out = writes ? e.Overwrite(x) : e.EmptyLike(x);
  if (mean) {  // how many were written to each place
    const Tensor ones = e.EmptyLike(out), each = e.EmptyLike(source);
    e.Empty(out->sizes, DType::kBool);
  }
  if (GradNode* node = e.Record("ScatterReduceBackward0", {x, source}, {out})) {
    node->Save(index).Save(self).Save(source).SaveOutput(out);
    node->Backward([sum, mean, include_self](GradContext& g) {
      sum ? SumBackward(g, include_self) : mean ? MeanBackward(g, include_self) : ExtremeBackward(g, include_self);
    });
  }
  c.Return(std::move(out));
}

}  // namespace vramplan::eager
