// Symbols: the names that a file gives to free lengths, and the expressions it makes of them.
//
//   EvaluateDim("2*batch", {{"batch", B}})                          2*B
//   EvaluateDim("past + sequence", {{"past", 0}, {"sequence", 8}})   8
//   EvaluateDim("ceiling(sequence/2)", {{"sequence", 9}})            5
//   EvaluateDim("Convoutput_dim_3", {})                             nothing
//
// Exporters write sums, products, "//", "/", "%", "**" and the functions floor, ceiling, Max, Min, Mod (sympy's
// spelling, which torch.export uses).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/dim.h"

namespace vramplan {

// The value of a symbol or expression; nothing when a symbol in it has no value, when it cannot be read, or when the
// value is not a polynomial in the batch.
std::optional<Dim> EvaluateDim(const std::string& text, const std::map<std::string, Dim>& symbols);

// The names in an expression, without function names, in order: {"past", "sequence"}. Empty when it cannot be read as
// an expression.
std::vector<std::string> SymbolsIn(const std::string& text);

}  // namespace vramplan
