#include "planner/semantics/loss.h"

#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {

// The fp32 policy of autocast.
Tensor InFloat32(Eager& e, const Tensor& t) {
  const bool amp = IsAutocast(e.spec().precision);
  return amp && IsFloating(t->dtype) && BitWidth(t->dtype) == 16 ? ToType(e, t, DType::kFloat32) : t;
}

Tensor Reduced(Eager& e, const Tensor& each, LossReduction reduction) {
  if (reduction == LossReduction::kNone) return each;
  return reduction == LossReduction::kSum ? Sum(e, each, {}, false) : Mean(e, each, {}, false);
}

// The backward needs what stood there (derivatives.yaml saves self): in place it is cloned.
Tensor ClampMin(Eager& e, const Tensor& t, bool inplace) {
  const Tensor kept = inplace && e.grad_mode && t->tracked() ? e.EmptyLike(t) : t;
  Tensor out = inplace ? e.Overwrite(t) : e.EmptyLike(t);
  if (GradNode* node = e.Record("ClampMinBackward0", {t}, {out})) {
    node->Save(kept);
    node->Backward([](GradContext& g) {  // where(self >= min, grad, 0)
      const Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
      const Tensor above = g.e.EmptyLike(g.saved(0), DType::kBool);
      g.Set(0, g.e.EmptyLike(g.grad()));
    });
  }
  return out;
}

Tensor WhereTarget(Eager& e, const Tensor& target, const Tensor& t) {
  const Tensor condition = e.EmptyLike(target, DType::kBool);
  Tensor out = e.EmptyLike(t);
  if (GradNode* node = e.Record("WhereBackward0", {t}, {out})) {
    node->Save(condition);
    node->Backward([](GradContext& g) {
      Tensor zero = g.e.Empty(Shape(), g.grad()->dtype);
      Tensor result = g.e.EmptyLike(g.grad());
      zero = Tensor();
      g.Set(0, std::move(result));
    });
  }
  return out;
}

namespace {

Tensor ScalarOver(Eager& e, const Tensor& whole) { return e.AsStrided(whole, Shape(), Ints()); }

// mse_loss, smooth_l1_loss, huber_loss: structured kernels whose result is laid out at the operands' size before it is
// reduced into a scalar; soft_margin_loss alike.
Tensor Elementwise(Eager& e, const Tensor& input_given, const Tensor& target_given, LossReduction reduction,
                   const char* name, const char* entry) {
  OpScope scope(e, name);
  const Tensor input = InFloat32(e, input_given), target = InFloat32(e, target_given);
  const DType type = Promote(input, target);
  Tensor out = e.EmptyIterator({&input, &target}, type);
  if (reduction != LossReduction::kNone) {
    const Tensor each = e.EmptyIterator({&input, &target}, type);
    AllocateReduceScratch(e, *each, {}, type);
    out = ScalarOver(e, out);
  }
  if (GradNode* node = e.Record(entry, {input, target}, {out})) {
    node->Save(input).Save(target);
    node->Backward([](GradContext& g) {  // mse_loss_backward: zeros_like(input, contiguous)
      if (g.Needs(0)) g.Set(0, g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype));
      if (g.Needs(1)) g.Set(1, g.e.Empty(g.saved(1)->sizes, g.saved(1)->dtype));
    });
  }
  return out;
}

}  // namespace

Tensor MseLoss(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction) {
  return Elementwise(e, input, target, reduction, "aten::mse_loss", "MseLossBackward0");
}

Tensor SmoothL1(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction) {
  return Elementwise(e, input, target, reduction, "aten::smooth_l1_loss", "SmoothL1LossBackward0");
}

// huber_loss (Loss.cpp) writes into one tensor, and reduces that into a new one.
Tensor Huber(Eager& e, const Tensor& input_given, const Tensor& target_given, LossReduction reduction) {
  OpScope scope(e, "aten::huber_loss");
  const Tensor input = InFloat32(e, input_given), target = InFloat32(e, target_given);
  Tensor out = e.EmptyIterator({&input, &target}, Promote(input, target));
  if (reduction != LossReduction::kNone) {
    const Tensor each = out;
    out = e.Empty(Shape(), each->dtype);
    AllocateReduceScratch(e, *each, {}, each->dtype);
  }
  if (GradNode* node = e.Record("HuberLossBackward0", {input, target}, {out})) {
    node->Save(input).Save(target);
    node->Backward([](GradContext& g) {
      for (int i = 0; i < 2; ++i) {
        if (g.Needs(i)) g.Set(i, g.e.Empty(g.saved(i)->sizes, g.saved(i)->dtype));
      }
    });
  }
  return out;
}

// l1_loss: (input - target).abs().mean().
Tensor L1(Eager& e, const Tensor& input_given, const Tensor& target_given, LossReduction reduction) {
  OpScope scope(e, "aten::l1_loss");
  const Tensor input = InFloat32(e, input_given), target = InFloat32(e, target_given);
  Tensor magnitude;
  {
    const Tensor difference = Sub(e, input, target);
    magnitude = Abs(e, difference);
  }
  return Reduced(e, magnitude, reduction);
}

// binary_cross_entropy_out_cuda: a loss for each element, then the mean copied into its first element.
Tensor Bce(Eager& e, const Tensor& input, const Tensor& target, const Tensor& weight, LossReduction reduction) {
  OpScope scope(e, "aten::binary_cross_entropy");
  Tensor out = e.EmptyLike(input);
  if (reduction != LossReduction::kNone) {
    const Tensor mean = e.Empty(Shape(), input->dtype);
    AllocateReduceScratch(e, *out, {}, input->dtype);
    out = ScalarOver(e, out);
  }
  if (GradNode* node = e.Record("BinaryCrossEntropyBackward0", {input}, {out})) {
    node->Save(input).Save(target).Save(weight);
    node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.saved(0))); });
  }
  return out;
}

// Loss.cpp: log_sigmoid(input), with pos_weight times (pos_weight - 1) * target + 1, then (1 -
// target).mul_(input).sub_(it), then the mean.
Tensor BceLogits(Eager& e, const Tensor& input_given, const Tensor& target_given, const BceOptions& options) {
  OpScope scope(e, "aten::binary_cross_entropy_with_logits");
  const Tensor input = InFloat32(e, input_given), target = InFloat32(e, target_given);
  const Tensor& positive = options.positive_weight;
  Tensor out;
  {
    const Tensor log_sigmoid = e.EmptyLike(input);
    if (positive) {
      Tensor less = e.EmptyLike(positive);
      const Tensor product = Iterate(e, less, target, target->dtype);
      less = Tensor();
    }
    const Tensor each = e.EmptyLike(target);
    out = each;
    if (options.reduction != LossReduction::kNone) {
      out = e.Empty(Shape(), each->dtype);
      AllocateReduceScratch(e, *each, {}, each->dtype);
    }
  }
  if (GradNode* node = e.Record("BinaryCrossEntropyWithLogitsBackward0", {input}, {out})) {
    node->Save(positive).Save(input).Save(target).Save(options.weight);
    node->Backward([](GradContext& g) {
      if (!g.saved(0)) return g.Set(0, g.e.EmptyLike(g.saved(1)));  // sigmoid(input), in place from there
      // t = pos_weight * target; t.add(1).sub_(target).mul_(sigmoid(input)).sub_(t)
      const Tensor scaled = Iterate(g.e, g.saved(0), g.saved(2), g.grad()->dtype);
      Tensor result = g.e.EmptyLike(scaled);
      { const Tensor sigmoid = g.e.EmptyLike(g.saved(1)); }
      g.Set(0, std::move(result));
    });
  }
  return out;
}

// Loss.cpp: xlogy(target, target) - target * input, or of log targets target.exp() * (target - input); then the mean.
Tensor KlDiv(Eager& e, const Tensor& input_given, const Tensor& target_given, LossReduction reduction,
             bool log_target) {
  OpScope scope(e, "aten::kl_div");
  const Tensor input = InFloat32(e, input_given), target = InFloat32(e, target_given);
  Tensor each;
  if (log_target) {
    Tensor difference = Sub(e, target, input);
    const Tensor exponential = e.EmptyLike(target);
    each = Mul(e, exponential, difference);
    difference = Tensor();
  } else {
    const Tensor entropy = e.EmptyLike(target);
    const Tensor cross = Mul(e, target, input);
    each = Sub(e, entropy, cross);
  }
  return Reduced(e, each, reduction);
}

// soft_margin_loss (Loss.cpp): neg_(input).mul_(target) ... all in the one new tensor.
Tensor SoftMargin(Eager& e, const Tensor& input_given, const Tensor& target_given, LossReduction reduction) {
  OpScope scope(e, "aten::soft_margin_loss");
  const Tensor input = InFloat32(e, input_given), target = InFloat32(e, target_given);
  Tensor out = e.EmptyLike(input);
  if (reduction != LossReduction::kNone) {
    const Tensor mean = e.Empty(Shape(), input->dtype);
    AllocateReduceScratch(e, *out, {}, input->dtype);
    out = ScalarOver(e, out);
  }
  if (GradNode* node = e.Record("SoftMarginLossBackward0", {input}, {out})) {
    node->Save(input).Save(target);
    node->Backward([](GradContext& g) {  // z = exp(-target * self); -target * z * grad / (1 + z)
      Tensor exponent;
      {
        const Tensor negative = g.e.EmptyLike(g.saved(1)), product = g.e.EmptyLike(g.saved(0));
        exponent = g.e.EmptyLike(product);
      }
      g.Set(0, g.e.EmptyLike(g.saved(0)));
    });
  }
  return out;
}

LossReduction LossReductionOf(const Call& c) {
  const std::string text = c.layer.attributes.Text("reduction", "mean");
  return text == "none" ? LossReduction::kNone : text == "sum" ? LossReduction::kSum : LossReduction::kMean;
}

namespace {

template <Tensor (*loss)(Eager&, const Tensor&, const Tensor&, LossReduction)>
void RunLoss(Call& c) {
  c.Return(loss(c.e, c.In(0), c.In(1), LossReductionOf(c)));
}

}  // namespace

std::vector<OpRule> LossRules() {
  const auto cross_entropy = [](Call& c) {
    c.Return(CrossEntropy(c.e, c.In(0), c.In(1), {c.In(2), LossReductionOf(c), c.Real("label_smoothing") != 0}));
  };
  const auto bce = [](Call& c) { c.Return(Bce(c.e, c.In(0), c.In(1), c.In(2), LossReductionOf(c))); };
  const auto bce_logits = [](Call& c) {
    c.Return(BceLogits(c.e, c.In(0), c.In(1), {c.In(2), c.In(3), LossReductionOf(c)}));
  };
  const auto nll = [](Call& c) { c.Return(Nll(c.e, c.In(0), c.In(1), c.In(2), LossReductionOf(c))); };
  return {
      {"cross_entropy", cross_entropy},
      {"cross_entropy_loss", cross_entropy},
      {"nll_loss", nll},
      {"nll_loss_nd", nll},
      {"mse_loss", RunLoss<MseLoss>},
      {"l1_loss", RunLoss<L1>},
      {"smooth_l1_loss", RunLoss<SmoothL1>},
      {"huber_loss", RunLoss<Huber>},
      {"soft_margin_loss", RunLoss<SoftMargin>, Cast::kFloat32},
      {"bce", bce},
      {"binary_cross_entropy", bce},
      {"bce_logits", bce_logits},
      {"binary_cross_entropy_with_logits", bce_logits},
      {"kl_div", [](Call& c) { c.Return(KlDiv(c.e, c.In(0), c.In(1), LossReductionOf(c), c.Int("log_target") != 0)); }},
  };
}

}  // namespace vramplan::eager
