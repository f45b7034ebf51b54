#include "graph/base/round.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("round: whole units") {
  struct Row {
    int64_t count, unit, units;
  };
  for (const Row& row :
       {Row{0, 4, 0}, Row{1, 4, 1}, Row{4, 4, 1}, Row{5, 4, 2}, Row{int64_t{1} << 60, 512, int64_t{1} << 51}}) {
    CAPTURE(row.count);
    CHECK(DivideUp(row.count, row.unit) == row.units);
    CHECK(RoundUp(row.count, row.unit) == row.units * row.unit);
  }
}

}  // namespace
}  // namespace vramplan
