// Losses of margins (LossMultiMargin.cpp, LossMultiLabelMargin.cpp, cuda/MultiMarginLoss.cu, Loss.cpp) and of counts.
#include "planner/semantics/loss.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

// A loss for each sample is written into a temporary and summed up.
Tensor OfSamples(Eager& e, const Tensor& input, LossReduction reduction) {
  const Shape samples{input->dim() > 1 ? input->sizes[0] : Dim(1)};
  if (reduction == LossReduction::kNone) return e.Empty(samples, input->dtype);
  Tensor out = e.Empty(Shape(), input->dtype);
  const Tensor each = e.Empty(samples, input->dtype);
  AllocateReduceScratch(e, *each, {}, input->dtype);
  return out;
}

void MultiMargin(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::multi_margin_loss");
  const Tensor input = InFloat32(e, c.In(0));
  const Tensor& target = c.In(1);
  Tensor out = OfSamples(e, input, LossReductionOf(c));
  if (GradNode* node = e.Record("MultiMarginLossBackward0", {input}, {out})) {
    node->Save(input).Save(target).Save(c.In(2));
    node->Backward([](GradContext& g) { g.Set(0, g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype)); });
  }
  c.Return(std::move(out));
}

// Beside the loss it gives which classes are targets, and keeps that.
void MultilabelMargin(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::multilabel_margin_loss");
  const Tensor input = InFloat32(e, c.In(0));
  const Tensor& target = c.In(1);
  const LossReduction reduction = LossReductionOf(c);
  const Tensor is_target = e.Empty(input->sizes, input->dtype);
  Tensor out;
  if (reduction == LossReduction::kNone) {
    out = OfSamples(e, input, reduction);
  } else {
    const Tensor each = e.Empty(Shape{input->dim() > 1 ? input->sizes[0] : Dim(1)}, input->dtype);
    out = e.Empty(Shape(), input->dtype);
    AllocateReduceScratch(e, *each, {}, input->dtype);
  }
  if (GradNode* node = e.Record("MultilabelMarginLossBackward0", {input}, {out})) {
    node->Save(input).Save(target).Save(is_target);
    node->Backward([](GradContext& g) { g.Set(0, g.e.Empty(g.saved(0)->sizes, g.saved(0)->dtype)); });
  }
  c.Return(std::move(out));
}

void HingeEmbedding(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::hinge_embedding_loss");
  const Tensor input = InFloat32(e, c.In(0)), target = InFloat32(e, c.In(1));
  Tensor out;
  {
    const Tensor zeros = e.EmptyLike(input);
    Tensor margin = e.EmptyLike(input);  // at::empty_like(self).fill_(margin).sub_(self)
    const Tensor difference = e.Alias(margin);
    if (GradNode* node = e.Record("SubBackward0", {input}, {difference})) {
      node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.grad())); });
    }
    const Tensor clamped = ClampMin(e, difference, true);
    const Tensor of_margin = WhereTarget(e, target, clamped);
    const Tensor of_self = WhereTarget(e, target, input);
    const Tensor each = Add(e, of_margin, of_self);
    out = Reduced(e, each, LossReductionOf(c));
  }
  c.Return(std::move(out));
}

// (-target * (input1 - input2) + margin).clamp_min_(0)
void MarginRanking(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::margin_ranking_loss");
  const Tensor first = InFloat32(e, c.In(0)), second = InFloat32(e, c.In(1)), target = InFloat32(e, c.In(2));
  Tensor each;
  {
    const Tensor difference = Sub(e, first, second);
    const Tensor negative = Neg(e, target);
    const Tensor product = Mul(e, negative, difference);
    each = Add(e, product, Tensor());
  }
  each = ClampMin(e, each, true);
  c.Return(Reduced(e, each, LossReductionOf(c)));
}

// exp(input) - target * input (Loss.cpp, poisson_nll_loss).
void PoissonNll(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::poisson_nll_loss");
  const Tensor input = InFloat32(e, c.In(0)), target = InFloat32(e, c.In(1));
  Tensor each;
  {
    const Tensor product = Mul(e, target, input);
    const Tensor rate = e.EmptyLike(input);
    if (GradNode* node = e.Record("ExpBackward0", {input}, {rate})) {
      node->SaveOutput(rate);
      node->Backward([](GradContext& g) { g.Set(0, Iterate(g.e, g.grad(), g.saved(0), g.grad()->dtype)); });
    }
    each = Sub(e, rate, product);
  }
  c.Return(Reduced(e, each, LossReductionOf(c)));
}

}  // namespace

std::vector<OpRule> MarginLossRules() {
  return {{"multi_margin_loss", MultiMargin},
          {"multilabel_margin_loss", MultilabelMargin},
          {"hinge_embedding_loss", HingeEmbedding},
          {"margin_ranking_loss", MarginRanking},
          {"poisson_nll_loss", PoissonNll}};
}

}  // namespace vramplan::eager
