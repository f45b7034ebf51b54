#include "graph/onnx/wire.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace vramplan::wire {
namespace {

using namespace std::string_view_literals;

struct Seen {
  uint32_t number;
  Kind kind;
  uint64_t value;
  std::string payload;
  bool operator==(const Seen&) const = default;
};

TEST_CASE("fields, or what is wrong with them") {
  struct Row {
    std::string_view bytes;
    std::vector<Seen> fields;
    Fault fault = Fault::kNone;
    long position = -1;  // of the fault
  };
  const Seen ten{1, Kind::kVarint, 10, ""};
  for (const Row& row : {
           Row{""sv, {}}, Row{"\x08\x0a"sv, {ten}}, Row{"\x08\x0a\x12\x02hi"sv, {ten, {2, Kind::kBytes, 0, "hi"}}},
           Row{"\x12\x00"sv, {{2, Kind::kBytes, 0, ""}}},
           Row{"\x0d"
               "abcd"
               "\x11"
               "abcdefgh"sv,
               {{1, Kind::kFixed32, 0, "abcd"}, {2, Kind::kFixed64, 0, "abcdefgh"}}},
           Row{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, {{1, Kind::kVarint, ~uint64_t{0}, ""}}},
           Row{"\x08\x8a\x80\x00"sv, {ten}},  // an overlong varint is one
           Row{"\x08\x0a\x12\x03hi"sv, {ten}, Fault::kTruncated, 2}, Row{"\x08\x0a\x12"sv, {ten}, Fault::kTruncated, 2},
           Row{"\x08"sv, {}, Fault::kTruncated, 0}, Row{"\x08\x80"sv, {}, Fault::kTruncated, 0},
           Row{"\x11"
               "abcd"sv,
               {},
               Fault::kTruncated,
               0},
           Row{"\x12\xff\xff\xff\xff\xff\xff\xff\xff\x7f"
               "hi"sv,
               {},
               Fault::kTruncated,
               0},
           Row{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"sv, {}, Fault::kMalformed, 0},
           Row{"\x00\x01"sv, {}, Fault::kMalformed, 0},                  // field number 0
           Row{"\x0b\x08\x01\x0c"sv, {}, Fault::kMalformed, 0},          // a group
           Row{"\x0e"sv, {}, Fault::kMalformed, 0},                      // wire type 6
           Row{"\x80\x80\x80\x80\x10\x01"sv, {}, Fault::kMalformed, 0},  // field number 2^29
       }) {
    CAPTURE(std::string(row.bytes));
    Reader reader(row.bytes);
    std::vector<Seen> fields;
    std::string wholes;
    for (Field field; reader.Next(&field);) {
      fields.push_back(
          {field.number, field.kind, field.kind == Kind::kVarint ? field.value : 0, std::string(field.payload)});
      wholes += field.whole;
    }
    CHECK(fields == row.fields);
    CHECK(reader.fault() == row.fault);
    if (row.fault != Fault::kNone) CHECK(reader.position() - row.bytes.data() == row.position);
    CHECK(wholes == row.bytes.substr(0, wholes.size()));
    if (row.fault == Fault::kNone) CHECK(wholes.size() == row.bytes.size());
  }
}

TEST_CASE("varints in a row, as packed fields have them") {
  std::string_view bytes = "\x01\xac\x02\x80"sv;
  uint64_t value = 0;
  CHECK(TakeVarint(&bytes, &value));
  CHECK(value == 1);
  CHECK(TakeVarint(&bytes, &value));
  CHECK(value == 300);
  CHECK(!TakeVarint(&bytes, &value));
  CHECK(bytes == "\x80"sv);
}

}  // namespace
}  // namespace vramplan::wire
