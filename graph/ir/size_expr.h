// SizeExpr: bytes as a polynomial of degree <= 2 in the batch, with no negative coefficient or constant, so that a peak
// never falls when the batch grows. Saturating, like Bytes.
//
//   SizeExpr::Of(DType::kFloat32, elements = 1000*B)   4000*B
//   that.At(64)                                        256'000 B
#pragma once

#include "graph/base/bytes.h"
#include "graph/ir/dim.h"
#include "graph/ir/dtype.h"

namespace vramplan {

class SizeExpr {
 public:
  constexpr SizeExpr() = default;
  static constexpr SizeExpr Constant(Bytes bytes) { return SizeExpr(Dim(bytes.count())); }
  // Bytes of `elements` elements of `type`. A count that is unknown or overflows gives SizeExpr::Saturated(); a
  // polynomial with a negative coefficient (B*(B-1)) is kept: it is exact, and At() is never negative at batches >= 1.
  static SizeExpr Of(DType type, Dim elements);
  static constexpr SizeExpr Saturated() { return SizeExpr(Dim(Bytes::Max().count())); }

  Bytes At(int64_t batch) const {
    const int64_t bytes = polynomial_.At(batch);
    return Bytes::Of(bytes < 0 ? 0 : bytes);
  }
  Dim polynomial() const { return polynomial_; }
  bool IsZero() const { return polynomial_.Is(0); }

  friend SizeExpr operator+(SizeExpr a, SizeExpr b);
  friend constexpr bool operator==(const SizeExpr&, const SizeExpr&) = default;

 private:
  explicit constexpr SizeExpr(Dim polynomial) : polynomial_(polynomial) {}
  Dim polynomial_;
};

}  // namespace vramplan
