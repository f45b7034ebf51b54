// Style: what the reader's terminal can show.
#pragma once

namespace vramplan {

struct Style {
  int width = 100;
  bool unicode = false;  // block characters in bars; ASCII otherwise
};

}  // namespace vramplan
