#include "graph/ir/size_expr.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("bytes of so many elements of a type") {
  struct Row {
    DType type;
    Dim elements;
    SizeExpr size;
    int64_t at_64;
  };
  const auto bytes = [](int64_t count) { return SizeExpr::Constant(Bytes::Of(count)); };
  const Dim batch = Dim::Batch();
  const SizeExpr all = SizeExpr::Saturated();
  const int64_t most = Bytes::Max().count();
  for (const Row& row : {
           Row{DType::kFloat32, 1000, bytes(4000), 4000},
           Row{DType::kFloat32, 0, SizeExpr(), 0},
           Row{DType::kBool, 3, bytes(3), 3},
           Row{DType::kInt4, 3, bytes(2), 2},
           Row{DType::kInt2, 9, bytes(3), 3},
           Row{DType::kComplex128, 2, bytes(32), 32},
           Row{DType::kString, 5, SizeExpr(), 0},
           Row{DType::kFloat32, Dim::Unknown(), all, most},
           Row{DType::kFloat32, Dim::Overflow(), all, most},
           Row{DType::kFloat64, Dim(most / 4), all, most},
           Row{DType::kFloat64, batch * Dim(most / 4), all, most},
           // A symbolic count of small elements: a whole byte each, never too little.
           Row{DType::kInt4, batch * Dim(3), SizeExpr::Of(DType::kInt8, batch * Dim(3)), 192},
       }) {
    CAPTURE(Name(row.type));
    CAPTURE(ToString(row.elements));
    CHECK(SizeExpr::Of(row.type, row.elements) == row.size);
    CHECK(SizeExpr::Of(row.type, row.elements).At(64).count() == row.at_64);
  }
  CHECK(SizeExpr::Of(DType::kFloat32, batch * Dim(1000)).At(64).count() == 256'000);
  CHECK(SizeExpr::Of(DType::kFloat32, batch * batch).At(10).count() == 400);
  CHECK(SizeExpr::Of(DType::kFloat32, batch - Dim(5)).At(1).count() == 0);
}

TEST_CASE("sums stick at the most") {
  const SizeExpr a = SizeExpr::Of(DType::kFloat32, Dim::Batch());
  CHECK((a + SizeExpr::Constant(Bytes::Of(8))).At(2).count() == 16);
  CHECK((a + SizeExpr::Saturated()).At(2) == Bytes::Max());
  CHECK(SizeExpr::Saturated() + SizeExpr::Saturated() == SizeExpr::Saturated());
  CHECK(SizeExpr().IsZero());
  CHECK(!a.IsZero());
}

}  // namespace
}  // namespace vramplan
