// The protobuf wire format, read in place: fields of one message, one after the other, nothing copied, nothing
// allocated.
//
//   08 0a        field 1, varint 10            {.number = 1, .kind = kVarint, .value = 10}
//   12 02 68 69  field 2, two bytes "hi"       {.number = 2, .kind = kBytes, .payload = "hi"}
//
// Invariant: every view lies inside the message that the Reader was given, whatever the bytes claim. Groups (wire types
// 3 and 4) are an error: ONNX has none, and their absence is what tells an ONNX file from most others. Format:
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstdint>
#include <string_view>

namespace vramplan::wire {

enum class Kind : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

struct Field {
  uint32_t number = 0;
  Kind kind = Kind::kVarint;
  uint64_t value = 0;        // kVarint
  std::string_view payload;  // kBytes: the bytes; kFixed*: the 8 or 4 bytes
  std::string_view whole;    // the field with its tag, as it stands in the message
};

enum class Fault : uint8_t {
  kNone,
  kTruncated,  // the message ends inside a field
  kMalformed,  // no message looks like this: field number 0, a group, a varint of more than 10 bytes
};

class Reader {
 public:
  explicit Reader(std::string_view message) : next_(message.data()), end_(next_ + message.size()) {}

  // The next field; false at the end of the message and on a fault.
  bool Next(Field* field);
  Fault fault() const { return fault_; }
  // Where the next field begins, or where the faulty one did.
  const char* position() const { return next_; }

 private:
  const char* next_;
  const char* end_;
  Fault fault_ = Fault::kNone;
};

// Reads one varint from the front of `bytes` and takes it off; false when there is none.
bool TakeVarint(std::string_view* bytes, uint64_t* value);

}  // namespace vramplan::wire
