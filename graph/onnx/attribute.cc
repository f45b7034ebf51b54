#include "graph/onnx/attribute.h"

#include <onnx/onnx_pb.h>

#include "graph/onnx/names.h"
#include "graph/onnx/tensor.h"

namespace vramplan {
namespace {

using AttributeKind = onnx::AttributeProto;

// Files of IR version 1 have no type: the field that is set tells.
AttributeKind::AttributeType KindOf(const onnx::AttributeProto& proto) {
  if (proto.type() != AttributeKind::UNDEFINED) return proto.type();
  if (proto.has_f()) return AttributeKind::FLOAT;
  if (proto.has_i()) return AttributeKind::INT;
  if (proto.has_s()) return AttributeKind::STRING;
  if (proto.has_t()) return AttributeKind::TENSOR;
  if (proto.has_sparse_tensor()) return AttributeKind::SPARSE_TENSOR;
  if (proto.floats_size() > 0) return AttributeKind::FLOATS;
  if (proto.ints_size() > 0) return AttributeKind::INTS;
  if (proto.strings_size() > 0) return AttributeKind::STRINGS;
  return AttributeKind::UNDEFINED;
}

// A list of numbers, or one number, as a tensor.
template <typename Number>
StoredTensor Listed(DType type, std::vector<int64_t> dims, std::vector<Number> numbers) {
  StoredTensor tensor{.type = type, .dims = std::move(dims)};
  if (static_cast<int64_t>(numbers.size()) > ConstantValues::kMaxElements) return tensor;
  tensor.values.emplace();
  if constexpr (std::is_same_v<Number, int64_t>) {
    tensor.values->integers = std::move(numbers);
  } else {
    tensor.values->reals = std::move(numbers);
  }
  return tensor;
}

}  // namespace

Result<std::optional<AttributeValue>> ReadAttribute(const onnx::AttributeProto& proto, const Part& part) {
  using Read = std::optional<AttributeValue>;
  switch (KindOf(proto)) {
    case AttributeKind::FLOAT:
      return Read(static_cast<double>(proto.f()));
    case AttributeKind::INT:
      return Read(static_cast<int64_t>(proto.i()));
    case AttributeKind::STRING:
      return Read(proto.s());
    case AttributeKind::FLOATS:
      return Read(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case AttributeKind::INTS:
      return Read(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case AttributeKind::STRINGS:
      return Read(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case AttributeKind::TENSOR:
    case AttributeKind::SPARSE_TENSOR: {
      Result<StoredTensor> tensor = KindOf(proto) == AttributeKind::TENSOR
                                        ? ReadTensor(proto.t(), part)
                                        : ReadSparseTensor(proto.sparse_tensor(), part);
      if (!tensor) return tensor.error();
      return Read(*std::move(tensor));
    }
    default:
      return Read();
  }
}

Result<StoredTensor> ReadConstant(const std::string& name, const onnx::AttributeProto& proto, const Part& part) {
  if (name == "value" && proto.has_t()) return ReadTensor(proto.t(), part);
  if (name == "sparse_value" && proto.has_sparse_tensor()) return ReadSparseTensor(proto.sparse_tensor(), part);
  if (name == "value_float") return Listed(DType::kFloat32, {}, std::vector<double>{proto.f()});
  if (name == "value_int") return Listed(DType::kInt64, {}, std::vector<int64_t>{proto.i()});
  if (name == "value_floats") {
    return Listed(DType::kFloat32, {proto.floats_size()},
                  std::vector<double>(proto.floats().begin(), proto.floats().end()));
  }
  if (name == "value_ints") {
    return Listed(DType::kInt64, {proto.ints_size()}, std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
  }
  if (name == "value_string") return StoredTensor{.type = DType::kString};
  if (name == "value_strings") return StoredTensor{.type = DType::kString, .dims = {proto.strings_size()}};
  return Error{ErrorCode::kBadInput, "", part.Text() + " has the unknown attribute " + QuotedName(name),
               "export it again"};
}

}  // namespace vramplan
