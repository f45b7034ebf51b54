#include "planner/picture/plot.h"

#include <doctest/doctest.h>

using namespace vramplan;

TEST_CASE("plot: few round ticks, and bytes where they belong") {
  struct Row {
    Bytes highest;
    const char* ticks;
  };
  for (const auto& [highest, ticks] : {
           Row{Bytes::Of(15633680957), "0 4 GiB 8 GiB 12 GiB"},
           Row{Bytes::GiB(80), "0 16 GiB 32 GiB 48 GiB 64 GiB 80 GiB"},
           Row{Bytes::MiB(3), "0 1 MiB 2 MiB 3 MiB"},
           Row{Bytes(), "0 1 KiB"},
       }) {
    const ByteScale scale(highest);
    std::string text;
    for (const Bytes tick : scale.ticks()) text += (text.empty() ? "" : " ") + TickText(tick);
    CHECK_EQ(text, ticks);
    CHECK_EQ(scale.Y(Bytes()), kPlotHeight);
    CHECK_EQ(scale.Y(scale.top()), 0);
    CHECK_GT(scale.Y(highest), 0);  // below the top: its label has room
  }
}
