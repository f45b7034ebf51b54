// Dropout: in training keeps one byte per element (aten/src/ATen/native/cuda/Dropout.cu: the mask is made first, then
// the output); in evaluation, or with p = 0, it hands back its input.
#include "planner/semantics/autocast.h"
#include "planner/semantics/concat.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"

namespace vramplan::eager {
namespace {

void Dropout(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  const double p = c.Real("p", 0.5);
  if (e.spec().mode != Mode::kTrain || p == 0) {
    c.Return(x);
    return;
  }
  if (p == 1 && !c.InPlace()) return c.Return(Mul(e, x, e.Empty(Shape(), x->dtype)));  // zeros({}) (Dropout.cpp)
  if (c.InPlace()) {
    // dropout_: noise in the activation's type, multiplied in place.
    OpScope scope(e, "aten::dropout_");
    Tensor noise = e.EmptyLike(x);
    Tensor out = e.Overwrite(x);
    if (GradNode* node = e.Record("MulBackward0", {x}, {out})) {
      node->Save(noise);
      node->Backward([](GradContext& g) { g.Set(0, g.e.EmptyLike(g.grad())); });
    }
    c.Return(std::move(out));
    return;
  }
  OpScope scope(e, "aten::dropout");
  Tensor mask = e.EmptyLike(x, DType::kBool);
  Tensor out = e.EmptyLike(x);
  if (GradNode* node = e.Record("NativeDropoutBackward0", {x}, {out})) {
    node->Save(mask);
    node->Backward([](GradContext& g) {  // masked_scale: empty_like(grad, grad.suggest_memory_format())
      const Tensor& grad = g.grad();
      g.Set(0, IsChannelsLast(*grad) ? g.e.EmptyLike(grad) : g.e.Empty(grad->sizes, grad->dtype));
    });
  }
  c.Return(std::move(out));
}

// feature_dropout (dropout2d): noise for each sample and channel, then a product (Dropout.cpp).
void FeatureDropout(Call& c) {
  Eager& e = c.e;
  const Tensor& x = c.In(0);
  if (e.spec().mode != Mode::kTrain || c.Real("p", 0.5) == 0) {
    c.Return(x);
    return;
  }
  Shape sizes{x->sizes[0], x->sizes[1]};
  for (int i = 2; i < x->dim(); ++i) sizes.Append(Dim(1));
  const Tensor noise = e.Empty(sizes, x->dtype);
  c.Return(Mul(e, x, noise));
}

// alpha_dropout and feature_alpha_dropout (Dropout.cpp, _dropout_impl): b = (noise + 1) * alpha * a + ..., input *
// noise, then += b in place.
void AlphaDropout(Call& c, bool features) {
  Eager& e = c.e;
  OpScope scope(e, "aten::alpha_dropout");
  const Tensor& x = c.In(0);
  if (e.spec().mode != Mode::kTrain) return c.Return(x);
  Shape sizes = x->sizes;
  for (int i = 2; features && i < x->dim(); ++i) sizes[i] = Dim(1);
  const Tensor noise = features ? e.Empty(sizes, x->dtype) : e.EmptyLike(x);
  const Tensor shift = e.EmptyLike(noise);
  c.Return(Mul(e, x, noise));
}

// Noise of the output's size: torch.empty(...).bernoulli_(p), of the type of what it multiplies; or bernoulli(x).
void Bernoulli(Call& c) {
  const Tensor &x = c.In(0), &like = c.In(1);
  if (x) return c.Return(c.e.EmptyLike(x));
  c.Return(c.e.Empty(c.OutShape(), like ? like->dtype : TypeMade(c, c.e.ModelType(c.OutType()))));
}

// multinomial (Distributions.cpp 2.10): without replacement, and for a single sample, the probabilities are looked at
// (one flag, which stays), then divided by noise of their size, whose largest elements are the samples. With
// replacement (cuda/MultinomialKernel.cu) a copy, its running sums and another are made.
void Multinomial(Call& c) {
  Eager& e = c.e;
  OpScope scope(e, "aten::multinomial");
  const Tensor& x = c.In(0);
  Tensor out = e.Empty(c.OutShape(), DType::kInt64);
  const int64_t samples = c.Int("num_samples", 1);
  if (c.Int("replacement") != 0 && samples > 1) {
    const Tensor copy = e.EmptyLike(x), sums = e.EmptyLike(x), normed = e.EmptyLike(x);
    return c.Return(std::move(out));
  }
  Tensor valid;
  {
    const Tensor most = e.Empty(Shape(), x->dtype), finite = e.Empty(Shape(), DType::kBool);
    const Tensor least = e.Empty(Shape(), x->dtype), positive = e.Empty(Shape(), DType::kBool);
    valid = e.Empty(Shape(), DType::kBool);
  }
  Tensor none;
  {
    Shape rows = x->sizes;
    rows.Remove(rows.rank() - 1);
    const Tensor sums = e.Empty(rows, x->dtype), zeros = e.Empty(rows, DType::kBool);
    none = e.Empty(Shape(), DType::kBool);
  }
  { const Tensor either = e.Empty(Shape(), DType::kBool); }
  const Tensor noise = e.EmptyLike(x);
  if (samples > 1) const Tensor values = e.Empty(c.OutShape(), x->dtype);
  c.Return(std::move(out));
}

}  // namespace

std::vector<OpRule> DropoutRules() {
  return {{"dropout", Dropout},
          {"feature_dropout", FeatureDropout},
          {"alpha_dropout", [](Call& c) { AlphaDropout(c, false); }},
          {"feature_alpha_dropout", [](Call& c) { AlphaDropout(c, true); }},
          {"bernoulli", Bernoulli},
          {"multinomial", Multinomial}};
}

}  // namespace vramplan::eager
