#include "graph/onnx/attribute.h"

#include <onnx/onnx_pb.h>

#include "graph/onnx/names.h"
#include "graph/onnx/tensor.h"

namespace vramplan {
namespace {

using Kind = onnx::AttributeProto;

// Files of IR version 1 have no type: the field that is set tells.
Kind::AttributeType KindOf(const onnx::AttributeProto& proto) {
  if (proto.type() != Kind::UNDEFINED) return proto.type();
  if (proto.has_f()) return Kind::FLOAT;
  if (proto.has_i()) return Kind::INT;
  if (proto.has_s()) return Kind::STRING;
  if (proto.has_t()) return Kind::TENSOR;
  if (proto.has_sparse_tensor()) return Kind::SPARSE_TENSOR;
  if (proto.floats_size() > 0) return Kind::FLOATS;
  if (proto.ints_size() > 0) return Kind::INTS;
  if (proto.strings_size() > 0) return Kind::STRINGS;
  return Kind::UNDEFINED;
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
    case Kind::FLOAT:
      return Read(static_cast<double>(proto.f()));
    case Kind::INT:
      return Read(static_cast<int64_t>(proto.i()));
    case Kind::STRING:
      return Read(proto.s());
    case Kind::FLOATS:
      return Read(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case Kind::INTS:
      return Read(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case Kind::STRINGS:
      return Read(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case Kind::TENSOR:
    case Kind::SPARSE_TENSOR: {
      Result<StoredTensor> tensor =
          KindOf(proto) == Kind::TENSOR ? ReadTensor(proto.t(), part) : ReadSparseTensor(proto.sparse_tensor(), part);
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
