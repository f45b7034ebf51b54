#include "graph/base/bytes.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>

namespace vramplan {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

TEST_CASE("sums and products stick at the ends of the range") {
  struct Row {
    int64_t a, b, sum, product;
  };
  const Row rows[] = {
      {2, 3, 5, 6},
      {kMax, 1, kMax, kMax},
      {kMax, kMax, kMax, kMax},
      {kMax, -1, kMax - 1, -kMax},
      {kMin, -1, kMin, kMax},
      {kMin, 1, kMin + 1, kMin},
      {int64_t{1} << 40, int64_t{1} << 40, int64_t{1} << 41, kMax},
      {-(int64_t{1} << 40), int64_t{1} << 40, 0, kMin},
      {0, kMin, kMin, 0},
  };
  for (const Row& row : rows) {
    CAPTURE(row.a);
    CAPTURE(row.b);
    CHECK_EQ(SaturatingAdd(row.a, row.b), row.sum);
    CHECK_EQ(SaturatingMultiply(row.a, row.b), row.product);
  }
}

TEST_CASE("an overflow can only make a plan not fit") {
  CHECK_EQ(Bytes::Max() + Bytes::Of(1), Bytes::Max());
  CHECK_EQ(Bytes::GiB(kMax), Bytes::Max());
  CHECK_EQ(Bytes::GiB(16) * kMax, Bytes::Max());
  CHECK_EQ(Bytes::MiB(20) + Bytes::Of(512), Bytes::Of(20'972'032));
  CHECK_EQ(Bytes::KiB(1) - Bytes::Of(1024), Bytes());
}

TEST_CASE("rounding up") {
  struct Row {
    int64_t bytes, unit, rounded;
  };
  for (const Row& row : {Row{0, 512, 0}, Row{1, 512, 512}, Row{512, 512, 512}, Row{513, 512, 1024},
                         Row{(2 << 20) + 1, 2 << 20, 4 << 20}}) {
    CAPTURE(row.bytes);
    CHECK_EQ(Bytes::Of(row.bytes).RoundedUpTo(Bytes::Of(row.unit)), Bytes::Of(row.rounded));
  }
}

TEST_CASE("sizes for people") {
  struct Row {
    Bytes bytes;
    const char* text;
  };
  const Row rows[] = {
      {Bytes(), "0 B"},
      {Bytes::Of(512), "512 B"},
      {Bytes::Of(1023), "1023 B"},
      {Bytes::Of(1536), "1.50 KiB"},
      {Bytes::MiB(20), "20.00 MiB"},
      {Bytes::Of(15'633'680'957), "14.56 GiB"},
      {Bytes::GiB(2048), "2048.00 GiB"},
      {Bytes::Of(-2048), "-2.00 KiB"},
  };
  for (const Row& row : rows) CHECK_EQ(ToString(row.bytes), row.text);
}

TEST_CASE("sizes as people write them") {
  struct Row {
    const char* text;
    int64_t bytes;
  };
  const Row rows[] = {
      {"0", 0},
      {"123", 123},
      {"123B", 123},
      {"1.5KiB", 1536},
      {"16 MiB", 16 << 20},
      {"8192MB", int64_t{8192} << 20},
      {"2g", int64_t{2} << 30},
      {"14.56GiB", 15'633'680'957},
      {"0.5TiB", int64_t{1} << 39},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Result<Bytes> parsed = ParseBytes(row.text);
    REQUIRE(parsed.ok());
    CHECK_EQ(*parsed, Bytes::Of(row.bytes));
  }
}

TEST_CASE("what is not a size says why and what to type") {
  struct Row {
    const char* text;
    const char* error;
  };
  const Row rows[] = {
      {"", " is not a size: it does not begin with a number"},
      {"lots", "lots is not a size: it does not begin with a number"},
      {"-1GiB", "-1GiB is not a size: it is negative or not finite"},
      {"inf", "inf is not a size: it is negative or not finite"},
      {"nan", "nan is not a size: it is negative or not finite"},
      {"16 potatoes", "16 potatoes is not a size: its unit is unknown"},
      {"1e30", "1e30 is not a size: it is larger than any memory"},
      {"9999999999GiB", "9999999999GiB is not a size: it is larger than any memory"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    const Result<Bytes> parsed = ParseBytes(row.text);
    REQUIRE(!parsed.ok());
    CHECK_EQ(parsed.error().subject + " " + parsed.error().text, row.error);
    CHECK_EQ(parsed.error().hint, "write it like 14.56GiB, 512MiB or 1073741824");
    CHECK_EQ(parsed.error().code, ErrorCode::kUsage);
  }
}

}  // namespace
}  // namespace vramplan
