// The verbs solve and check, as they are typed.
#include <doctest/doctest.h>

#include <string>

#include "tests/support/command_line.h"

namespace vramplan {
namespace {

using testing::Do;
using testing::Said;
using testing::ScratchFile;

// Node 0 is read by 1 and 3; kept, 0, 1 and 2 are there at once.
const char kDiamond[] = "4 4\n5 4\n1 2\n1 3\n1 1\n0 1\n1 2\n0 3\n2 3\n";

TEST_CASE("solve: the answer in words, in JSON, and the schedule in a file that check accepts") {
  const ScratchFile problem("diamond.txt", kDiamond), schedule("schedule.txt");
  const Said said = Do("solve " + problem.path() + " --budget 8 --out " + schedule.path());
  CHECK_EQ(said.exit_code, 0);
  CHECK_EQ(said.err, "");
  CHECK_EQ(said.out,
           "vramplan_test_diamond.txt: a schedule within 8 costs 13, 62.50 % more than running every node once; "
           "proved optimal\n\n"
           "                   cost  peak\n"
           "  every node once     8     9\n"
           "  this schedule      13     8\n"
           "  lower bound        13     8\n"
           "  minimum cuts and the temporal knapsack give the same bound\n"
           "  4 nodes, 4 edges; bounds hold for this order, and the cost's for this budget\n");
  CHECK_EQ(schedule.Bytes(), "0 1 2 0 3\n# written by vramplan 0.1.0\n");
  const Said checked = Do("check " + problem.path() + " " + schedule.path() + " --budget 8");
  CHECK_EQ(checked.exit_code, 0);
  CHECK_EQ(checked.out, "fits: peak 8, budget 8, cost 13\n");
  const Said over = Do("check " + problem.path() + " " + schedule.path() + " --budget 7");
  CHECK_EQ(over.exit_code, 3);
  CHECK_EQ(over.out, "does not fit: peak 8, budget 7, cost 13\n");

  const Said json = Do("solve " + problem.path() + " --budget 8 --format json");
  CHECK_EQ(json.exit_code, 0);
  const size_t seconds = json.out.find("  \"seconds\": ");
  REQUIRE(seconds != std::string::npos);
  CHECK_EQ(json.out.substr(0, seconds),
           "{\n  \"schema\": \"vramplan.solve/1\",\n  \"budget\": 8,\n  \"peak\": 8,\n  \"cost\": 13,\n"
           "  \"extra\": 5,\n  \"bound\": 13,\n  \"gap\": 0.0,\n  \"proved_optimal\": true,\n");
  CHECK(json.out.find("\"working_set\": 8,\n    \"cuts\": 13,\n    \"temporal_knapsack\": 13\n") != std::string::npos);
}

TEST_CASE("solve: what does not fit the budget is exit code 3, and leaves no schedule") {
  const ScratchFile problem("diamond.txt", kDiamond), schedule("schedule.txt", "0 1 2 3\n");
  const Said said = Do("solve " + problem.path() + " --budget 7 --force --out " + schedule.path());
  CHECK_EQ(said.exit_code, 3);
  CHECK_EQ(said.FirstLine(),
           "vramplan_test_diamond.txt: no schedule stays within 7: one node and what it reads take 8");
  CHECK_EQ(schedule.Bytes(), "");
  const Said json = Do("solve " + problem.path() + " --budget 7 --format json");
  CHECK_EQ(json.exit_code, 3);
  CHECK(json.out.find("\"peak\": null,\n  \"cost\": null,\n  \"extra\": null,\n  \"bound\": 8,\n  \"gap\": null,\n"
                      "  \"proved_optimal\": false") != std::string::npos);
}

TEST_CASE("solve without a budget: the least peak") {
  const ScratchFile problem("diamond.txt", kDiamond);
  const Said said = Do("solve " + problem.path() + " --seconds 0.05");
  CHECK_EQ(said.exit_code, 0);
  CHECK_EQ(said.FirstLine(),
           "vramplan_test_diamond.txt: a schedule within 8 costs 13, 62.50 % more than running every node once; "
           "proved optimal");
}

TEST_CASE("bad input: one line, nothing on stdout") {
  const ScratchFile good("diamond.txt", kDiamond), bad("bad.txt", "4 4\n5 4\n1 x\n"),
      backward("back.txt", "2 1\n1 1\n1 1\n1 0\n");
  const ScratchFile cut("cut.txt", "0 1 2"), early("early.txt", "0 1 3 2"), words("words.txt", "0 1 2 three");
  const ScratchFile longer("longer.txt", std::string(kDiamond) + "0 1\n"), many("many.txt", "999999999999 1\n1 1\n");
  struct Row {
    std::string line;
    int exit_code;
    const char* says;
  };
  const Row kRows[] = {
      {"solve", 2, "type vramplan solve FILE"},
      {"solve nowhere.txt", 1, "nowhere.txt: cannot be read: No such file or directory"},
      {"solve " + bad.path(), 1, "line 3 is not two whole numbers of 0 or more"},
      {"solve " + backward.path(), 1, "line 4 goes from node 1 to node 0"},
      {"solve " + many.path(), 1, "states 999999999999 nodes"},
      {"solve " + good.path() + " --budget much", 2, "--budget: \"much\""},
      {"solve " + good.path() + " --budget -5", 2, "--budget"},
      {"solve " + good.path() + " --seconds 0", 2, "is not a number of seconds above 0"},
      {"solve " + good.path() + " --seconds nan", 2, "is not a number of 0 or more"},
      {"solve " + good.path() + " --seed -1", 2, "is not a whole number of 0 or more"},
      {"solve " + good.path() + " --out -", 2, "name a file for the schedule"},
      {"solve " + good.path() + " --batch 3", 2, "solve does not have this option"},
      {"check " + good.path(), 2, "type vramplan check FILE SCHEDULE --budget N"},
      {"check " + good.path() + " " + cut.path(), 2, "add --budget N"},
      {"check " + good.path() + " " + cut.path() + " --budget 9", 1, "never computes node 3"},
      {"check " + good.path() + " " + early.path() + " --budget 9", 1,
       "number 3 is node 3, and the next node that is not computed yet is 2"},
      {"check " + good.path() + " " + words.path() + " --budget 9", 1,
       "has something other than numbers after 3 of them"},
      {"check " + good.path() + " nowhere.txt --budget 9", 1, "nowhere.txt: cannot be read: No such file or directory"},
      {"check " + bad.path() + " " + cut.path() + " --budget 9", 1, "has no cost and bytes for node 1"},
      {"check " + backward.path() + " " + cut.path() + " --budget 9", 1,
       "edge 0 does not lead from a node to a later one"},
      {"check " + longer.path() + " " + cut.path() + " --budget 9", 1,
       "has more numbers than its first line announces"},
      {"check " + many.path() + " " + cut.path() + " --budget 9", 1, "has no cost and bytes for node 1"},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.line);
    const Said said = Do(row.line);
    CHECK_EQ(said.exit_code, row.exit_code);
    CHECK_EQ(said.out, "");
    CAPTURE(said.err);
    CHECK(said.err.find(row.says) != std::string::npos);
    CHECK_EQ(said.err.find('\n'), said.err.size() - 1);
  }
}

}  // namespace
}  // namespace vramplan
