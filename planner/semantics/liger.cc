// Liger's kernels (liger-kernel 0.8.5, liger_kernel/ops): each is a torch.autograd.Function around Triton kernels, which
// allocate nothing themselves.
#include <algorithm>
#include <bit>
#include <utility>

#include "planner/semantics/blas.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// x.view(...) without a tape: it holds x.
Tensor ViewOf(Eager& e, const Tensor& x) { return e.AsStrided(x, x->sizes, x->strides); }

// ops/rms_norm.py: the result is of x's type whatever the weight's is; kept are x, the weight and a number of fp32 for each
// row. The weight's gradient is summed over the multiprocessors, in fp32; that of x is written over the one that arrives
// (`over`: in_place), or into another.
void RmsNorm(Call& c) {
  Eager& e = c.e;
  const OpScope scope(e, "LigerRMSNormFunction");
  const Tensor &x = c.In(0), &weight = c.In(1);
  NoGradGuard forward(e);
  const Tensor kept = ViewOf(e, Contiguous(e, x));
  Tensor out = e.Empty(x->sizes, x->dtype);
  Dim rows(1);
  for (int axis = 0; axis + 1 < x->dim(); ++axis) rows = rows * x->sizes[axis];
  const Tensor rstd = e.Empty(Shape{rows}, DType::kFloat32);
  forward.Leave();
  const SavesAtEnd at_end(e);
  if (GradNode* node = e.Record("LigerRMSNormFunctionBackward", {x, weight}, {out})) {
    node->Save(kept).Save(weight).Save(rstd);
    node->Backward([over = c.Int("over") != 0](GradContext& g) {
      const Tensor& w = g.saved(1);
      const Tensor arrived = Contiguous(g.e, g.grad());
      Tensor partial, to_weight;
      if (g.Needs(1)) partial = g.e.Empty(Shape{Dim(g.e.spec().multiprocessors), w->sizes[0]}, DType::kFloat32);
      const Tensor to_x = over ? arrived : g.e.EmptyLike(arrived);
      if (g.Needs(1)) to_weight = ToType(g.e, SumKernel(g.e, partial, {0}, false), w->dtype);
      g.Set(0, ViewOf(g.e, to_x));
      g.Set(1, std::move(to_weight));
    });
  }
  c.Return(std::move(out));
}

// ops/swiglu.py, ops/geglu.py: kept are both operands, and the backward writes their gradients over them.
void Gated(Call& c) {
  Eager& e = c.e;
  const OpScope scope(e, "LigerSiLUMulFunction");
  NoGradGuard forward(e);
  const Tensor gate = ViewOf(e, Contiguous(e, c.In(0))), up = ViewOf(e, Contiguous(e, c.In(1)));
  Tensor out = e.EmptyLike(gate);
  forward.Leave();
  const SavesAtEnd at_end(e);
  if (GradNode* node = e.Record("LigerSiLUMulFunctionBackward", {c.In(0), c.In(1)}, {out})) {
    node->Save(gate).Save(up);
    node->Backward([](GradContext& g) {
      const Tensor arrived = Contiguous(g.e, g.grad());
      g.Set(0, ViewOf(g.e, g.saved(0)));
      g.Set(1, ViewOf(g.e, g.saved(1)));
    });
  }
  c.Return(std::move(out));
}

// ops/rope.py: queries and keys are rotated where they are, if they lie as a projection makes them, and so are their
// gradients.
Tensor Rotated(Eager& e, const Tensor& x) { return Transpose(e, Contiguous(e, Transpose(e, x, 1, 2)), 1, 2); }

void Rope(Call& c) {
  Eager& e = c.e;
  const OpScope scope(e, "LigerRopeFunction");
  NoGradGuard forward(e);
  Tensor queries = Rotated(e, c.In(0)), keys = Rotated(e, c.In(1));
  forward.Leave();
  const SavesAtEnd at_end(e);
  if (GradNode* node = e.Record("LigerRopeFunctionBackward", {c.In(0), c.In(1)}, {queries, keys})) {
    node->Save(c.In(2)).Save(c.In(3));
    node->Backward([](GradContext& g) {
      for (int i = 0; i < 2; ++i) {
        const GradNode::OutputFacts& of = g.node.outputs[static_cast<size_t>(i)];
        const Tensor arrived = g.grad(i) ? g.grad(i) : g.e.Empty(of.layout->sizes, of.dtype);
        g.Set(i, Rotated(g.e, arrived));
      }
    });
  }
  c.Return(std::move(queries), 0);
  c.Return(std::move(keys), 1);
}

// triton.next_power_of_2
int64_t NextPowerOfTwo(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); }
int64_t Over(int64_t a, int64_t b) { return (a + b - 1) / b; }

// ops/fused_linear_cross_entropy.py: logits of so many rows at once, at most as many bytes as the hidden states take, and
// the gradients with them, in the forward.
class LinearCrossEntropy {
 public:
  LinearCrossEntropy(Eager& e, const Tensor& x, const Tensor& weight) : e_(e), x_(x), weight_(weight) {
    const Precision precision = e.spec().precision;
    lower_ = precision == Precision::kAmpFp16   ? DType::kFloat16
             : precision == Precision::kAmpBf16 ? DType::kBFloat16
                                                : x->dtype;
    // _can_use_mm_out
    one_type_ = x->dtype == weight->dtype && x->dtype == lower_;
  }

  Tensor Forward() {
    const Dim rows = x_->sizes[0];
    const int64_t all = e_.At(rows), words = weight_->lengths[0];
    const int64_t chunk = std::min(all, NextPowerOfTwo(Over(all, Over(words, x_->lengths[1]))));
    to_x = e_.EmptyLike(x_);
    if (x_->tracked() && weight_->tracked()) to_weight = e_.EmptyLike(weight_);
    const Tensor each = e_.Empty(Shape{rows}, DType::kFloat32);
    const Tensor counted = e_.Empty(Shape{rows}, DType::kBool);
    { const Tensor number = SumKernel(e_, counted, {}, false); }
    {
      Tensor storage;
      if (one_type_) storage = Rows(chunk == all ? rows : Dim(chunk), weight_->sizes[0], x_->dtype);
      for (int64_t begin = 0; begin < all; begin += chunk) {
        const int64_t length = std::min(chunk, all - begin);
        const Dim part = length == all ? rows : Dim(length);
        one_type_ ? Products() : Cast(part);
      }
    }
    weight_in_lower_ = Tensor();
    return SumKernel(e_, each, {}, false);
  }

  Tensor to_x, to_weight;

 private:
  Tensor Rows(Dim rows, Dim width, DType type) { return e_.Empty(Shape{rows, width}, type); }
  void Product() { const Storage workspace = CublasWorkspace(e_); }

  // Everything is of one type: logits, the gradient of the hidden states and that of the weight have their places.
  void Products() {
    Product();
    if (!x_->tracked()) return;
    Product();
    if (to_weight) AddToWeight(x_->dtype, Dim());
  }

  // Under autocast the operands are cast for each product; the weight for the logits is a view, of which no cast is kept.
  void Cast(Dim rows) {
    const Dim words = weight_->sizes[0], width = x_->sizes[1];
    Tensor logits;
    {
      const Tensor states = x_->dtype == lower_ ? Tensor() : Rows(rows, width, lower_);
      const Tensor weight = weight_->dtype == lower_ ? Tensor() : Rows(words, width, lower_);
      logits = Rows(rows, words, lower_);
      Product();
    }
    if (!x_->tracked()) return;
    {
      Tensor weight = weight_in_lower_;
      if (!weight && weight_->dtype != lower_) weight = Rows(words, width, lower_);
      if (weight_->tracked()) weight_in_lower_ = weight;  // a leaf: the cast is kept until the region ends
      const Tensor part = Rows(rows, width, lower_);
      Product();
    }
    if (to_weight) AddToWeight(lower_, rows);
  }

  // Into the sum, from compute capability 8.0 on, and into one of fp32 from PyTorch 2.8 on; else by way of a product and
  // its copy in fp32.
  void AddToWeight(DType logits, Dim rows) {
    const bool halves = logits == DType::kFloat16 || logits == DType::kBFloat16;
    const bool into_fp32 = to_weight->dtype == DType::kFloat32 && e_.spec().framework >= Framework{2, 8};
    const bool accumulates = halves && e_.spec().capability.major >= 8 && (into_fp32 || to_weight->dtype == logits);
    Tensor states;
    if (x_->dtype != logits) states = Rows(rows, x_->sizes[1], logits);
    if (accumulates) {
      Product();
      return;
    }
    Tensor product = e_.EmptyLike(to_weight, logits);
    Product();
    states = Tensor();
    const Tensor in_full = ToType(e_, product, DType::kFloat32);
    product = Tensor();
  }

  Eager& e_;
  const Tensor& x_;
  const Tensor& weight_;
  DType lower_;
  bool one_type_;
  Tensor weight_in_lower_;
};

void Loss(Call& c) {
  Eager& e = c.e;
  const OpScope scope(e, "LigerFusedLinearCrossEntropyFunction");
  const Tensor &hidden = c.In(0), &weight = c.In(1);
  const Tensor x = View(e, hidden, Shape{hidden->sizes[0] * hidden->sizes[1], hidden->sizes[2]});
  NoGradGuard forward(e);
  LinearCrossEntropy loss(e, x, weight);
  Tensor out = loss.Forward();
  forward.Leave();
  const SavesAtEnd at_end(e);
  if (GradNode* node = e.Record("LigerFusedLinearCrossEntropyFunctionBackward", {x, weight}, {out})) {
    node->Save(loss.to_x).Save(loss.to_weight);
    node->Backward([](GradContext& g) {
      {  // torch.equal(grad_output, torch.tensor(1.0))
        const Tensor one = g.e.Empty(Shape(), DType::kFloat32);
        const Tensor same = g.e.Empty(Shape(), DType::kBool), all = g.e.Empty(Shape(), DType::kBool);
      }
      g.Set(0, g.saved(0));
      g.Set(1, g.saved(1));
    });
  }
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> LigerRules() {
  return {
      {"liger_rms_norm", RmsNorm}, {"liger_glu", Gated}, {"liger_rope", Rope}, {"liger_linear_cross_entropy", Loss}};
}

}  // namespace vramplan::eager
