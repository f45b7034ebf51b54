#include "graph/onnx/names.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

using namespace std::string_view_literals;

TEST_CASE("names in visible characters") {
  struct Row {
    std::string_view name, printable;
  };
  for (const Row& row : {
           Row{"", ""}, Row{"/layer1/conv1/Conv", "/layer1/conv1/Conv"}, Row{"onnx::Conv_193", "onnx::Conv_193"},
           Row{"\xe5\xb1\x82_1", "\xe5\xb1\x82_1"},                                    // UTF-8 stays
           Row{"\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80"}, Row{"a\x1b[2J", "a\\x1b[2J"},  // clears a terminal
           Row{"a\nb", "a\\x0ab"}, Row{"\x7f", "\\x7f"}, Row{"\0"sv, "\\x00"},
           Row{"\xc2\x9b", "\\xc2\\x9b"},           // a control character of two bytes
           Row{"\xff\xe5", "\\xff\\xe5"},           // begins nothing; cut off
           Row{"\xc0\x8a", "\\xc0\\x8a"},           // overlong
           Row{"\xed\xa0\x80", "\\xed\\xa0\\x80"},  // surrogate
           Row{"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
           Row{"a\xe2\x80\xa8"
               "b",
               "a\\xe2\\x80\\xa8"
               "b"},  // ends a line
           Row{"a\xe2\x80\xae"
               "b",
               "a\\xe2\\x80\\xae"
               "b"},                      // turns the direction
           Row{"a\\x0ab", "a\\x5cx0ab"},  // what looks like ours is not the same name
       }) {
    CHECK(Printable(row.name) == row.printable);
  }
  CHECK(OneLine("'a\\x0ab' in c\nd") == "'a\\x0ab' in c\\x0ad");
  CHECK(QuotedName("conv1") == "'conv1'");
  CHECK(QuotedName(std::string(500, 'a')) == "'" + std::string(120, 'a') + "...'");
  CHECK(Part{"initializer", "w"}.Text() == "initializer 'w'");
  CHECK(Part{"attribute", "value", "Constant_3"}.Text() == "attribute 'value' of node 'Constant_3'");
}

}  // namespace
}  // namespace vramplan
