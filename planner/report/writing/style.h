// Style: what the reader's terminal can show, and how much they asked for.
#pragma once

#include <string>
#include <string_view>

namespace vramplan {

struct Style {
  int width = 100;
  bool unicode = false;  // block characters in bars; ASCII otherwise
  bool verbose = false;  // every table and option; otherwise what fits on a screen
};

// What an answer without --verbose takes at most, so that its verdict is still on the screen.
inline constexpr int kBriefLines = 20;
inline constexpr int kAnyRoom = 1 << 20;
// The lines that an answer which prints this text has left: any number, if it is verbose.
int RoomLeft(std::string_view text, const Style& style);

// A line of an answer below its verdict: two columns to the right, and broken where the width ends.
std::string Indented(const std::string& line, const Style& style);

}  // namespace vramplan
