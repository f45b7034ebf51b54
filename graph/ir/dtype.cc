#include "graph/ir/dtype.h"

#include <array>

namespace vramplan {
namespace {

struct Row {
  std::string_view name;
  int bits;
  bool floating;
};

// Indexed by the ONNX number.
constexpr std::array<Row, 27> kRows = {{
    {"undefined", 0, false},     {"float32", 32, true},     {"uint8", 8, false},         {"int8", 8, false},
    {"uint16", 16, false},       {"int16", 16, false},      {"int32", 32, false},        {"int64", 64, false},
    {"string", 0, false},        {"bool", 8, false},        {"float16", 16, true},       {"float64", 64, true},
    {"uint32", 32, false},       {"uint64", 64, false},     {"complex64", 64, true},     {"complex128", 128, true},
    {"bfloat16", 16, true},      {"float8e4m3fn", 8, true}, {"float8e4m3fnuz", 8, true}, {"float8e5m2", 8, true},
    {"float8e5m2fnuz", 8, true}, {"uint4", 4, false},       {"int4", 4, false},          {"float4e2m1", 4, true},
    {"float8e8m0", 8, true},     {"uint2", 2, false},       {"int2", 2, false},
}};

const Row& RowOf(DType type) { return kRows[static_cast<size_t>(type)]; }

}  // namespace

std::optional<DType> DTypeFromOnnx(int32_t number) {
  if (number < 1 || number >= static_cast<int32_t>(kRows.size())) return std::nullopt;
  return static_cast<DType>(number);
}

int BitWidth(DType type) { return RowOf(type).bits; }
std::string_view Name(DType type) { return RowOf(type).name; }
bool IsFloating(DType type) { return RowOf(type).floating; }

bool IsHalf(DType type) { return type == DType::kFloat16 || type == DType::kBFloat16; }

Bytes StoredBytes(DType type, int64_t elements) {
  const int bits = BitWidth(type);
  if (bits % 8 == 0) return Bytes::Of(SaturatingMultiply(elements, bits / 8));
  const int64_t per_byte = 8 / bits;
  return Bytes::Of(elements / per_byte + (elements % per_byte != 0 ? 1 : 0));
}

}  // namespace vramplan
