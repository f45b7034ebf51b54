#include "planner/spec/nearest.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("edit distance: insertions, deletions, replacements and swaps of neighbours each count one") {
  struct Row {
    const char *a, *b;
    int distance;
  };
  constexpr Row kRows[] = {{"", "", 0},         {"adam", "adam", 0},  {"", "sgd", 3},     {"adm", "adam", 1},
                           {"adma", "adam", 1}, {"adamw", "adam", 1}, {"sgd", "adam", 4}, {"ca", "abc", 3},
                           {"fit", "fat", 1},   {"t4", "l4", 1},      {"gup", "gpu", 1}};
  for (const Row& row : kRows) {
    CAPTURE(row.a);
    CAPTURE(row.b);
    CHECK_EQ(EditDistance(row.a, row.b), row.distance);
    CHECK_EQ(EditDistance(row.b, row.a), row.distance);
  }
}

TEST_CASE("suggestions: nearest first, what the word begins, nothing when all are far") {
  const std::vector<std::string> names = {"none", "sgd", "sgd-momentum", "adam", "adamw"};
  CHECK_EQ(Nearest("adamm", names), std::vector<std::string>{"adam", "adamw"});
  CHECK_EQ(Nearest("sg", names), std::vector<std::string>{"sgd", "sgd-momentum"});
  CHECK_EQ(Nearest("ADAM", names), std::vector<std::string>{"adam", "adamw"});
  CHECK_EQ(Nearest("lion", names), std::vector<std::string>{});
  CHECK_EQ(Nearest("llama3", {"gpt2", "llama-3-8b", "llama-2-7b", "meta-llama/Llama-3-8B"}),
           std::vector<std::string>{"llama-3-8b"});
  CHECK_EQ(SuggestNearest("adamm", names), "did you mean adam or adamw?");
  CHECK_EQ(SuggestNearest("lion", names), "");
  CHECK_EQ(JoinChoices({"a"}), "a");
  CHECK_EQ(JoinChoices({"a", "b", "c"}), "a, b or c");
  CHECK_EQ(InQuotes("a b"), "\"a b\"");
}

}  // namespace
}  // namespace vramplan
