// TensorProto and TypeProto become StoredTensor and DeclaredType.
//
// Invariant of what comes out: the element type is one of ONNX 1.22's, the rank is at most Shape::kMaxRank, every
// length is >= 0, and the bytes of the whole tensor fit 63 bits. Values are there when the tensor is small and its
// bytes are inside the file.
//
//   float w[2] = {1, 2}   type kFloat32, dims {2}, values->reals {1, 2}
//   int4 [3], raw 21 03   type kInt4, dims {3}, values->integers {1, 2, 3}     (the low nibble comes first)
//
// Errors leave the subject empty; Load puts the file there.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/result.h"
#include "graph/ir/graph.h"
#include "graph/onnx/names.h"

namespace onnx {
class SparseTensorProto;
class TensorProto;
class TypeProto;
}  // namespace onnx

namespace vramplan {

// `part` names the tensor in errors.
Result<StoredTensor> ReadTensor(const onnx::TensorProto& proto, const Part& part);
Result<StoredTensor> ReadSparseTensor(const onnx::SparseTensorProto& proto, const Part& part);
Result<DeclaredType> ReadType(const onnx::TypeProto& proto, const Part& part);

// The elements in `raw`, packed little endian as raw_data is: complex types give real and imaginary parts in turn, bool
// gives 0 and 1, uint64 beyond 63 bits the largest int64. Nothing when `raw` does not have the bytes of exactly
// `elements` elements, and for strings.
std::optional<ConstantValues> DecodeElements(DType type, int64_t elements, std::string_view raw);

}  // namespace vramplan
