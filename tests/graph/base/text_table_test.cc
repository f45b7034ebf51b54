#include "graph/base/text_table.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

using enum TextTable::Align;

TEST_CASE("a table is as wide as its contents") {
  TextTable table({{"layer"}, {"saved", kRight}});
  table.AddRow({"/layer1/conv1/Conv", "3.06 MiB"});
  table.AddRule();
  table.AddRow({"sum", "12 B"});
  CHECK_EQ(table.Print(100),
           "  layer                  saved\n"
           "  /layer1/conv1/Conv  3.06 MiB\n"
           "  ------------------  --------\n"
           "  sum                     12 B\n");
}

TEST_CASE("a table that is too wide shortens its flexible columns in the middle, and only those") {
  TextTable table({{"name", kLeft, true}, {"bytes", kRight}});
  table.AddRow({"/encoder/layer.11/attention/self/MatMul_1", "123456 B"});
  table.AddRow({"short", "1 B"});
  CHECK_EQ(table.Print(32, 0),
           "name                       bytes\n"
           "/encoder/l..f/MatMul_1  123456 B\n"
           "short                        1 B\n");
}

TEST_CASE("headers that are all empty take no line") {
  TextTable table({{""}, {"", kRight}});
  table.AddRow({"a", "1"});
  CHECK_EQ(table.Print(80, 0), "a  1\n");
}

TEST_CASE("shortened texts") {
  struct Row {
    const char* text;
    int width;
    const char* shortened;
  };
  constexpr Row kRows[] = {{"abcdef", 6, "abcdef"},
                           {"abcdefg", 6, "ab..fg"},
                           {"abcdefgh", 5, "a..gh"},
                           {"abc", 2, "ab"},
                           {"äöüßéè", 5, "ä..éè"}};
  for (const Row& row : kRows) {
    CHECK_EQ(Shortened(row.text, row.width), row.shortened);
  }
}

TEST_CASE("bars") {
  CHECK_EQ(Bar(0, 8, false), "");
  CHECK_EQ(Bar(0.001, 8, false), "#");
  CHECK_EQ(Bar(0.5, 8, false), "####");
  CHECK_EQ(Bar(2, 8, false), "########");
  CHECK_EQ(Bar(0.001, 2, true), "▏");
  CHECK_EQ(Bar(0.75, 2, true), "█▌");
}

TEST_CASE("wrapped texts") {
  CHECK_EQ(Wrapped("one two three", 100, "  "), "one two three");
  CHECK_EQ(Wrapped("one two three", 8, "  "), "one two\n  three");
  CHECK_EQ(Wrapped("one twothreefour five", 8, ""), "one\ntwothreefour\nfive");
  CHECK_EQ(Wrapped("", 8, ""), "");
}

}  // namespace
}  // namespace vramplan
