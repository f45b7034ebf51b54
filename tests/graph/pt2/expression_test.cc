#include "graph/pt2/expression.h"

#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>

#include "graph/shapes/symbols.h"

namespace vramplan {
namespace {

TEST_CASE("pt2: lengths as sympy's srepr prints them") {
  const std::map<std::string, Dim> symbols = {{"s0", Dim::Batch()}, {"s1", Dim(9)}};
  struct Row {
    const char* text;
    std::optional<Dim> value;
  };
  for (const Row& row : {
           Row{"Symbol('s0', positive=True, integer=True)", Dim::Batch()},
           Row{"Integer(4)", Dim(4)},
           Row{"Mul(Integer(4), Symbol('s0', positive=True, integer=True))", Dim::Batch() * Dim(4)},
           Row{"Add(Symbol('s1', integer=True), Integer(-1))", Dim(8)},
           Row{"FloorDiv(Add(Symbol('s1', integer=True), Integer(-1)), Integer(2))", Dim(4)},
           Row{"Pow(Symbol('s1', integer=True), Integer(2))", Dim(81)},
           Row{"Mod(Symbol('s1', integer=True), Integer(4))", Dim(1)},
           Row{"Max(Integer(1), Symbol('s1', integer=True))", Dim(9)},
           Row{"2*s0", Dim::Batch() * Dim(2)},  // before PyTorch 2.7
           Row{"Symbol('u0', integer=True)", std::nullopt},
           Row{"Unheard(Symbol('s0', integer=True))", std::nullopt},
           Row{"Mul(Integer(4), ", std::nullopt},
           Row{"Symbol('s0'", std::nullopt},
       }) {
    CAPTURE(row.text);
    CHECK(EvaluateDim(PlainLength(row.text), symbols) == row.value);
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "Add(Symbol('s0'), ";
  CHECK_EQ(PlainLength(deep), "?");
}

}  // namespace
}  // namespace vramplan
