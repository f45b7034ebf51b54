// Style: what the reader's terminal can show, and how much they asked for.
#pragma once

#include <string>

namespace vramplan {

struct Style {
  int width = 100;
  bool unicode = false;  // block characters in bars; ASCII otherwise
  bool verbose = false;  // every table and option; otherwise what fits on a screen
};

// A line of an answer below its verdict: two columns to the right, and broken where the width ends.
std::string Indented(const std::string& line, const Style& style);

}  // namespace vramplan
