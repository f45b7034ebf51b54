#include "planner/semantics/autocast.h"

#include <algorithm>

#include "planner/semantics/pointwise.h"

namespace vramplan::eager {
namespace {

bool Eligible(const Tensor& t) { return t && IsFloating(t->dtype) && t->dtype != DType::kFloat64; }

}  // namespace

DType LowerType(const Eager& e) {
  const Precision precision = e.spec().precision;
  return precision == Precision::kAmpFp16   ? DType::kFloat16
         : precision == Precision::kAmpBf16 ? DType::kBFloat16
                                            : e.ModelType(DType::kFloat32);
}

DType TypeMade(const Call& c, DType otherwise) {
  const Precision precision = c.e.spec().precision;
  if (c.Int("like_float") != 0) return c.e.ModelType(DType::kFloat32);
  const bool lower = IsAutocast(precision);
  return c.Int("like_half") != 0 && lower ? LowerType(c.e) : otherwise;
}

Autocast::Autocast(Eager& e)
    : e_(e),
      active_(IsAutocast(e.spec().precision)),
      model_(e.ModelType(DType::kFloat32)),
      lower_(e.spec().precision == Precision::kAmpBf16 ? DType::kBFloat16 : DType::kFloat16) {}

Tensor Autocast::CachedCast(const Tensor& t, DType type) {
  if (!Eligible(t) || t->dtype == type) return t;
  // Only fp32 leaves that require a gradient are cached, and only in the lower type.
  if (type != lower_ || t->dtype != DType::kFloat32 || !t->requires_grad) return ToType(e_, t, type);
  const auto [place, fresh] = place_.emplace(t.get(), cache_.size());
  if (fresh) cache_.push_back(ToType(e_, t, type));
  return cache_[place->second];
}

// F.conv2d refuses fp32 beside a weight of fp16 ("should be the same"), and so do products of matrices.
void Autocast::Agree(std::vector<Tensor>& inputs) {
  const auto of = [](DType type) { return [type](const Tensor& t) { return t && t->dtype == type; }; };
  if (!std::any_of(inputs.begin(), inputs.end(), of(model_))) return;
  for (Tensor& t : inputs) {
    if (t && t->dtype == DType::kFloat32) t = ToType(e_, t, model_);
  }
}

void Autocast::Apply(Cast cast, std::vector<Tensor>& inputs) {
  if (cast == Cast::kLower && model_ != DType::kFloat32 && model_ != DType::kFloat64) Agree(inputs);
  if (!active_ || cast == Cast::kNone) return;
  DType type = cast == Cast::kLower ? lower_ : DType::kFloat32;
  if (cast == Cast::kPromote) {
    const bool any32 =
        std::any_of(inputs.begin(), inputs.end(), [](const Tensor& t) { return t && t->dtype == DType::kFloat32; });
    if (!any32) return;
  }
  // The casts are arguments of one call, which the compiler evaluates from the last to the first.
  for (auto t = inputs.rbegin(); t != inputs.rend(); ++t) *t = CachedCast(*t, type);
}

}  // namespace vramplan::eager
