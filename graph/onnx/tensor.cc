#include "graph/onnx/tensor.h"

#include <onnx/onnx_pb.h>

#include "graph/ir/shape.h"
#include "graph/onnx/names.h"

namespace vramplan {
namespace {

Error BadTensor(const Part& part, const std::string& reason, std::string hint) {
  return {ErrorCode::kBadInput, "", part.Text() + " " + reason, std::move(hint)};
}

std::string TextOf(const std::vector<int64_t>& dims) {
  std::string text = "[";
  for (size_t i = 0; i < dims.size() && i < 16; ++i) text += (i > 0 ? ", " : "") + std::to_string(dims[i]);
  return text + (dims.size() > 16 ? ", ...]" : "]");
}

// The number of elements, or what is wrong with these lengths. 16 bytes an element must still fit 63 bits, also when
// another axis is 0: no framework makes such a tensor.
Result<int64_t> CountElements(const std::vector<int64_t>& dims, const Part& part) {
  if (dims.size() > static_cast<size_t>(Shape::kMaxRank)) {
    return BadTensor(part, "has " + std::to_string(dims.size()) + " axes",
                     "vramplan knows tensors of up to " + std::to_string(Shape::kMaxRank) + " axes");
  }
  int64_t bytes = 16;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0)
      return BadTensor(part, "has a negative length in its shape " + TextOf(dims),
                       "export it again; a dynamic axis is a name in ONNX, not -1");
    if (dim == 0) {
      empty = true;
    } else if (__builtin_mul_overflow(bytes, dim, &bytes)) {
      return BadTensor(part, "has a shape beyond 63 bits of bytes: " + TextOf(dims),
                       "export it again; no GPU holds such a tensor");
    }
  }
  return empty ? int64_t{0} : bytes / 16;
}

Result<DType> ElementType(int32_t number, const Part& part) {
  if (const auto type = DTypeFromOnnx(number)) return *type;
  if (number == 0) return BadTensor(part, "has no element type", "export it again");
  return BadTensor(part, "has the unknown element type " + std::to_string(number),
                   "ONNX 1.22 names the types 1 to 26; is the file newer or damaged?");
}

template <typename Repeated>
std::string BytesOf(const Repeated& elements, size_t width) {
  std::string raw;
  raw.reserve(static_cast<size_t>(elements.size()) * width);
  for (const auto element : elements)
    raw.append(reinterpret_cast<const char*>(&element), width);  // little endian: low bytes first
  return raw;
}

// Typed data fields, laid out like raw_data. Which field carries which type: the comments of TensorProto in
// onnx/onnx.proto.
std::string RawBytes(const onnx::TensorProto& proto, DType type) {
  if (proto.has_raw_data()) return proto.raw_data();
  switch (type) {
    case DType::kFloat32:
    case DType::kComplex64:
      return BytesOf(proto.float_data(), 4);
    case DType::kFloat64:
    case DType::kComplex128:
      return BytesOf(proto.double_data(), 8);
    case DType::kInt64:
      return BytesOf(proto.int64_data(), 8);
    case DType::kUint32:
      return BytesOf(proto.uint64_data(), 4);
    case DType::kUint64:
      return BytesOf(proto.uint64_data(), 8);
    default:  // one element each in the low bytes of an int32; types of under a byte: one byte each, packed as in
              // raw_data
      return BytesOf(proto.int32_data(), static_cast<size_t>(BitWidth(type) < 8 ? 1 : BitWidth(type) / 8));
  }
}

}  // namespace

Result<StoredTensor> ReadTensor(const onnx::TensorProto& proto, const Part& part) {
  StoredTensor tensor;
  const Result<DType> type = ElementType(proto.data_type(), part);
  if (!type) return type.error();
  tensor.type = *type;
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  const Result<int64_t> elements = CountElements(tensor.dims, part);
  if (!elements) return elements.error();
  tensor.external = proto.data_location() == onnx::TensorProto::EXTERNAL;
  if (tensor.external || BitWidth(tensor.type) == 0 || *elements > ConstantValues::kMaxElements) return tensor;
  const std::string raw = RawBytes(proto, tensor.type);
  if (raw.empty() && *elements > 0) return tensor;  // stripped of its weights
  tensor.values = DecodeElements(tensor.type, *elements, raw);
  if (!tensor.values) {
    return BadTensor(part,
                     "holds " + std::to_string(raw.size()) + " bytes where " + std::string(Name(tensor.type)) +
                         TextOf(tensor.dims) + " takes " + std::to_string(StoredBytes(tensor.type, *elements).count()),
                     "export it again");
  }
  return tensor;
}

Result<StoredTensor> ReadSparseTensor(const onnx::SparseTensorProto& proto, const Part& part) {
  StoredTensor tensor;
  const Result<DType> type = ElementType(proto.values().data_type(), part);
  if (!type) return type.error();
  tensor.type = *type;
  tensor.dims.assign(proto.dims().begin(), proto.dims().end());
  const Result<int64_t> elements = CountElements(tensor.dims, part);
  if (!elements) return elements.error();
  tensor.external = proto.values().data_location() == onnx::TensorProto::EXTERNAL;
  return tensor;
}

Result<DeclaredType> ReadType(const onnx::TypeProto& proto, const Part& part) {
  DeclaredType declared;
  const bool sparse = proto.has_sparse_tensor_type();
  if (proto.has_sequence_type() || proto.has_optional_type()) {
    const onnx::TypeProto& element =
        proto.has_sequence_type() ? proto.sequence_type().elem_type() : proto.optional_type().elem_type();
    Result<DeclaredType> inner = ReadType(element, part);
    if (!inner) return inner;
    inner->is_tensor = false;
    return inner;
  }
  declared.is_tensor = proto.has_tensor_type() || sparse || proto.value_case() == onnx::TypeProto::VALUE_NOT_SET;
  if (!proto.has_tensor_type() && !sparse) return declared;
  const int32_t number = sparse ? proto.sparse_tensor_type().elem_type() : proto.tensor_type().elem_type();
  if (number != 0) {
    const Result<DType> type = ElementType(number, part);
    if (!type) return type.error();
    declared.type = *type;
  }
  if (sparse ? !proto.sparse_tensor_type().has_shape() : !proto.tensor_type().has_shape()) return declared;
  const onnx::TensorShapeProto& shape = sparse ? proto.sparse_tensor_type().shape() : proto.tensor_type().shape();
  std::vector<int64_t> lengths;  // with 1 for what is not a number
  declared.dims.emplace();
  for (const auto& axis : shape.dim()) {
    DeclaredDim dim;
    if (axis.has_dim_value()) dim.length = axis.dim_value();
    if (axis.has_dim_param()) dim.symbol = Printable(axis.dim_param());
    lengths.push_back(dim.length.value_or(1));
    declared.dims->push_back(std::move(dim));
  }
  const Result<int64_t> elements = CountElements(lengths, part);
  if (!elements) return elements.error();
  return declared;
}

}  // namespace vramplan
