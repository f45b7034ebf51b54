// DType: the element types of ONNX (onnx.proto TensorProto.DataType, values 1-26 as of ONNX 1.22) with their storage
// width.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "graph/base/bytes.h"

namespace vramplan {

enum class DType : uint8_t {  // values are ONNX's
  kUndefined = 0,
  kFloat32 = 1,
  kUint8 = 2,
  kInt8 = 3,
  kUint16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kString = 8,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUint32 = 12,
  kUint64 = 13,
  kComplex64 = 14,
  kComplex128 = 15,
  kBFloat16 = 16,
  kFloat8E4M3FN = 17,
  kFloat8E4M3FNUZ = 18,
  kFloat8E5M2 = 19,
  kFloat8E5M2FNUZ = 20,
  kUint4 = 21,
  kInt4 = 22,
  kFloat4E2M1 = 23,
  kFloat8E8M0 = 24,
  kUint2 = 25,
  kInt2 = 26,
};

// The type with this ONNX number; nothing for numbers that ONNX 1.22 does not name.
std::optional<DType> DTypeFromOnnx(int32_t number);

// Width of one element in bits; 0 for kUndefined and kString, whose bytes a GPU never holds.
int BitWidth(DType type);

// ONNX's lower-case name: "float32", "int4".
std::string_view Name(DType type);

// True for the floating types, which alone can carry gradients.
bool IsFloating(DType type);

// float16 and bfloat16, which tensor cores multiply and sums keep in float32.
bool IsHalf(DType type);

// Bytes of `elements` packed elements, the last byte rounded up: StoredBytes(kInt4, 3) == 2.
Bytes StoredBytes(DType type, int64_t elements);

}  // namespace vramplan
