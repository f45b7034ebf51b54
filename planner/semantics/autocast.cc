#include "planner/semantics/autocast.h"

#include <algorithm>

#include "planner/semantics/pointwise.h"

namespace vramplan::eager {
namespace {

bool Eligible(const Tensor& t) { return t && IsFloating(t->dtype) && t->dtype != DType::kFloat64; }

}  // namespace

Autocast::Autocast(Eager& e)
    : e_(e),
      active_(e.spec().precision == Precision::kAmpFp16 || e.spec().precision == Precision::kAmpBf16),
      lower_(e.spec().precision == Precision::kAmpBf16 ? DType::kBFloat16 : DType::kFloat16) {}

Tensor Autocast::CachedCast(const Tensor& t, DType type) {
  if (!Eligible(t) || t->dtype == type) return t;
  // Only fp32 leaves that require a gradient are cached, and only in the lower type.
  if (type != lower_ || t->dtype != DType::kFloat32 || !t->requires_grad) return ToType(e_, t, type);
  const auto [place, fresh] = place_.emplace(t.get(), cache_.size());
  if (fresh) cache_.push_back(ToType(e_, t, type));
  return cache_[place->second];
}

void Autocast::Apply(Cast cast, std::vector<Tensor>& inputs) {
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
