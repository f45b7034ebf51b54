#include "graph/shapes/symbols.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("expressions of symbols") {
  const Dim B = Dim::Batch();
  const std::map<std::string, Dim> symbols = {{"batch", B}, {"s", 9}, {"past", 0}, {"a-b", 4}, {"input.1_dim_2", 5}};
  struct Row {
    const char* text;
    std::optional<Dim> value;
  };
  const Row rows[] = {
      {"batch", B},
      {"2*batch", Dim(2) * B},
      {"batch*s", Dim(9) * B},
      {"past + s", 9},
      {"s - 2", 7},
      {"-s + 10", 1},
      {"(s - 1)//2 + 1", 5},
      {"((s + 1)) / 2", 5},
      {"2*(s/2)", 9},
      {"s/2", std::nullopt},
      {"ceiling(s/2)", 5},
      {"floor(s/2)", 4},
      {"Max(1, s)", 9},
      {"Min(batch, 1)", 1},
      {"Mod(s, 4)", 1},
      {"s % 4", 1},
      {"s**2", 81},
      {"batch // 2", std::nullopt},
      {"a-b", 4},
      {"input.1_dim_2", 5},
      {"unknown", std::nullopt},
      {"s + unknown", std::nullopt},
      {"", std::nullopt},
      {"s +", std::nullopt},
      {"(s", std::nullopt},
      {"s)", std::nullopt},
      {"s s", std::nullopt},
      {"f(s)", std::nullopt},
      {"Max(s)", std::nullopt},
      {"99999999999999999999", std::nullopt},
      {"9223372036854775807 * s", std::nullopt},
      {"s ** 63", std::nullopt},
      {"s // 0", std::nullopt},
      {"s % 0", std::nullopt},
  };
  for (const Row& row : rows) {
    CAPTURE(row.text);
    CHECK(EvaluateDim(row.text, symbols) == row.value);
  }
}

TEST_CASE("an expression cannot eat the stack") {
  CHECK(EvaluateDim(std::string(100000, '(') + "1" + std::string(100000, ')'), {}) == std::nullopt);
  CHECK(SymbolsIn(std::string(100000, '(')).empty());
}

TEST_CASE("the names in an expression") {
  using Names = std::vector<std::string>;
  CHECK(SymbolsIn("past + sequence") == Names{"past", "sequence"});
  CHECK(SymbolsIn("ceiling(s/2) + s") == Names{"s"});
  CHECK(SymbolsIn("12").empty());
  CHECK(SymbolsIn("a +").empty());
}

}  // namespace
}  // namespace vramplan
