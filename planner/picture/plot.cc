#include "planner/picture/plot.h"

#include <algorithm>
#include <cmath>

#include "planner/picture/parts.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

constexpr int64_t kMostTicks = 6;

// The smallest of 1, 2, 4 ... 512 of a unit that needs no more than kMostTicks; a step below 1 KiB is one.
int64_t TickStep(int64_t highest) {
  int64_t step = 1024;
  while (highest / step >= kMostTicks && step < (int64_t{1} << 61)) step *= 2;
  return step;
}

}  // namespace

ByteScale::ByteScale(Bytes highest) {
  constexpr double kHeadroom = 1.06;  // for a label above the highest line
  const int64_t count = std::max<int64_t>(highest.count(), 1024);
  top_ = Bytes::Of(static_cast<int64_t>(kHeadroom * static_cast<double>(count)));
  const int64_t step = TickStep(count);
  for (int64_t tick = 0; tick <= count; tick += step) ticks_.push_back(Bytes::Of(tick));
}

int64_t ByteScale::Y(Bytes bytes) const {
  const double share = static_cast<double>(bytes.count()) / static_cast<double>(top_.count());
  return kPlotHeight - std::llround(share * static_cast<double>(kPlotHeight));
}

std::string ByteScale::Percent(Bytes bytes) const {
  return PercentOf(static_cast<double>(bytes.count()), static_cast<double>(top_.count()));
}

std::string PercentOf(double part, double whole) { return Formatted("%.2f%%", whole > 0 ? 100 * part / whole : 0); }

std::string TickText(Bytes bytes) {
  if (bytes == Bytes()) return "0";
  std::string text = ToString(bytes);
  const size_t dot = text.find('.'), space = text.find(' ');
  if (dot == std::string::npos) return text;
  size_t last = space;
  while (text[last - 1] == '0') --last;
  if (text[last - 1] == '.') --last;
  return text.erase(last, space - last);
}

void AddGrid(const ByteScale& scale, Markup* to) {
  for (const Bytes tick : scale.ticks()) {
    to->Open("div", {{"class", "tick"}, {"style", "bottom:" + scale.Percent(tick)}});
    to->Element("span", {}, TickText(tick)).Close();
  }
}

void BeginSvg(const std::string& label, Markup* to) {
  Markup& svg = *to;
  svg.Open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                   {"viewBox", "0 0 " + std::to_string(kSvgWidth) + " " + std::to_string(kSvgHeight)},
                   {"role", "img"},
                   {"aria-label", label}});
  svg.Open("metadata").Text("drawn by vramplan").Close();
  svg.Open("style");
  svg.Literal(PartStyle());
  svg.Literal(
      ":root{--ink:#1c2430;--soft:#5b6472;--line:#d9dee6;--surface:#ffffff;--limit:#b3261e}"
      "@media(prefers-color-scheme:dark){:root{--ink:#e6eaf0;--soft:#9aa5b4;--line:#303844;--surface:#15191f;"
      "--limit:#ff8a80}}"
      "text{font:13px "
      "system-ui,sans-serif;fill:var(--ink)}.soft{fill:var(--soft)}.title{font-size:17px;font-weight:600}"
      ".grid{stroke:var(--line)}.ground{fill:var(--surface)}.reserved{fill:none;stroke:var(--ink);stroke-width:1.2;"
      "vector-effect:non-scaling-stroke}.limit{stroke:var(--limit);stroke-width:1.5;stroke-dasharray:6 4}"
      ".limit-text{fill:var(--limit)}.peak{fill:var(--surface);stroke:var(--ink);stroke-width:2}"
      ".curve{fill:none;stroke-width:2.5;vector-effect:non-scaling-stroke}");
  svg.Close();
  svg.Empty("rect", {{"class", "ground"}, {"width", "100%"}, {"height", "100%"}});
}

void AddAxisTitle(const char* direction, const std::string& title, Markup* to) {
  to->Element("p", {{"class", direction}}, title);
}

void AddSvgAxisTitle(int middle, const std::string& title, Markup* to) {
  const std::string y = std::to_string(middle);
  to->Element(
      "text",
      {{"class", "soft"}, {"x", "14"}, {"y", y}, {"text-anchor", "middle"}, {"transform", "rotate(-90 14 " + y + ")"}},
      title);
}

void AddFlag(double share, const ByteScale& scale, Bytes bytes, const std::string& label, Markup* to) {
  const std::string left = "left:" + PercentOf(share, 1), bottom = ";bottom:" + scale.Percent(bytes);
  to->Open("div", {{"class", share > 0.5 ? "flag left" : "flag"}, {"style", left + bottom}});
  to->Element("span", {}, label).Close();
  to->Element("div", {{"class", "peak"}, {"style", left + bottom}}, "");
}

void AddLimit(const ByteScale& scale, Bytes bytes, const std::string& label, Markup* to) {
  to->Open("div", {{"class", "limit"}, {"style", "bottom:" + scale.Percent(bytes)}});
  to->Element("span", {}, label).Close();
}

}  // namespace vramplan
