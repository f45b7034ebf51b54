// Nearest: which of the known names a mistyped one probably meant. Used by every "did you mean" of the command line.
//
//   Nearest("adm", {"adam", "adamw", "sgd"})      {"adam", "adamw"}
//   SuggestNearest("adm", {"adam", "adamw"})      "did you mean adam or adamw?"
//   SuggestNearest("zzzzzz", {"adam", "adamw"})   "" (too far from everything)
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace vramplan {

// Single-character insertions, deletions, replacements and swaps of neighbours between two words.
int EditDistance(std::string_view a, std::string_view b);

// At most three names within a third of the longer word's length, or that begin with `word` when the separators of both
// are left out ("llama3": llama-3-8b), nearest first; equally near ones in their given order.
std::vector<std::string> Nearest(std::string_view word, const std::vector<std::string>& names);

// The same as a hint; empty when nothing is near.
std::string SuggestNearest(std::string_view word, const std::vector<std::string>& names);

// The text between double quotes.
std::string InQuotes(std::string_view text);

// "a, b or c".
std::string JoinChoices(const std::vector<std::string>& names);

}  // namespace vramplan
