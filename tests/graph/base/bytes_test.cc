#include "graph/base/bytes.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST_CASE("arithmetic is exact, and stuck at the ends of the range") {
  struct Row {
    int64_t a, b, sum, difference, product;
  };
  for (const Row& row :
       {Row{7, 5, 12, 2, 35}, Row{-7, 5, -2, -12, -35}, Row{kMax, 1, kMax, kMax - 1, kMax},
        Row{kMax, kMax, kMax, 0, kMax}, Row{kMax, -1, kMax - 1, kMax, -kMax}, Row{kMin, 1, kMin + 1, kMin, kMin},
        Row{kMin, -1, kMin, kMin + 1, kMax}, Row{0, kMin, kMin, kMax, 0}, Row{kMin, kMin, kMin, 0, kMax},
        Row{kMax, kMin, -1, kMax, kMin}}) {
    CAPTURE(row.a);
    CAPTURE(row.b);
    CHECK(SaturatingAdd(row.a, row.b) == row.sum);
    CHECK(SaturatingSubtract(row.a, row.b) == row.difference);
    CHECK(SaturatingMultiply(row.a, row.b) == row.product);
    CHECK((Bytes::Of(row.a) + Bytes::Of(row.b)).count() == row.sum);
    CHECK((Bytes::Of(row.a) - Bytes::Of(row.b)).count() == row.difference);
    CHECK((Bytes::Of(row.a) * row.b).count() == row.product);
  }
  CHECK(Bytes::GiB(kMax) == Bytes::Max());
}

TEST_CASE("text of bytes") {
  struct Row {
    int64_t count;
    const char* text;
  };
  for (const Row& row :
       {Row{0, "0 B"}, Row{1, "1 B"}, Row{1023, "1023 B"}, Row{1024, "1.00 KiB"}, Row{1536, "1.50 KiB"},
        Row{1048576, "1.00 MiB"}, Row{20'971'520, "20.00 MiB"}, Row{1'073'741'824, "1.00 GiB"},
        Row{15'633'680'957, "14.56 GiB"}, Row{int64_t{1} << 41, "2048.00 GiB"}, Row{-1536, "-1.50 KiB"}}) {
    CHECK(ToString(Bytes::Of(row.count)) == row.text);
  }
}

TEST_CASE("sizes that people write") {
  struct Row {
    const char* text;
    int64_t count;
  };
  for (const Row& row : {Row{"0", 0}, Row{"123", 123}, Row{"123B", 123}, Row{"1.5KiB", 1536}, Row{"16 MiB", 16'777'216},
                         Row{"14.56GiB", 15'633'680'957}, Row{"1k", 1024}, Row{"2m", 2'097'152},
                         Row{"3G", 3'221'225'472}, Row{"24gb", 25'769'803'776}, Row{"8192MB", 8'589'934'592},
                         Row{"0.5TiB", 549'755'813'888}, Row{"1TB", 1'099'511'627'776},
                         Row{"9007199254740993", 9'007'199'254'740'993}, Row{"0.5", 0}, Row{"1e3", 1000}}) {
    CAPTURE(row.text);
    const Result<Bytes> bytes = ParseBytes(row.text);
    REQUIRE(bytes);
    CHECK(bytes->count() == row.count);
  }
}

TEST_CASE("what is not a size") {
  struct Row {
    const char* text;
    const char* reason;
  };
  for (const Row& row :
       {Row{"", "it does not begin with a number"}, Row{"GiB", "it does not begin with a number"},
        Row{" 5", "it does not begin with a number"}, Row{"-5GiB", "it is negative or not finite"},
        Row{"nan", "it is negative or not finite"}, Row{"inf", "it is negative or not finite"},
        Row{"5 parsec", "its unit is unknown"}, Row{"0x10", "its unit is unknown"}, Row{"1.2.3", "its unit is unknown"},
        Row{"9.3e18", "it is larger than any memory"}, Row{"9223372036854775807", "it is larger than any memory"},
        Row{"99999999999T", "it is larger than any memory"}}) {
    CAPTURE(row.text);
    const Result<Bytes> bytes = ParseBytes(row.text);
    REQUIRE(!bytes);
    CHECK(bytes.error() == Error{ErrorCode::kUsage, row.text, std::string("is not a size: ") + row.reason,
                                 "write it like 14.56GiB, 512MiB or 1073741824"});
  }
}

}  // namespace
}  // namespace vramplan
