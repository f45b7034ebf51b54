#include "graph/ir/size_expr.h"

namespace vramplan {

SizeExpr SizeExpr::Of(DType type, Dim elements) {
  if (!elements.known()) return Saturated();
  if (elements.IsConstant()) return Constant(StoredBytes(type, elements.c0()));
  const int bits = BitWidth(type);
  // Sub-byte types are packed along the whole tensor; with a symbolic count every element is taken as a whole byte at
  // worst.
  const Dim bytes = elements * Dim(bits % 8 == 0 ? bits / 8 : 1);
  return bytes.known() ? SizeExpr(bytes) : Saturated();
}

SizeExpr operator+(SizeExpr a, SizeExpr b) {
  const Dim sum = a.polynomial_ + b.polynomial_;
  return sum.known() ? SizeExpr(sum) : SizeExpr::Saturated();
}

}  // namespace vramplan
