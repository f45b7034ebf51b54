#include "planner/semantics/embedding.h"

#include <algorithm>

#include "planner/semantics/sort_scratch.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

Shape IntegersOf(int64_t length) { return Shape{Dim(length)}; }

// embedding_backward_cuda_kernel (cuda/EmbeddingBackwardKernel.cu): segments of equal numbers, split into runs of 10
// rows.
void SumSegments(Eager& e, int64_t indices, int64_t rows, const Tensor& grad_weight) {
  constexpr int64_t kRowsPerThread = 10;
  const Tensor segment_offsets = e.Empty(IntegersOf(indices), DType::kInt64);
  const Tensor segment_count = e.Empty(Shape(), DType::kInt64);
  {
    const Storage unique_keys = e.Scratch(Bytes::Of(8) * indices);
    e.Scratch(UniqueByKeyScratch(e.spec().capability, indices));
  }
  const int64_t segments = std::min(indices, rows);
  const Tensor partials = e.Empty(IntegersOf(segments), DType::kInt64);
  const Tensor partial_offsets = e.Empty(IntegersOf(segments), DType::kInt64);
  e.Scratch(ExclusiveSumScratch(segments));
  const Tensor partial_count = e.Empty(Shape(), DType::kInt64);
  const int64_t runs = indices / kRowsPerThread + segments;
  const Tensor run_offsets = e.Empty(IntegersOf(runs), DType::kInt64);
  const bool half = BitWidth(grad_weight->dtype) == 16;
  const Tensor sums = e.Empty(Shape{Dim(runs), grad_weight->sizes[1]}, half ? DType::kFloat32 : grad_weight->dtype);
}

// embedding_dense_backward_cuda (cuda/Embedding.cu). by_frequency (scale_grad_by_freq): how often each number is there
// is counted by two scans of the sorted ones, however few they are.
Tensor DenseBackward(Eager& e, const Tensor& grad_given, const Tensor& indices, const Shape& table, bool by_frequency) {
  OpScope scope(e, "aten::embedding_backward");
  const Tensor grad = Contiguous(e, grad_given);
  constexpr int64_t kUnsorted = 3072;
  const int64_t count = indices->numel();
  if (count <= kUnsorted && !by_frequency) {
    const Tensor contiguous = Contiguous(e, indices);
    return e.Empty(table, grad->dtype);
  }
  const Tensor sorted = e.Empty(indices->sizes, indices->dtype);
  const Tensor original = e.Empty(indices->sizes, indices->dtype);
  {
    const Tensor range = e.Empty(Shape{indices->sizes.Elements()}, indices->dtype);
    e.Scratch(RadixSortScratch(e.spec().capability, count, 8, 8, 64));
  }
  Tensor counts;
  if (by_frequency) {
    counts = e.Empty(indices->sizes, indices->dtype);
    for (int scan = 0; scan < 2; ++scan) e.Scratch(ScanByKeyScratch(count));
  }
  Tensor grad_weight = e.Empty(table, grad->dtype);
  SumSegments(e, count, e.At(table[0]), grad_weight);
  return grad_weight;
}

// embedding_bag (cuda/EmbeddingBag.cu). Bags of one length are given as a matrix, whose offsets are counted out
// (torch/nn/functional.py). Of mode max the places of the maxima are kept, and the backward needs only them; the others
// sort the numbers however few they are.
void EmbeddingBag(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::embedding_bag");
  constexpr int64_t kMax = 2;
  const Tensor &weight = c.In(0), &indices = c.In(1);
  const bool matrix = indices->dim() == 2;
  const bool maximum = c.Int("mode") == kMax;
  const Dim bags = matrix || !c.Has(2) ? indices->sizes[0] : c.In(2)->sizes[0];
  const Tensor flat = Reshape(e, indices, Shape{indices->sizes.Elements()});
  const Tensor offsets = c.Has(2) && !matrix ? c.In(2) : e.Empty(Shape{bags}, DType::kInt64);
  const Shape sizes{bags, weight->sizes[1]};
  const Tensor lengths = e.Empty(Shape{bags}, DType::kInt64), bag_of = e.Empty(flat->sizes, DType::kInt64);
  Tensor out = e.Empty(sizes, weight->dtype);
  const Tensor places = maximum ? e.Empty(sizes, DType::kInt64) : Tensor();
  if (GradNode* node = e.Record("EmbeddingBagBackward0", {weight}, {out})) {
    node->Save(flat).Save(offsets).Save(bag_of).Save(lengths).Save(places);
    node->Backward([table = weight->sizes, maximum](GradContext& g) {
      OpScope backward(g.e, "aten::_embedding_bag_backward");
      if (maximum) return g.Set(0, g.e.Empty(table, g.grad()->dtype));
      const Tensor& numbers = g.saved(0);
      const Tensor sorted = g.e.EmptyLike(numbers), original = g.e.EmptyLike(numbers);
      {
        const Tensor range = g.e.EmptyLike(numbers);
        g.e.Scratch(RadixSortScratch(g.e.spec().capability, numbers->numel(), 8, 8, 64));
      }
      Tensor grad_weight = g.e.Empty(table, g.grad()->dtype);
      SumSegments(g.e, numbers->numel(), g.e.At(table[0]), grad_weight);
      g.Set(0, std::move(grad_weight));
    });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> EmbeddingBagRules() { return {{"embedding_bag", EmbeddingBag}}; }

Tensor Embedding(Eager& e, const Tensor& weight, const Tensor& indices, bool by_frequency) {
  OpScope scope(e, "aten::embedding");
  Shape sizes = indices->sizes;
  sizes.Append(weight->sizes[1]);
  const Tensor flat = Reshape(e, indices, Shape{indices->sizes.Elements()});  // copies broadcast indices
  Tensor out = e.Empty(sizes, weight->dtype);
  if (GradNode* node = e.Record("EmbeddingBackward0", {weight}, {out})) {
    node->Save(indices);
    node->Backward([table = weight->sizes, by_frequency](GradContext& g) {
      g.Set(0, DenseBackward(g.e, g.grad(), g.saved(0), table, by_frequency));
    });
  }
  return out;
}

}  // namespace vramplan::eager
