#include "planner/semantics/loss.h"

#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/softmax.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

bool IsHalf(DType type) { return type == DType::kFloat16 || type == DType::kBFloat16; }

// The fp32 policy of autocast.
Tensor Cast32(Eager& e, const Tensor& t) {
  const bool amp = e.spec().precision == Precision::kAmpFp16 || e.spec().precision == Precision::kAmpBf16;
  return amp && IsHalf(t->dtype) ? ToType(e, t, DType::kFloat32) : t;
}

Tensor ScalarOver(Eager& e, const Tensor& whole) { return e.AsStrided(whole, Shape(), Ints()); }

// mse_loss, smooth_l1_loss: structured kernels whose result is laid out at the operands' size before it is reduced into
// a scalar.
Tensor Elementwise(Eager& e, const Tensor& input_given, const Tensor& target_given, const char* name,
                   const char* entry) {
  OpScope scope(e, name);
  const Tensor input = Cast32(e, input_given), target = Cast32(e, target_given);
  const DType type = Promote(input, target);
  const Tensor result = e.EmptyIterator({&input, &target}, type);
  {
    const Tensor each = e.EmptyIterator({&input, &target}, type);
    AllocateReduceScratch(e, *each, {}, type);
  }
  Tensor out = ScalarOver(e, result);
  if (GradNode* node = e.Record(entry, {input, target}, {out})) {
    node->Save(input).Save(target);
    node->Backward([](GradContext& g) {  // mse_loss_backward: zeros_like(input, contiguous)
      if (g.Needs(0)) g.Set(0, g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype));
      if (g.Needs(1)) g.Set(1, g.e.Empty(g.saved(1)->sizes, g.saved(1)->dtype));
    });
  }
  return out;
}

// nll_loss_nd (LossNLL.cpp): one axis of classes and none or one of samples; two further axes run as nll_loss2d, other
// counts are reshaped to it.
Tensor NllOf(Eager& e, const Tensor& input, const Tensor& target) {
  OpScope scope(e, "aten::nll_loss");
  const bool flat = input->dim() <= 2;
  Tensor probabilities = input;
  if (!flat && input->dim() != 4) {
    Dim rest(1);
    for (int i = 2; i < input->dim(); ++i) rest = rest * input->sizes[i];
    probabilities = Reshape(e, input, Shape{input->sizes[0], input->sizes[1], Dim(1), rest});
  }
  Tensor out, weight;
  if (flat) {  // nll_loss_forward: output, then total_weight
    out = e.Empty(Shape(), probabilities->dtype);
    weight = e.Empty(Shape(), probabilities->dtype);
  } else {  // nll_loss2d_forward_out_cuda_template resizes them the other way round
    weight = e.Empty(Shape(), probabilities->dtype);
    out = e.Empty(Shape(), probabilities->dtype);
    const Tensor contiguous = Contiguous(e, e.Alias(probabilities));
  }
  if (GradNode* node = e.Record(flat ? "NllLossBackward0" : "NllLoss2DBackward0", {probabilities}, {out})) {
    node->Save(probabilities).Save(target).Save(weight);
    node->Backward([flat](GradContext& g) {
      OpScope backward(g.e, flat ? "aten::nll_loss_backward" : "aten::nll_loss2d_backward");
      const Tensor& self = g.saved(0);
      g.Set(0, flat ? g.e.Empty(self->sizes, self->dtype) : g.e.EmptyLike(self));
    });
  }
  return out;
}

}  // namespace

Tensor Nll(Eager& e, const Tensor& log_probabilities, const Tensor& target) {
  return NllOf(e, Cast32(e, log_probabilities), target);
}

Tensor CrossEntropy(Eager& e, const Tensor& logits, const Tensor& target) {
  OpScope scope(e, "aten::cross_entropy_loss");
  return Nll(e, LogSoftmax(e, logits, logits->dtype), target);
}

Tensor MseLoss(Eager& e, const Tensor& input, const Tensor& target) {
  return Elementwise(e, input, target, "aten::mse_loss", "MseLossBackward0");
}

Tensor SmoothL1(Eager& e, const Tensor& input, const Tensor& target) {
  return Elementwise(e, input, target, "aten::smooth_l1_loss", "SmoothL1LossBackward0");
}

// l1_loss: (input - target).abs().mean().
Tensor L1(Eager& e, const Tensor& input_given, const Tensor& target_given) {
  OpScope scope(e, "aten::l1_loss");
  const Tensor input = Cast32(e, input_given), target = Cast32(e, target_given);
  Tensor magnitude;
  {
    const Tensor difference = Sub(e, input, target);
    magnitude = e.EmptyLike(difference);
    if (GradNode* node = e.Record("AbsBackward0", {difference}, {magnitude})) {
      node->Save(difference);
      node->Backward([](GradContext& g) {  // grad * self.sgn()
        const Tensor sign = g.e.EmptyLike(g.saved(0));
        g.Set(0, g.e.EmptyIterator({&g.grad(), &sign}, g.grad()->dtype));
      });
    }
  }
  return Mean(e, magnitude, {}, false);
}

// binary_cross_entropy_out_cuda: a loss for each element, then the mean copied into its first element.
Tensor Bce(Eager& e, const Tensor& input, const Tensor& target) {
  OpScope scope(e, "aten::binary_cross_entropy");
  const Tensor each = e.EmptyLike(input);
  {
    const Tensor mean = e.Empty(Shape(), input->dtype);
    AllocateReduceScratch(e, *each, {}, input->dtype);
  }
  Tensor out = ScalarOver(e, each);
  if (GradNode* node = e.Record("BinaryCrossEntropyBackward0", {input}, {out})) {
    node->Save(input).Save(target);
    node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.saved(0))); });
  }
  return out;
}

// Loss.cpp: log_sigmoid(input), then (1 - target).mul_(input).sub_(it), then the mean.
Tensor BceLogits(Eager& e, const Tensor& input_given, const Tensor& target_given) {
  OpScope scope(e, "aten::binary_cross_entropy_with_logits");
  const Tensor input = Cast32(e, input_given), target = Cast32(e, target_given);
  Tensor out;
  {
    const Tensor log_sigmoid = e.EmptyLike(input);
    const Tensor each = e.EmptyLike(target);
    out = e.Empty(Shape(), each->dtype);
    AllocateReduceScratch(e, *each, {}, each->dtype);
  }
  if (GradNode* node = e.Record("BinaryCrossEntropyWithLogitsBackward0", {input}, {out})) {
    node->Save(input).Save(target);
    node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.saved(0))); });  // sigmoid(input), in place from there
  }
  return out;
}

// Loss.cpp: xlogy(target, target) - target * input, then the mean.
Tensor KlDiv(Eager& e, const Tensor& input_given, const Tensor& target_given) {
  OpScope scope(e, "aten::kl_div");
  const Tensor input = Cast32(e, input_given), target = Cast32(e, target_given);
  Tensor each;
  {
    const Tensor entropy = e.EmptyLike(target);
    const Tensor cross = Mul(e, target, input);
    each = Sub(e, entropy, cross);
  }
  return Mean(e, each, {}, false);
}

std::vector<OpRule> LossRules() {
  const auto cross_entropy = [](Call& c) { c.Return(CrossEntropy(c.e, c.In(0), c.In(1))); };
  const auto bce = [](Call& c) { c.Return(Bce(c.e, c.In(0), c.In(1))); };
  const auto bce_logits = [](Call& c) { c.Return(BceLogits(c.e, c.In(0), c.In(1))); };
  const auto nll = [](Call& c) { c.Return(Nll(c.e, c.In(0), c.In(1))); };
  return {
      {"cross_entropy", cross_entropy},
      {"cross_entropy_loss", cross_entropy},
      {"nll_loss", nll},
      {"nll_loss_nd", nll},
      {"mse_loss", [](Call& c) { c.Return(MseLoss(c.e, c.In(0), c.In(1))); }},
      {"l1_loss", [](Call& c) { c.Return(L1(c.e, c.In(0), c.In(1))); }},
      {"smooth_l1_loss", [](Call& c) { c.Return(SmoothL1(c.e, c.In(0), c.In(1))); }},
      {"bce", bce},
      {"binary_cross_entropy", bce},
      {"bce_logits", bce_logits},
      {"binary_cross_entropy_with_logits", bce_logits},
      {"kl_div", [](Call& c) { c.Return(KlDiv(c.e, c.In(0), c.In(1))); }},
  };
}

}  // namespace vramplan::eager
