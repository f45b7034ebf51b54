#include "planner/snapshot/pickle.h"

#include <doctest/doctest.h>

#include <string>

using namespace vramplan;

namespace {

std::string Unhex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  return bytes;
}

// As Python would print it.
std::string Text(const Pickle& pickle, PickleId id) {
  const PickleValue& value = pickle.values[static_cast<size_t>(id)];
  if (std::holds_alternative<PickleNone>(value)) return "None";
  if (const bool* truth = std::get_if<bool>(&value)) return *truth ? "True" : "False";
  if (const int64_t* integer = std::get_if<int64_t>(&value)) return std::to_string(*integer);
  if (const double* real = std::get_if<double>(&value)) return std::to_string(*real).substr(0, 3);
  if (const std::string* text = std::get_if<std::string>(&value)) return "'" + *text + "'";
  std::string all;
  if (const PickleList* list = std::get_if<PickleList>(&value)) {
    for (const PickleId item : list->items) all += (all.empty() ? "" : ", ") + Text(pickle, item);
    return list->tuple ? "(" + all + ")" : "[" + all + "]";
  }
  for (const auto& [key, member] : std::get<PickleDict>(value).items)
    all += (all.empty() ? "" : ", ") + Text(pickle, key) + ": " + Text(pickle, member);
  return "{" + all + "}";
}

constexpr const char* kValues = "{'a': [1, -2, 1099511627776, True, None, 2.5, 'x', (1, 2), ()], 'b': {}}";

}  // namespace

// pickle.dumps({"a": [1, -2, 1 << 40, True, None, 2.5, "x", (1, 2), ()], "b": {}}, protocol=N) of Python 3.11.
TEST_CASE("pickle: what Python writes, in every protocol") {
  for (const char* hex :
       {"286470300a56610a70310a286c70320a49310a61492d320a614c313039393531313632373737364c0a614930310a614e6146322e350a61"
        "56780a70330a612849310a49320a7470340a612874617356620a70350a286470360a732e",
        "7d71002858010000006171015d7102284b014afeffffff4c313039393531313632373737364c0a4930310a4e4740040000000000005801"
        "000000787103284b014b02747104296558010000006271057d7106752e",
        "80027d71002858010000006171015d7102284b014afeffffff8a06000000000001884e4740040000000000005801000000787103"
        "4b014b02867104296558010000006271057d7106752e",
        "80049538000000000000007d94288c0161945d94284b014afeffffff8a06000000000001884e4740040000000000008c0178944b014b02"
        "869429658c0162947d94752e"}) {
    CAPTURE(hex);
    const Result<Pickle> read = ReadPickle(Unhex(hex), "x.pickle");
    REQUIRE(read.ok());
    CHECK_EQ(Text(*read, read->root), kValues);
    const Result<Pickle> again = ReadPickle(WritePickle(*read), "x.pickle");
    REQUIRE(again.ok());
    CHECK_EQ(Text(*again, again->root), kValues);
  }
}

// pickle.dumps({"segments": [E()]}) of Python 3.11, where E.__reduce__ gives (os.system, ("touch /tmp/ran",)):
// pickle.load would run the command.
TEST_CASE("pickle: what would run code is refused") {
  for (const char* hex :
       {"286470300a567365676d656e74730a70310a286c70320a63706f7369780a73797374656d0a70330a2856746f756368202f746d702f7261"
        "6e0a70340a7470350a5270360a61732e",
        "80027d710058080000007365676d656e747371015d710263706f7369780a73797374656d0a7103580e000000746f756368202f746d702f"
        "72616e710485710552710661732e",
        "8004953a000000000000007d948c087365676d656e7473945d948c05706f736978948c0673797374656d9493948c0e746f756368202f74"
        "6d702f72616e948594529461732e"}) {
    CAPTURE(hex);
    const Result<Pickle> read = ReadPickle(Unhex(hex), "x.pickle");
    REQUIRE_FALSE(read.ok());
    CHECK_EQ(read.error().code, ErrorCode::kBadInput);
    CHECK_NE(read.error().text.find("more than plain values"), std::string::npos);
  }
}

TEST_CASE("pickle: what is cut off or damaged is one error, and never a crash") {
  const std::string whole = Unhex(
      "80049538000000000000007d94288c0161945d94284b014afeffffff8a06000000000001884e4740040000000000008c0178944b014b0286"
      "9429658c0162947d94752e");
  for (size_t length = 0; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_FALSE(ReadPickle(std::string_view(whole).substr(0, length), "x").ok());
  }
  for (const char* damaged : {"2e", "80022e", "8002652e", "80025d4b01752e", "8002680a2e", "80027d284b01752e",
                              "80028a0affffffffffffffffffff2e", "8002304b012e2e", "80025d85862e"}) {
    CAPTURE(damaged);
    const Result<Pickle> read = ReadPickle(Unhex(damaged), "x");
    if (read.ok()) {
      CHECK_EQ(std::string(damaged), "8002304b012e2e");  // POP of nothing is let through
    } else {
      CHECK_NE(read.error().text, "");
    }
  }
  // A list that holds itself.
  const Result<Pickle> itself = ReadPickle(Unhex("80025d7100680061"
                                                 "2e"),
                                           "x");
  REQUIRE(itself.ok());
  CHECK_EQ(itself->AsList(itself->root)->items, std::vector<PickleId>{itself->root});
}

TEST_CASE("pickle: nests, bombs and counts that nobody means end at once, in one line") {
  // Five million tuples, each in the next; two hundred lists, each twice in the next.
  const std::string nested = "\x80\x02N" + std::string(5'000'000, '\x85') + ".";
  const Result<Pickle> deep = ReadPickle(nested, "x");
  REQUIRE(deep.ok());
  CHECK_EQ(deep->values.size(), 5'000'001u);
  std::string doubled("\x80\x02]q\0", 5);
  for (int i = 1; i < 200; ++i) {
    const char before = static_cast<char>(i - 1), now = static_cast<char>(i);
    doubled += std::string("]q") + now + "(h" + before + "h" + before + "e";
  }
  const Result<Pickle> bomb = ReadPickle(doubled + ".", "x");
  REQUIRE(bomb.ok());
  CHECK_EQ(bomb->values.size(), 200u);
  struct Row {
    const char *hex, *error;
  };
  for (const auto& [hex, error] : {
           Row{"80028dffffffffffffffff782e", "cut off"},                   // a text of 2^64 - 1 bytes
           Row{"800258ffffffff782e", "cut off"},                           // and of 2^32 - 1
           Row{"80028bffffff7f2e", "cut off"},                             // a number of 2^31 - 1 bytes
           Row{"8002fe2e", "opcode 0xfe at byte 2 makes something else"},  // no opcode
           Row{"80048c026f738c0673797374656d932e", "opcode 0x93"},         // os.system, by STACK_GLOBAL
           Row{"285378696f730a73797374656d0a2e", "opcode 0x53"},           // by INST
           Row{"80027d7d622e", "opcode 0x62"},                             // BUILD
           Row{"506162630a2e", "opcode 0x50"},                             // a persistent id
           Row{"8002822e", "opcode 0x82"},                                 // a registered extension
           Row{"8005972e", "opcode 0x97"},                                 // a buffer out of band
       }) {
    CAPTURE(hex);
    const Result<Pickle> read = ReadPickle(Unhex(hex), "x");
    REQUIRE_FALSE(read.ok());
    CHECK_NE(read.error().text.find(error), std::string::npos);
    CHECK_EQ(ToString(read.error()).find('\n'), std::string::npos);
  }
}
