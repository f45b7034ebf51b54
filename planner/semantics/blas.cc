#include "planner/semantics/blas.h"

#include "planner/semantics/einsum.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

constexpr Framework kTransientWorkspaces{2, 15};
constexpr Framework kCachedLt{2, 10};  // measured at 2.6 (not kept) and 2.10 (kept); between them unknown

// ":4096:2:16:8" in KiB, or 32 MiB on Hopper (aten/src/ATen/cuda/CublasHandlePool.cpp parseChosenWorkspaceSize).
Bytes CublasWorkspaceSize(Capability capability) {
  return capability.major == 9 && capability.minor == 0 ? Bytes::KiB(4096 * 8) : Bytes::KiB(4096 * 2 + 16 * 8);
}

Storage Kept(Eager& e, const char* library, Bytes bytes) {
  Storage& handle = e.handles[std::string(library) + (e.thread == Eager::Thread::kMain ? "/main" : "/autograd")];
  if (!handle) handle = e.Scratch(bytes, Category::kWorkspace);
  return handle;
}

// cuBLAS takes row- or column-major matrices; anything else is copied first (prepare_matrix_for_cublas, Blas.cpp).
Tensor PreparedForGemm(Eager& e, const Tensor& t) {
  const int n = t->dim();
  const int64_t rows = t->strides[n - 2], columns = t->strides[n - 1];
  const int64_t height = t->lengths[n - 2], width = t->lengths[n - 1];
  const bool row_major = columns == 1 && rows >= std::max<int64_t>(1, width);
  const bool column_major = rows == 1 && columns >= std::max<int64_t>(1, height);
  if (row_major || column_major) return t;
  return e.Empty(t->sizes, t->dtype);
}

Tensor MmKernel(Eager& e, const Tensor& a, const Tensor& b) {
  OpScope scope(e, "aten::mm");
  Tensor out = e.Empty(Shape{a->sizes[0], b->sizes[1]}, a->dtype);
  const Tensor left = PreparedForGemm(e, a), right = PreparedForGemm(e, b);
  const Storage workspace = CublasWorkspace(e);
  return out;
}

Tensor BmmKernel(Eager& e, const Tensor& a, const Tensor& b) {
  OpScope scope(e, "aten::bmm");
  Tensor out = e.Empty(Shape{a->sizes[0], a->sizes[1], b->sizes[2]}, a->dtype);
  const Tensor left = PreparedForGemm(e, a), right = PreparedForGemm(e, b);
  const Storage workspace = CublasWorkspace(e);
  return out;
}

bool IsColumnMajor(const TensorImpl& t) { return t.strides[0] == 1 && t.strides[1] == t.lengths[0]; }

// mm_mat1_grad, mm_mat2_grad (FunctionsManual.cpp): the gradient takes the layout of the operand.
Tensor LeftGradient(Eager& e, const Tensor& grad, bool a_column_major, const Tensor& b) {
  if (a_column_major) return T(e, MmKernel(e, b, T(e, grad)));
  return MmKernel(e, grad, T(e, b));
}
Tensor RightGradient(Eager& e, const Tensor& grad, const Tensor& a, bool b_column_major) {
  if (b_column_major) return T(e, MmKernel(e, T(e, grad), a));
  return MmKernel(e, T(e, a), grad);
}

// Saves what each side's gradient needs and sets both; `first` is the edge of the left operand. Generated entries take
// inputs in the order of their names: mat1, mat2, self of addmm; mat2, self of mm (observed in truth/events).
void RecordProduct(GradNode* node, int first, const Tensor& a, const Tensor& b) {
  const Tensor kept_a = b->tracked() ? a : Tensor(), kept_b = a->tracked() ? b : Tensor();
  const bool left_first = first == 1;
  node->Save(left_first ? kept_a : kept_b).Save(left_first ? kept_b : kept_a);
  const bool a_column_major = IsColumnMajor(*a), b_column_major = IsColumnMajor(*b);
  node->Backward([first, left_first, a_column_major, b_column_major](GradContext& g) {
    const Tensor &left = g.saved(left_first ? 0 : 1), &right = g.saved(left_first ? 1 : 0);
    if (first == 1 && g.Needs(0)) g.Set(0, g.grad());  // the bias: the engine sums it
    for (const bool takes_left : {left_first, !left_first}) {
      if (takes_left && g.Needs(first)) g.Set(first, LeftGradient(g.e, g.grad(), a_column_major, right));
      if (!takes_left && g.Needs(first + 1)) g.Set(first + 1, RightGradient(g.e, g.grad(), left, b_column_major));
    }
  });
}

}  // namespace

Storage CublasWorkspace(Eager& e) {
  const Bytes size = CublasWorkspaceSize(e.spec().capability);
  if (e.spec().framework >= kTransientWorkspaces) return e.Scratch(size, Category::kWorkspace);
  return Kept(e, "cublas", size);
}

Storage CublasLtWorkspace(Eager& e) {
  const Bytes size = Bytes::MiB(1);
  if (e.spec().framework >= kTransientWorkspaces) return e.Scratch(size, Category::kWorkspace);
  CublasWorkspace(e);  // the Lt path asks for the cuBLAS handle too
  if (e.spec().framework < kCachedLt) return e.Scratch(size, Category::kWorkspace);
  return Kept(e, "cublaslt", size);
}

Tensor Mm(Eager& e, const Tensor& a, const Tensor& b) {
  Tensor out = MmKernel(e, a, b);
  if (GradNode* node = e.Record("MmBackward0", {a, b}, {out})) RecordProduct(node, 0, a, b);
  return out;
}

Tensor Addmm(Eager& e, const Tensor& bias, const Tensor& a, const Tensor& b) {
  Tensor out;
  {
    OpScope scope(e, "aten::addmm");
    out = e.Empty(Shape{a->sizes[0], b->sizes[1]}, a->dtype);
    const Tensor left = PreparedForGemm(e, a), right = PreparedForGemm(e, b);
    // Blas.cpp addmm_out_cuda_impl: cuBLASLt with a bias vector, unless a side of the weight has length 1, or there is
    // but one row (so in 2.10, not in 2.6 and 2.15).
    const bool one_row =
        a->lengths[0] == 1 && e.spec().framework >= kCachedLt && !(e.spec().framework >= kTransientWorkspaces);
    const bool lt = bias->dim() == 1 && IsContiguous(*bias) && b->lengths[0] > 1 && b->lengths[1] > 1 && !one_row;
    const Storage workspace = lt ? CublasLtWorkspace(e) : CublasWorkspace(e);
  }
  if (GradNode* node = e.Record("AddmmBackward0", {bias, a, b}, {out})) RecordProduct(node, 1, a, b);
  return out;
}

Tensor Bmm(Eager& e, const Tensor& a, const Tensor& b) {
  Tensor out = BmmKernel(e, a, b);
  if (GradNode* node = e.Record("BmmBackward0", {a, b}, {out})) {  // mat2, self
    node->Save(a->tracked() ? b : Tensor()).Save(b->tracked() ? a : Tensor());
    node->Backward([](GradContext& g) {
      if (g.Needs(1)) g.Set(1, BmmKernel(g.e, Transpose(g.e, g.saved(1), 1, 2), g.grad()));
      if (g.Needs(0)) g.Set(0, BmmKernel(g.e, g.grad(), Transpose(g.e, g.saved(0), 1, 2)));
    });
  }
  return out;
}

// A bias that is broadcast gets its sum from the engine (derivatives.yaml 2.10, baddbmm: self: maybe_multiply(grad,
// beta)).
static Tensor Baddbmm(Call& c) {
  Eager& e = c.e;
  const Tensor &bias = c.In(0), &a = c.In(1), &b = c.In(2);
  OpScope scope(e, "aten::baddbmm");
  Tensor out = BmmKernel(e, a, b);
  if (GradNode* node = e.Record("BaddbmmBackward0", {bias, a, b}, {out})) {  // batch1, batch2, self
    node->Save(b->tracked() ? a : Tensor()).Save(a->tracked() ? b : Tensor());
    const bool scaled = c.Real("alpha", 1) != 1, scaled_bias = c.Real("beta", 1) != 1;
    node->Backward([scaled, scaled_bias](GradContext& g) {
      const auto times = [&](const Tensor& t, bool factor) { return factor ? g.e.EmptyLike(t) : t; };
      if (g.Needs(1)) g.Set(1, times(BmmKernel(g.e, g.grad(), Transpose(g.e, g.saved(1), 1, 2)), scaled));
      if (g.Needs(2)) g.Set(2, times(BmmKernel(g.e, Transpose(g.e, g.saved(0), 1, 2), g.grad()), scaled));
      if (g.Needs(0)) g.Set(0, times(g.grad(), scaled_bias));
    });
  }
  return out;
}

namespace {

// [..., k] as [product, k].
Shape Flattened(const Tensor& t) {
  Dim rows(1);
  for (int i = 0; i + 1 < t->dim(); ++i) rows = rows * t->sizes[i];
  return Shape{rows, t->sizes.FromEnd(1)};
}

Shape WithLast(const Shape& sizes, Dim last) {
  Shape out = sizes;
  out[out.rank() - 1] = last;
  return out;
}

// should_fold (LinearAlgebra.cpp): a product of a batch with one matrix runs as one mm when the matrix has a gradient
// (folding costs a copy at worst, not folding a gradient of the whole batch), be it a parameter or a view of one in
// evaluation, or the batch lies contiguously.
bool ShouldFold(const Tensor& batch, const Tensor& matrix, bool matrix_is_left = false) {
  if (matrix->tracked() || (matrix->base && matrix->base->requires_grad)) return true;
  if (matrix_is_left) return false;  // the product would have to be turned back by a copy
  for (int i = 0; i + 2 < batch->dim(); ++i) {
    if (batch->strides[i] != batch->strides[i + 1] * batch->lengths[i + 1]) return false;
  }
  return true;
}

// mv, dot: each operand is kept for the gradient of the other; a matrix's is an outer product, which is a mul.
Tensor VectorProduct(Eager& e, const Tensor& a, const Tensor& vector) {
  const bool dot = a->dim() == 1;
  OpScope scope(e, dot ? "aten::dot" : "aten::mv");
  Tensor out = e.Empty(dot ? Shape() : Shape{a->sizes[0]}, a->dtype);
  { const Storage workspace = CublasWorkspace(e); }
  if (GradNode* node = e.Record(dot ? "DotBackward0" : "MvBackward0", {a, vector}, {out})) {
    node->Save(vector->tracked() ? a : Tensor()).Save(a->tracked() ? vector : Tensor());
    node->Backward([dot, left = a->sizes, right = vector->sizes](GradContext& g) {
      if (g.Needs(0)) g.Set(0, g.e.Empty(left, g.grad()->dtype));
      if (!g.Needs(1)) return;
      g.Set(1, g.e.Empty(right, g.grad()->dtype));
      if (!dot) const Storage workspace = CublasWorkspace(g.e);
    });
  }
  return out;
}

// grouped_mm: rows of `a` by groups, each with a matrix of its own. PyTorch's own (GroupedBlas.cpp; derivatives.yaml 2.10,
// _grouped_mm) keeps what either side's gradient needs, and makes that of the matrices first. That of transformers for
// cards before 8.0 (integrations/moe.py, _grouped_mm_fallback) keeps and makes both, whoever needs them. The ends of the
// groups are kept for the backward.
void GroupedMm(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::_grouped_mm");
  const Tensor &a = c.In(0), &matrices = c.In(1), &ends = c.In(2);
  const bool both = c.layer.op == "grouped_mm_fallback";
  Tensor out = e.Empty(Shape{a->sizes[0], matrices->sizes[2]}, a->dtype);
  if (GradNode* node = e.Record("GroupedMmBackward0", {a, matrices, Tensor()}, {out})) {
    const Tensor kept = both || matrices->tracked() ? a : Tensor();
    if (both) {
      node->Save(kept).Save(matrices);  // the ends are an attribute of the context
    } else {
      node->Save(a->tracked() ? matrices : Tensor()).Save(ends).Save(kept);  // mat2, offs, self
    }
    const auto maker = [](const Tensor& t) {
      return [sizes = t->sizes, strides = t->strides, type = t->dtype](GradContext& g) {
        return g.e.EmptyStrided(sizes, strides, type);
      };
    };
    node->Backward(
        [both, held = both ? ends : Tensor(), of_rows = maker(a), of_matrices = maker(matrices)](GradContext& g) {
          Tensor rows, all;
          if (both) rows = of_rows(g);
          if (both || g.Needs(1)) all = of_matrices(g);
          if (!both && g.Needs(0)) rows = of_rows(g);
          if (rows) g.Set(0, std::move(rows));
          if (all) g.Set(1, std::move(all));
        });
  }
  c.Return(std::move(out));
}

}  // namespace

Tensor Matmul(Eager& e, const Tensor& a, const Tensor& b) {
  OpScope scope(e, "aten::matmul");
  if (a->dim() == 2 && b->dim() == 2) return Mm(e, a, b);
  if (a->dim() <= 2 && b->dim() == 1) return VectorProduct(e, a, b);
  if (a->dim() == 1 && b->dim() >= 2) return Matmul(e, Transpose(e, b, -1, -2), a);
  if (a->dim() >= 3 && b->dim() == 1) {  // folded, whatever its strides
    Shape sizes = a->sizes;
    sizes.Remove(sizes.rank() - 1);
    return UnsafeView(e, VectorProduct(e, Reshape(e, a, Flattened(a)), b), sizes);
  }
  if (a->dim() == 2 && b->dim() >= 3) {  // the larger one turned comes first; the result is turned back and copied
    const Tensor turned = Transpose(e, b, -1, -2);
    if (ShouldFold(turned, a, true)) {
      const Tensor out = Mm(e, Reshape(e, turned, Flattened(turned)), T(e, a));
      return Contiguous(e, Transpose(e, UnsafeView(e, out, WithLast(turned->sizes, a->sizes[0])), -1, -2));
    }
  }
  if (a->dim() >= 3 && b->dim() == 2 && ShouldFold(a, b)) {
    Tensor out = Mm(e, Reshape(e, a, Flattened(a)), b);
    return UnsafeView(e, out, WithLast(a->sizes, b->sizes[1]));
  }
  // Batches are broadcast against each other, made three-dimensional (a copy where strides do not allow) and
  // multiplied.
  const int rank = std::max(a->dim(), b->dim());
  Shape batch;
  for (int i = 0; i < rank - 2; ++i) {
    const int ia = i - (rank - a->dim()), ib = i - (rank - b->dim());
    const bool from_b = ia < 0 || (a->lengths[ia] == 1 && ib >= 0);
    batch.Append(from_b ? b->sizes[ib] : a->sizes[ia]);
  }
  const auto folded = [&](const Tensor& t) {
    Shape full = batch;
    full.Append(t->sizes.FromEnd(2));
    full.Append(t->sizes.FromEnd(1));
    return Reshape(e, Expand(e, t, full), Shape{batch.Elements(), t->sizes.FromEnd(2), t->sizes.FromEnd(1)});
  };
  const Tensor left = folded(a);
  const Tensor right = folded(b);
  Tensor out = Bmm(e, left, right);
  Shape sizes = batch;
  sizes.Append(a->sizes.FromEnd(2));
  sizes.Append(b->sizes.FromEnd(1));
  return UnsafeView(e, out, sizes);
}

// What DeepSpeed's stage 3 puts in place of torch.nn.functional.linear (0.19.8, runtime/zero/linear.py): it keeps its
// operands, whoever needs them, and the weight as the parameter, which may have to be gathered for the backward.
static Tensor LinearOfPartitioned(Eager& e, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  OpScope scope(e, "LinearFunctionForZeroStage3");
  NoGradGuard forward(e);
  const bool fused = input->dim() == 2 && bias;
  Tensor out = fused ? Addmm(e, bias, input, T(e, weight)) : Matmul(e, input, T(e, weight));  // bias added in place
  forward.Leave();
  const SavesAtEnd at_end(e);
  if (GradNode* node = e.Record("LinearFunctionForZeroStage3Backward", {input, weight, bias}, {out})) {
    node->Save(input).Save(weight).Save(bias);
    node->Backward([](GradContext& g) {
      const Tensor &gradient = g.grad(), &x = g.saved(0), &w = g.saved(1);
      const bool gathered = g.e.owner->Gather(*w);
      if (g.Needs(0)) g.Set(0, Matmul(g.e, gradient, w));
      if (g.Needs(1))
        g.Set(1, Matmul(g.e, T(g.e, Reshape(g.e, gradient, Flattened(gradient))), Reshape(g.e, x, Flattened(x))));
      if (g.Needs(2)) g.Set(2, SumTo(g.e, gradient, g.saved(2)->sizes));
      if (gathered) g.e.owner->Partition(*w);
    });
  }
  return out;
}

Tensor Linear(Eager& e, const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (e.owner != nullptr) return LinearOfPartitioned(e, input, weight, bias);
  OpScope scope(e, "aten::linear");
  if (input->dim() == 2 && bias) return Addmm(e, bias, input, T(e, weight));
  if (bias && input->dim() > 2 && IsContiguous(*input)) {  // _flatten_nd_linear (Linear.cpp)
    const Tensor flat = Reshape(e, input, Flattened(input));
    Tensor out = Addmm(e, bias, flat, T(e, weight));
    return Reshape(e, out, WithLast(input->sizes, weight->sizes[0]));
  }
  Tensor product = Matmul(e, input, T(e, weight));
  if (!bias) return product;
  Tensor out = e.Alias(product);  // output.add_(bias)
  if (GradNode* node = e.Record("AddBackward0", {product, bias}, {out})) {
    node->Backward([](GradContext& g) {
      if (g.Needs(1)) g.Set(1, g.grad());
      if (g.Needs(0)) g.Set(0, g.grad());
    });
  }
  return out;
}

std::vector<OpRule> BlasRules() {
  return {
      {"linear", [](Call& c) { c.Return(Linear(c.e, c.In(0), c.In(1), c.In(2))); }, Cast::kLower},
      {"addmm", [](Call& c) { c.Return(Addmm(c.e, c.In(0), c.In(1), c.In(2))); }, Cast::kLower},
      {"mm", [](Call& c) { c.Return(Mm(c.e, c.In(0), c.In(1))); }, Cast::kLower},
      // mm(out_dtype=...): autocast does not know it, and it has no gradient (native_functions.yaml 2.10, mm.dtype).
      {"mm_of_type",
       [](Call& c) {
         OpScope scope(c.e, "aten::mm");
         Tensor out = c.e.Empty(c.OutShape(), c.OutType());
         const Storage workspace = CublasWorkspace(c.e);
         c.Return(std::move(out));
       }},
      {"baddbmm", [](Call& c) { c.Return(Baddbmm(c)); }, Cast::kLower},
      {"bmm", [](Call& c) { c.Return(Bmm(c.e, c.In(0), c.In(1))); }, Cast::kLower},
      {"einsum",
       [](Call& c) {
         const auto order = c.Int("cheapest_order") != 0 ? EinsumOrder::kCheapest : EinsumOrder::kFromTheLeft;
         if (auto out = Einsum(c.e, c.layer.attributes.Text("equation", ""), c.inputs, order)) {
           c.Return(std::move(*out));
         } else {
           RunUnknown(c, "has an equation that does not fit its operands");
         }
       },
       Cast::kLower},
      {"matmul", [](Call& c) { c.Return(Matmul(c.e, c.In(0), c.In(1))); }, Cast::kLower},
      {"grouped_mm", GroupedMm},
      {"grouped_mm_fallback", GroupedMm},
  };
}

}  // namespace vramplan::eager
