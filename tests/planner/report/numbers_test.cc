#include "planner/report/writing/numbers.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("numbers: as reports write them") {
  CHECK_EQ(Counted(1, "module"), "1 module");
  CHECK_EQ(Counted(0, "more line"), "0 more lines");
  CHECK_EQ(SignedText(Bytes::MiB(3)), "3.00 MiB");
  CHECK_EQ(SignedText(Bytes() - Bytes::MiB(3), true), "-3.00 MiB");
  CHECK_EQ(SignedText(Bytes::MiB(3), true), "+3.00 MiB");
  CHECK_EQ(SignedText(Bytes(), true), "0 B");
  CHECK_EQ(PartText(Bytes::MiB(1), Bytes::MiB(3)), "33.3 %");
  CHECK_EQ(PartText(Bytes::MiB(1), Bytes()), "");
}

}  // namespace
}  // namespace vramplan
