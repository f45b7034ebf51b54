// Losses of classes: nll_loss and cross_entropy_loss (LossNLL.cpp, cuda/Loss.cu, cuda/NLLLoss2d.cu).
#include "planner/semantics/loss.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/softmax.h"
#include "planner/semantics/sort_scratch.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

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
  return NllOf(e, InFloat32(e, log_probabilities), target, class_weight, reduction);
}

Tensor CrossEntropy(Eager& e, const Tensor& logits, const Tensor& target, const CrossEntropyOptions& options) {
  OpScope scope(e, "aten::cross_entropy_loss");
  if (IsFloating(target->dtype)) return CrossEntropyOfProbabilities(e, logits, target, options);
  if (options.smoothing) return SmoothedCrossEntropy(e, logits, target, options.weight, options.reduction);
  return Nll(e, LogSoftmax(e, logits, logits->dtype), target, options.weight, options.reduction);
}

}  // namespace vramplan::eager
