#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "graph/onnx/tensor.h"

namespace vramplan {
namespace {

using namespace std::string_view_literals;
constexpr double kInf = std::numeric_limits<double>::infinity();

TEST_CASE("integers of every type") {
  struct Row {
    DType type;
    std::string_view raw;
    std::vector<int64_t> values;
  };
  for (const Row& row : {
           Row{DType::kBool, "\x00\x01\x02"sv, {0, 1, 1}},
           Row{DType::kUint8, "\x00\xff"sv, {0, 255}},
           Row{DType::kInt8, "\x7f\x80"sv, {127, -128}},
           Row{DType::kUint16, "\x01\x00\xff\xff"sv, {1, 65535}},
           Row{DType::kInt16, "\x01\x00\x00\x80"sv, {1, -32768}},
           Row{DType::kInt32, "\xfe\xff\xff\xff"sv, {-2}},
           Row{DType::kUint32, "\xfe\xff\xff\xff"sv, {4'294'967'294}},
           Row{DType::kInt64, "\xff\xff\xff\xff\xff\xff\xff\xff"sv, {-1}},
           Row{DType::kUint64,
               "\xff\xff\xff\xff\xff\xff\xff\xff\x07\0\0\0\0\0\0\0"sv,
               {std::numeric_limits<int64_t>::max(), 7}},
           // Low bits first: https://onnx.ai/onnx/technical/int4.html
           Row{DType::kUint4, "\x21\x0f"sv, {1, 2, 15}},
           Row{DType::kInt4, "\x87\x0f"sv, {7, -8, -1}},
           Row{DType::kUint2, "\xe4\x01"sv, {0, 1, 2, 3, 1}},
           Row{DType::kInt2, "\xe4"sv, {0, 1, -2, -1}},
       }) {
    CAPTURE(Name(row.type));
    const auto values = DecodeElements(row.type, static_cast<int64_t>(row.values.size()), row.raw);
    REQUIRE(values);
    CHECK(*values == ConstantValues{.integers = row.values, .reals = {}});
  }
}

TEST_CASE("reals of every type") {
  struct Row {
    DType type;
    int64_t elements;
    std::string_view raw;
    std::vector<double> values;  // NaN is written as 12345
  };
  // Limits of the small formats: https://onnx.ai/onnx/technical/float8.html and float4.html
  for (const Row& row : {
           Row{DType::kFloat32, 2, "\x00\x00\x80\x3f\x00\x00\x80\xff"sv, {1, -kInf}},
           Row{DType::kFloat64, 1, "\x00\x00\x00\x00\x00\x00\x04\xc0"sv, {-2.5}},
           Row{DType::kFloat16, 4, "\x00\x3c\xff\x7b\x01\x00\x00\xfc"sv, {1, 65504, std::ldexp(1, -24), -kInf}},
           Row{DType::kFloat16, 1, "\x01\x7c"sv, {12345}},
           Row{DType::kBFloat16, 2, "\x80\x3f\x20\xc0"sv, {1, -2.5}},
           Row{DType::kFloat8E4M3FN, 5, "\x38\x7e\x7f\x01\xb8"sv, {1, 448, 12345, std::ldexp(1, -9), -1}},
           Row{DType::kFloat8E4M3FNUZ, 4, "\x40\x7f\x80\x01"sv, {1, 240, 12345, std::ldexp(1, -10)}},
           Row{DType::kFloat8E5M2, 5, "\x3c\x7b\x7c\xfc\x7d"sv, {1, 57344, kInf, -kInf, 12345}},
           Row{DType::kFloat8E5M2FNUZ, 3, "\x40\x7f\x80"sv, {1, 57344, 12345}},
           Row{DType::kFloat8E8M0, 3, "\x7f\x80\xff"sv, {1, 2, 12345}},
           Row{DType::kFloat4E2M1, 3, "\x72\x09"sv, {1, 6, -0.5}},
           Row{DType::kComplex64, 1, "\x00\x00\x80\x3f\x00\x00\x00\x40"sv, {1, 2}},
           Row{DType::kComplex128, 1, "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\x40"sv, {1, 2}},
       }) {
    CAPTURE(Name(row.type));
    auto values = DecodeElements(row.type, row.elements, row.raw);
    REQUIRE(values);
    for (double& value : values->reals) value = std::isnan(value) ? 12345 : value;
    CHECK(*values == ConstantValues{.integers = {}, .reals = row.values});
  }
}

TEST_CASE("bytes that are not as many as the elements take") {
  CHECK(!DecodeElements(DType::kFloat32, 2, "1234"));
  CHECK(!DecodeElements(DType::kFloat32, 1, "12345"));
  CHECK(!DecodeElements(DType::kInt4, 3, "1"));
  CHECK(!DecodeElements(DType::kString, 1, "1"));
  CHECK(!DecodeElements(DType::kString, 0, ""));
  CHECK(DecodeElements(DType::kInt4, 0, "") == ConstantValues{});
}

}  // namespace
}  // namespace vramplan
