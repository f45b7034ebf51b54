#include "planner/semantics/loss.h"

#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/softmax.h"
#include "planner/semantics/sort_scratch.h"
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

// What the file's reduction makes of a loss per element, on the tape.
Tensor Reduced(Eager& e, const Tensor& each, LossReduction reduction) {
  if (reduction == LossReduction::kNone) return each;
  return reduction == LossReduction::kSum ? Sum(e, each, {}, false) : Mean(e, each, {}, false);
}

// mse_loss, smooth_l1_loss, huber_loss: structured kernels whose result is laid out at the operands' size before it is
// reduced into a scalar; soft_margin_loss alike.
Tensor Elementwise(Eager& e, const Tensor& input_given, const Tensor& target_given, LossReduction reduction,
                   const char* name, const char* entry) {
  OpScope scope(e, name);
  const Tensor input = Cast32(e, input_given), target = Cast32(e, target_given);
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

// nll_loss_nd (LossNLL.cpp): one axis of classes and none or one of samples; two further axes run as nll_loss2d, other
// counts are reshaped to it.
Tensor NllOf(Eager& e, const Tensor& input, const Tensor& target, const Tensor& class_weight, LossReduction reduction) {
  OpScope scope(e, "aten::nll_loss");
  const bool flat = input->dim() <= 2;
  Tensor probabilities = input;
  if (!flat && input->dim() != 4) {
    Dim rest(1);
    for (int i = 2; i < input->dim(); ++i) rest = rest * input->sizes[i];
    probabilities = Reshape(e, input, Shape{input->sizes[0], input->sizes[1], Dim(1), rest});
  }
  const Shape sizes = reduction == LossReduction::kNone ? target->sizes : Shape();
  Tensor out, weight;
  if (flat) {  // nll_loss_forward: output, then total_weight
    out = e.Empty(sizes, probabilities->dtype);
    weight = e.Empty(Shape(), probabilities->dtype);
  } else {  // nll_loss2d_forward_out_cuda_template resizes them the other way round
    weight = e.Empty(Shape(), probabilities->dtype);
    out = e.Empty(sizes, probabilities->dtype);
    const Tensor contiguous = Contiguous(e, e.Alias(probabilities));
  }
  if (GradNode* node = e.Record(flat ? "NllLossBackward0" : "NllLoss2DBackward0", {probabilities}, {out})) {
    node->Save(probabilities).Save(target).Save(class_weight).Save(weight);
    node->Backward([flat](GradContext& g) {
      OpScope backward(g.e, flat ? "aten::nll_loss_backward" : "aten::nll_loss2d_backward");
      const Tensor& self = g.saved(0);
      g.Set(0, flat ? g.e.Empty(self->sizes, self->dtype) : g.e.EmptyLike(self));
    });
  }
  return out;
}

// masked_fill_(mask, 0) of a loss per sample.
Tensor Ignored(Eager& e, const Tensor& each, const Tensor& mask) {
  Tensor out = e.Overwrite(each);
  if (GradNode* node = e.Record("MaskedFillBackward0", {each}, {out})) {
    node->Save(mask);
    node->Backward([](GradContext& g) { g.Set(0, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype)); });
  }
  return out;
}

// cross_entropy_loss_label_smoothing (LossNLL.cpp): the nll loss and the mean over classes, each scaled, and added.
Tensor SmoothedCrossEntropy(Eager& e, const Tensor& logits, const Tensor& target, const Tensor& class_weight,
                            LossReduction reduction) {
  const Tensor input = LogSoftmax(e, logits, logits->dtype);
  const Tensor nll = Nll(e, input, target, class_weight, reduction);
  const std::vector<int> classes = {input->dim() > 1 ? 1 : 0};
  Tensor each, smooth;  // a loss per sample, a local to the end; what becomes of it
  if (class_weight) {
    Shape sizes;
    for (int i = 0; i < input->dim(); ++i) sizes.Append(i == classes[0] ? class_weight->sizes[0] : Dim(1));
    const Tensor weighted = Mul(e, input, Reshape(e, class_weight, sizes));
    const Tensor sum = Sum(e, weighted, classes, false);
    smooth = Neg(e, sum);
  } else {
    const Tensor sum = Sum(e, input, classes, false);
    smooth = Neg(e, sum);
  }
  const Tensor ignored = e.EmptyLike(target, DType::kBool);  // target == ignore_index
  each = Ignored(e, smooth, ignored);
  smooth = each;
  if (reduction == LossReduction::kSum) smooth = Sum(e, smooth, {}, false);
  if (reduction == LossReduction::kMean && class_weight) {
    // / weight.gather(0, target.masked_select(~ignored)).sum(): how many are selected only the data knows
    const Tensor counted = e.EmptyLike(ignored);
    {
      const Storage number = e.Scratch(Bytes::Of(4));
      { const Storage flag = e.Scratch(Bytes::Of(1)); }
      e.Scratch(SelectScratch(target->numel()));
    }
    const Tensor weights = e.Empty(Shape(), class_weight->dtype);
    const Tensor sum = Sum(e, smooth, {}, false);
    smooth = Div(e, sum, weights);
  } else if (reduction == LossReduction::kMean) {  // / (~ignored).sum()
    const Tensor counted = e.EmptyLike(ignored);
    const Tensor count = SumKernel(e, counted, {}, false);
    const Tensor sum = Sum(e, smooth, {}, false);
    smooth = Div(e, sum, count);
  }
  const Tensor of_smooth = Mul(e, smooth, nullptr), of_nll = Mul(e, nll, nullptr);
  return Add(e, of_nll, of_smooth);
}

// cross_entropy_loss_prob_target: -(input * target).sum() / number of samples.
Tensor CrossEntropyOfProbabilities(Eager& e, const Tensor& logits, const Tensor& target_given,
                                   const CrossEntropyOptions& options) {
  const Tensor input = LogSoftmax(e, logits, logits->dtype);
  Tensor target = target_given;
  if (options.smoothing) {  // target * (1 - smoothing) + smoothing / classes
    const Tensor scaled = Mul(e, target, nullptr);
    target = Add(e, scaled, nullptr);
  }
  Tensor product = Mul(e, input, target);
  if (options.weight) {
    Shape sizes;
    for (int i = 0; i < input->dim(); ++i) sizes.Append(i == 1 ? options.weight->sizes[0] : Dim(1));
    product = Mul(e, product, Reshape(e, options.weight, sizes));
  }
  if (options.reduction == LossReduction::kNone) {
    const Tensor sum = Sum(e, product, {input->dim() > 1 ? 1 : 0}, false);
    return Neg(e, sum);
  }
  const Tensor sum = Sum(e, product, {}, false);
  Tensor negative = Neg(e, sum);
  return options.reduction == LossReduction::kSum ? negative : Div(e, negative, nullptr);
}

}  // namespace

Tensor Nll(Eager& e, const Tensor& log_probabilities, const Tensor& target, const Tensor& class_weight,
           LossReduction reduction) {
  return NllOf(e, Cast32(e, log_probabilities), target, class_weight, reduction);
}

Tensor CrossEntropy(Eager& e, const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  OpScope scope(e, "aten::cross_entropy_loss");
  if (IsFloating(target->dtype)) return CrossEntropyOfProbabilities(e, logits, target, options);
  if (options.smoothing) return SmoothedCrossEntropy(e, logits, target, options.weight, options.reduction);
  return Nll(e, LogSoftmax(e, logits, logits->dtype), target, options.weight, options.reduction);
}

Tensor MseLoss(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction) {
  return Elementwise(e, input, target, reduction, "aten::mse_loss", "MseLossBackward0");
}

Tensor SmoothL1(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction) {
  return Elementwise(e, input, target, reduction, "aten::smooth_l1_loss", "SmoothL1LossBackward0");
}

// huber_loss (Loss.cpp) writes into one tensor, and reduces that into a new one.
Tensor Huber(Eager& e, const Tensor& input_given, const Tensor& target_given, LossReduction reduction) {
  OpScope scope(e, "aten::huber_loss");
  const Tensor input = Cast32(e, input_given), target = Cast32(e, target_given);
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
  const Tensor input = Cast32(e, input_given), target = Cast32(e, target_given);
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
  const Tensor input = Cast32(e, input_given), target = Cast32(e, target_given);
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
  const Tensor input = Cast32(e, input_given), target = Cast32(e, target_given);
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
Tensor SoftMargin(Eager& e, const Tensor& input, const Tensor& target, LossReduction reduction) {
  OpScope scope(e, "aten::soft_margin_loss");
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

namespace {

LossReduction ReductionOf(const Call& c) {
  const std::string text = c.layer.attributes.Text("reduction", "mean");
  return text == "none" ? LossReduction::kNone : text == "sum" ? LossReduction::kSum : LossReduction::kMean;
}

template <Tensor (*loss)(Eager&, const Tensor&, const Tensor&, LossReduction)>
void Run(Call& c) {
  c.Return(loss(c.e, c.In(0), c.In(1), ReductionOf(c)));
}

}  // namespace

std::vector<OpRule> LossRules() {
  const auto cross_entropy = [](Call& c) {
    c.Return(CrossEntropy(c.e, c.In(0), c.In(1), {c.In(2), ReductionOf(c), c.Real("label_smoothing") != 0}));
  };
  const auto bce = [](Call& c) { c.Return(Bce(c.e, c.In(0), c.In(1), c.In(2), ReductionOf(c))); };
  const auto bce_logits = [](Call& c) {
    c.Return(BceLogits(c.e, c.In(0), c.In(1), {c.In(2), c.In(3), ReductionOf(c)}));
  };
  const auto nll = [](Call& c) { c.Return(Nll(c.e, c.In(0), c.In(1), c.In(2), ReductionOf(c))); };
  return {
      {"cross_entropy", cross_entropy},
      {"cross_entropy_loss", cross_entropy},
      {"nll_loss", nll},
      {"nll_loss_nd", nll},
      {"mse_loss", Run<MseLoss>},
      {"l1_loss", Run<L1>},
      {"smooth_l1_loss", Run<SmoothL1>},
      {"huber_loss", Run<Huber>},
      {"soft_margin_loss", Run<SoftMargin>, Cast::kFloat32},
      {"bce", bce},
      {"binary_cross_entropy", bce},
      {"bce_logits", bce_logits},
      {"binary_cross_entropy_with_logits", bce_logits},
      {"kl_div", [](Call& c) { c.Return(KlDiv(c.e, c.In(0), c.In(1), ReductionOf(c), c.Int("log_target") != 0)); }},
  };
}

}  // namespace vramplan::eager
