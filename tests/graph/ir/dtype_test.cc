#include "graph/ir/dtype.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("every element type of ONNX 1.22") {
  struct Row {
    int32_t number;
    const char* name;
    int bits;
    bool floating;
    int64_t bytes_of_3;
  };
  // onnx/onnx.proto, TensorProto.DataType; widths: https://onnx.ai/onnx/technical/float8.html, float4.html, int4.html
  const Row rows[] = {
      {1, "float32", 32, true, 12},   {2, "uint8", 8, false, 3},          {3, "int8", 8, false, 3},
      {4, "uint16", 16, false, 6},    {5, "int16", 16, false, 6},         {6, "int32", 32, false, 12},
      {7, "int64", 64, false, 24},    {8, "string", 0, false, 0},         {9, "bool", 8, false, 3},
      {10, "float16", 16, true, 6},   {11, "float64", 64, true, 24},      {12, "uint32", 32, false, 12},
      {13, "uint64", 64, false, 24},  {14, "complex64", 64, true, 24},    {15, "complex128", 128, true, 48},
      {16, "bfloat16", 16, true, 6},  {17, "float8e4m3fn", 8, true, 3},   {18, "float8e4m3fnuz", 8, true, 3},
      {19, "float8e5m2", 8, true, 3}, {20, "float8e5m2fnuz", 8, true, 3}, {21, "uint4", 4, false, 2},
      {22, "int4", 4, false, 2},      {23, "float4e2m1", 4, true, 2},     {24, "float8e8m0", 8, true, 3},
      {25, "uint2", 2, false, 1},     {26, "int2", 2, false, 1},
  };
  int32_t next = 1;
  for (const Row& row : rows) {
    CAPTURE(row.name);
    CHECK(row.number == next++);
    const auto type = DTypeFromOnnx(row.number);
    REQUIRE(type);
    CHECK(static_cast<int32_t>(*type) == row.number);
    CHECK(Name(*type) == row.name);
    CHECK(BitWidth(*type) == row.bits);
    CHECK(IsFloating(*type) == row.floating);
    CHECK(StoredBytes(*type, 3).count() == row.bytes_of_3);
    CHECK(StoredBytes(*type, 0).count() == 0);
  }
  for (const int32_t number : {0, 27, -1, 1'000'000}) CHECK(!DTypeFromOnnx(number));
  CHECK(Name(DType::kUndefined) == "undefined");
  CHECK(StoredBytes(DType::kFloat64, Bytes::Max().count()) == Bytes::Max());
}

}  // namespace
}  // namespace vramplan
