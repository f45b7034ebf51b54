#include "graph/onnx/wire.h"

namespace vramplan::wire {
namespace {

// The fault of the varint at *at, which moves behind it.
inline Fault ReadVarint(const char** at, const char* end, uint64_t* value) {
  uint64_t result = 0;
  const char* p = *at;
  for (int shift = 0; shift < 70; shift += 7) {
    if (p == end) return Fault::kTruncated;
    const auto byte = static_cast<uint8_t>(*p++);
    result |= static_cast<uint64_t>(byte & 0x7f) << (shift < 64 ? shift : 63);
    if (byte < 0x80) {
      *value = result;
      *at = p;
      return Fault::kNone;
    }
  }
  return Fault::kMalformed;
}

}  // namespace

bool TakeVarint(std::string_view* bytes, uint64_t* value) {
  const char* at = bytes->data();
  if (ReadVarint(&at, bytes->data() + bytes->size(), value) != Fault::kNone) return false;
  bytes->remove_prefix(static_cast<size_t>(at - bytes->data()));
  return true;
}

bool Reader::Next(Field* field) {
  if (next_ == end_ || fault_ != Fault::kNone) return false;
  const char* at = next_;
  uint64_t tag = 0;
  fault_ = ReadVarint(&at, end_, &tag);
  if (fault_ != Fault::kNone) return false;
  const uint64_t number = tag >> 3;
  if (number == 0 || number > 0x1fffffff) {
    fault_ = Fault::kMalformed;
    return false;
  }
  uint64_t size = 0;
  switch (tag & 7) {
    case 0:
      fault_ = ReadVarint(&at, end_, &field->value);
      if (fault_ != Fault::kNone) return false;
      field->kind = Kind::kVarint;
      break;
    case 1:
      field->kind = Kind::kFixed64;
      size = 8;
      break;
    case 2:
      fault_ = ReadVarint(&at, end_, &size);
      if (fault_ != Fault::kNone) return false;
      field->kind = Kind::kBytes;
      break;
    case 5:
      field->kind = Kind::kFixed32;
      size = 4;
      break;
    default:
      fault_ = Fault::kMalformed;
      return false;
  }
  if (size > static_cast<uint64_t>(end_ - at)) {
    fault_ = Fault::kTruncated;
    return false;
  }
  field->number = static_cast<uint32_t>(number);
  field->payload = std::string_view(at, size);
  field->whole = std::string_view(next_, static_cast<size_t>(at - next_) + size);
  next_ = at + size;
  return true;
}

}  // namespace vramplan::wire
