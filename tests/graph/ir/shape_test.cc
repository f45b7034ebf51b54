#include "graph/ir/shape.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/ir/dtype.h"
#include "graph/ir/size_expr.h"

namespace vramplan {
namespace {

TEST_CASE("elements, text, editing") {
  struct Row {
    Shape shape;
    const char* text;
    const char* elements;
  };
  const Row rows[] = {
      {{}, "[]", "1"},
      {{Dim::Batch(), 3, 224, 224}, "[B, 3, 224, 224]", "150528*B"},
      {{Dim::Batch(), 12, Dim::Batch()}, "[B, 12, B]", "12*B^2"},
      {{0, Dim::Batch()}, "[0, B]", "0"},
      {{Dim::Unknown(), 2}, "[?, 2]", "?"},
      {{int64_t{1} << 40, int64_t{1} << 40}, "[1099511627776, 1099511627776]", "overflow"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK_EQ(ToString(row.shape), row.text);
    CHECK_EQ(ToString(row.shape.Elements()), row.elements);
  }
  Shape shape{Dim::Batch(), 4};
  shape.Insert(1, 3);
  CHECK_EQ(ToString(shape), "[B, 3, 4]");
  shape.Insert(3, 5);
  shape.Remove(0);
  CHECK_EQ(ToString(shape), "[3, 4, 5]");
  CHECK_EQ(shape.FromEnd(1), Dim(5));
  CHECK_EQ(shape, Shape{3, 4, 5});
  CHECK_NE(shape, Shape{3, 4});
  CHECK_NE(shape, Shape{3, 4, Dim::Batch()});
  CHECK(shape.known());
  CHECK(!Shape{Dim::Unknown()}.known());
}

TEST_CASE("every ONNX type has its width") {
  struct Row {
    int number;
    const char* name;
    int bits;
    bool floating;
  };
  // onnx.proto, TensorProto.DataType, ONNX 1.22.
  const Row rows[] = {
      {1, "float32", 32, true},    {2, "uint8", 8, false},          {3, "int8", 8, false},
      {4, "uint16", 16, false},    {5, "int16", 16, false},         {6, "int32", 32, false},
      {7, "int64", 64, false},     {8, "string", 0, false},         {9, "bool", 8, false},
      {10, "float16", 16, true},   {11, "float64", 64, true},       {12, "uint32", 32, false},
      {13, "uint64", 64, false},   {14, "complex64", 64, true},     {15, "complex128", 128, true},
      {16, "bfloat16", 16, true},  {17, "float8e4m3fn", 8, true},   {18, "float8e4m3fnuz", 8, true},
      {19, "float8e5m2", 8, true}, {20, "float8e5m2fnuz", 8, true}, {21, "uint4", 4, false},
      {22, "int4", 4, false},      {23, "float4e2m1", 4, true},     {24, "float8e8m0", 8, true},
      {25, "uint2", 2, false},     {26, "int2", 2, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.number);
    const std::optional<DType> type = DTypeFromOnnx(row.number);
    REQUIRE(type.has_value());
    CHECK_EQ(Name(*type), row.name);
    CHECK_EQ(BitWidth(*type), row.bits);
    CHECK_EQ(IsFloating(*type), row.floating);
  }
  for (const int number : {-1, 0, 27, 1000}) CHECK(!DTypeFromOnnx(number).has_value());
}

TEST_CASE("packed elements: the last byte counts whole") {
  CHECK_EQ(StoredBytes(DType::kFloat32, 3), Bytes::Of(12));
  CHECK_EQ(StoredBytes(DType::kInt4, 3), Bytes::Of(2));
  CHECK_EQ(StoredBytes(DType::kInt2, 5), Bytes::Of(2));
  CHECK_EQ(StoredBytes(DType::kBool, 0), Bytes());
  CHECK_EQ(StoredBytes(DType::kFloat64, int64_t{1} << 61), Bytes::Max());
}

TEST_CASE("sizes grow with the batch and never overflow into something small") {
  struct Row {
    DType type;
    Dim elements;
    int64_t at_1, at_64;
  };
  const Row rows[] = {
      {DType::kFloat32, Dim(1000) * Dim::Batch(), 4000, 256'000},
      {DType::kFloat16, Dim::Batch() * Dim::Batch(), 2, 8192},
      {DType::kInt64, Dim(5), 40, 40},
      {DType::kInt4, Dim(5), 3, 3},
      {DType::kInt4, Dim(5) * Dim::Batch(), 5, 320},  // a whole byte each where the count is symbolic
      {DType::kFloat32, Dim::Batch() - Dim(1), 0, 252},
      {DType::kFloat32, Dim::Unknown(), Bytes::Max().count(), Bytes::Max().count()},
      {DType::kFloat32, Dim::Overflow(), Bytes::Max().count(), Bytes::Max().count()},
  };
  for (const Row& row : rows) {
    CAPTURE(ToString(row.elements));
    const SizeExpr size = SizeExpr::Of(row.type, row.elements);
    CHECK_EQ(size.At(1), Bytes::Of(row.at_1));
    CHECK_EQ(size.At(64), Bytes::Of(row.at_64));
  }
  CHECK_EQ((SizeExpr::Constant(Bytes::Of(8)) + SizeExpr::Of(DType::kInt8, Dim::Batch())).At(3), Bytes::Of(11));
  CHECK_EQ(SizeExpr::Saturated() + SizeExpr::Constant(Bytes::Of(8)), SizeExpr::Saturated());
}

}  // namespace
}  // namespace vramplan
