// Bytes of small tensors become numbers. Formats: onnx/onnx.proto (TensorProto) and
// https://onnx.ai/onnx/technical/float8.html
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "graph/onnx/tensor.h"

namespace vramplan {
namespace {

// A small floating format without a hardware type.
struct Minifloat {
  int exponent_bits, mantissa_bits, bias;
  enum Special { kIeee, kNanOnly, kNegativeZeroIsNan, kNone } special;
};

double Decode(Minifloat f, uint32_t bits) {
  const uint32_t exponent_mask = (1u << f.exponent_bits) - 1, mantissa_mask = (1u << f.mantissa_bits) - 1;
  const uint32_t mantissa = bits & mantissa_mask, exponent = (bits >> f.mantissa_bits) & exponent_mask;
  const bool negative = ((bits >> (f.mantissa_bits + f.exponent_bits)) & 1) != 0;
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  if (f.special == Minifloat::kIeee && exponent == exponent_mask) {
    if (mantissa != 0) return kNan;
    return negative ? -HUGE_VAL : HUGE_VAL;
  }
  if (f.special == Minifloat::kNanOnly && exponent == exponent_mask && mantissa == mantissa_mask) return kNan;
  if (f.special == Minifloat::kNegativeZeroIsNan && negative && exponent == 0 && mantissa == 0) return kNan;
  const double size = exponent == 0 ? std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits)
                                    : std::ldexp(mantissa + (1u << f.mantissa_bits),
                                                 static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  return negative ? -size : size;
}

double DecodeReal(DType type, uint64_t bits) {
  const auto low = static_cast<uint32_t>(bits);
  switch (type) {
    case DType::kFloat32:
    case DType::kComplex64:
      return std::bit_cast<float>(low);
    case DType::kFloat64:
    case DType::kComplex128:
      return std::bit_cast<double>(bits);
    case DType::kBFloat16:
      return std::bit_cast<float>(low << 16);
    case DType::kFloat16:
      return Decode({5, 10, 15, Minifloat::kIeee}, low);
    case DType::kFloat8E4M3FN:
      return Decode({4, 3, 7, Minifloat::kNanOnly}, low);
    case DType::kFloat8E4M3FNUZ:
      return Decode({4, 3, 8, Minifloat::kNegativeZeroIsNan}, low);
    case DType::kFloat8E5M2:
      return Decode({5, 2, 15, Minifloat::kIeee}, low);
    case DType::kFloat8E5M2FNUZ:
      return Decode({5, 2, 16, Minifloat::kNegativeZeroIsNan}, low);
    case DType::kFloat4E2M1:
      return Decode({2, 1, 1, Minifloat::kNone}, low);
    case DType::kFloat8E8M0:  // an exponent alone: no sign, no zero; 255 is NaN
      return low == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, static_cast<int>(low) - 127);
    default:
      return 0;
  }
}

bool IsSigned(DType type) {
  return type == DType::kInt8 || type == DType::kInt16 || type == DType::kInt32 || type == DType::kInt64 ||
         type == DType::kInt4 || type == DType::kInt2;
}

int64_t DecodeInteger(DType type, int width, uint64_t bits) {
  if (type == DType::kBool) return bits != 0 ? 1 : 0;
  if (IsSigned(type)) return static_cast<int64_t>(bits << (64 - width)) >> (64 - width);
  constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  return static_cast<int64_t>(bits < kMax ? bits : kMax);
}

}  // namespace

std::optional<ConstantValues> DecodeElements(DType type, int64_t elements, std::string_view raw) {
  static_assert(std::endian::native == std::endian::little);
  if (BitWidth(type) == 0 || StoredBytes(type, elements).count() != static_cast<int64_t>(raw.size()))
    return std::nullopt;
  // A complex element is two numbers of half its width.
  const bool complex = type == DType::kComplex64 || type == DType::kComplex128;
  const int width = complex ? BitWidth(type) / 2 : BitWidth(type);
  const int64_t numbers = complex ? 2 * elements : elements;
  const bool real = IsFloating(type);
  ConstantValues values;
  if (real) {
    values.reals.reserve(static_cast<size_t>(numbers));
  } else {
    values.integers.reserve(static_cast<size_t>(numbers));
  }
  for (int64_t i = 0; i < numbers; ++i) {
    uint64_t bits = 0;
    if (width >= 8) {
      std::memcpy(&bits, raw.data() + i * (width / 8), static_cast<size_t>(width / 8));
    } else {
      const int64_t per_byte = 8 / width;
      bits = (static_cast<uint8_t>(raw[static_cast<size_t>(i / per_byte)]) >> (i % per_byte * width)) &
             ((1u << width) - 1);
    }
    if (real) {
      values.reals.push_back(DecodeReal(type, bits));
    } else {
      values.integers.push_back(DecodeInteger(type, width, bits));
    }
  }
  return values;
}

}  // namespace vramplan
