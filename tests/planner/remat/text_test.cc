#include "planner/remat/text.h"

#include <doctest/doctest.h>

#include <string>

namespace vramplan {
namespace {

TEST_CASE("a problem is read as it was written") {
  const std::string text = "4 4\n5 4\n1 2\n1 3\n1 1\n0 1\n1 2\n0 3\n2 3\n";
  const Result<RematProblem> problem = ReadProblem(text, "a");
  REQUIRE(problem.ok());
  CHECK_EQ(problem->size(), 4);
  CHECK((*problem)[2] == RematNode{1, 3});
  CHECK_EQ(WriteProblem(*problem), text);
  CHECK_EQ(WriteSchedule({0, 1, 2, 0, 3}), "0 1 2 0 3\n");
  // Windows' line ends, blanks, no line end at the end, an edge twice.
  const Result<RematProblem> other = ReadProblem("2 2\r\n 5\t4 \r\n1 2\r\n0 1\r\n0 1", "a");
  REQUIRE(other.ok());
  CHECK_EQ(WriteProblem(*other), "2 1\n5 4\n1 2\n0 1\n");
  const Result<RematProblem> commented = ReadProblem("# a step\n2 1\n5 4\n# of\n# mine\n1 2\n0 1\n# end\n", "a");
  REQUIRE(commented.ok());
  CHECK_EQ(WriteProblem(*commented), "2 1\n5 4\n1 2\n0 1\n");
}

TEST_CASE("hostile problems: one line that names the line") {
  struct Row {
    const char* text;
    const char* says;
  };
  const Row kRows[] = {
      {"", "line 1 ends before all lines are there"},
      {"\n", "line 1 is not two whole numbers of 0 or more"},
      {"<html>", "line 1 is not two whole numbers of 0 or more"},
      {"3", "line 1 is not two whole numbers of 0 or more"},
      {"1 0 0\n1 1\n", "line 1 is not two whole numbers of 0 or more"},
      {"0 0\n", "line 1 states 0 nodes"},
      {"9000000000000000000 1\n1 1\n", "line 1 states 9000000000000000000 nodes"},
      {"99999999999999999999 1\n", "line 1 is not two whole numbers of 0 or more"},
      {"1000000 999999999999\n1 1\n", "line 3 ends before all lines are there"},
      {"2 999999999999\n1 1\n1 1\n0 1\n", "line 5 ends before all lines are there"},
      {"2 1\n1 -1\n1 1\n0 1\n", "line 2 is not two whole numbers of 0 or more"},
      {"2 1\n1 1.5\n1 1\n0 1\n", "line 2 is not two whole numbers of 0 or more"},
      {"2 1\n1 1e3\n1 1\n0 1\n", "line 2 is not two whole numbers of 0 or more"},
      {"2 1\n1 1\n1 nan\n0 1\n", "line 3 is not two whole numbers of 0 or more"},
      {"2 1\n4611686018427387904 1\n1 1\n0 1\n", "line 3 makes the sum of all nodes more than 2^62"},
      {"2 1\n1 4611686018427387904\n1 1\n0 1\n", "line 3 makes the sum of all nodes more than 2^62"},
      {"2 1\n1 1\n1 1\n0 2\n", "line 4 names a node that does not exist"},
      {"2 1\n1 1\n1 1\n1 1\n", "line 4 goes from node 1 to node 1"},
      {"2 1\n1 1\n1 1\n1 0\n", "line 4 goes from node 1 to node 0"},
      {"2 1\n1 1\n1 1\n0 1\n0 1\n", "line 5 is one too many"},
      {"# a\n2 1\n# b\n1 1\n1 1\n0 1\n# c\n0 1\n", "line 8 is one too many"},
      {"2 1\n1 1 # one\n1 1\n0 1\n", "line 2 is not two whole numbers of 0 or more"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.text);
    const Result<RematProblem> problem = ReadProblem(row.text, "file");
    REQUIRE(!problem.ok());
    CHECK_EQ(problem.error().subject, "file");
    CHECK_EQ(problem.error().text, row.says);
    CHECK(!problem.error().hint.empty());
    CHECK_EQ(ToString(problem.error()).find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace vramplan
