// Plot: bytes upwards, something else to the right; what all charts share.
//
//   ticks up to 14.56 GiB:  0 B, 4 GiB, 8 GiB, 12 GiB       the top of the plot: 15.3 GiB, so that a line at 14.56
//   shows
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/base/bytes.h"
#include "planner/picture/markup.h"

namespace vramplan {

// Where bytes are in a plot: 0 at the bottom, kPlotHeight at the top.
inline constexpr int64_t kPlotHeight = 1000;
inline constexpr int kSvgWidth = 960, kSvgHeight = 560;

class ByteScale {
 public:
  explicit ByteScale(Bytes highest);
  Bytes top() const { return top_; }
  int64_t Y(Bytes bytes) const;            // downwards, as SVG has it
  std::string Percent(Bytes bytes) const;  // of the height, from the bottom: "87.25%"
  const std::vector<Bytes>& ticks() const { return ticks_; }

 private:
  Bytes top_;
  std::vector<Bytes> ticks_;
};

// "4 GiB", "512 MiB", "1.5 GiB": without digits that say nothing.
std::string TickText(Bytes bytes);
// 100 * part / whole, with two digits: "33.33%".
std::string PercentOf(double part, double whole);

// The grid of a chart: a line and a label for each tick.
void AddGrid(const ByteScale& scale, Markup* to);
// The head of an SVG by itself: its size (960 x 560), style for light and dark, ground and title; Close() ends it.
void BeginSvg(const std::string& label, Markup* to);

// What runs upwards, above the plot; what runs to the right, below it.
void AddAxisTitle(const char* direction, const std::string& title, Markup* to);
// The same of an SVG by itself, where nothing but the text turns: along its left edge, `middle` below its top.
void AddSvgAxisTitle(int middle, const std::string& title, Markup* to);
inline constexpr const char* kUpwards = "axis up";
inline constexpr const char* kAcross = "axis across";
// A point of a chart with its label above the plot; `share`: from the left.
void AddFlag(double share, const ByteScale& scale, Bytes bytes, const std::string& label, Markup* to);
// A line across, with a label: the card's limit.
void AddLimit(const ByteScale& scale, Bytes bytes, const std::string& label, Markup* to);

}  // namespace vramplan
