#include "planner/picture/parts.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "planner/report/parts/breakdown.h"

using namespace vramplan;

namespace {

using Rgb = std::array<double, 3>;

Rgb Read(const std::string& color) {
  Rgb rgb{};
  for (size_t i = 0; i < 3; ++i) rgb[i] = std::stoi(color.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
  return rgb;
}

Rgb Linear(const Rgb& rgb) {
  Rgb linear{};
  for (size_t i = 0; i < 3; ++i)
    linear[i] = rgb[i] <= 0.04045 ? rgb[i] / 12.92 : std::pow((rgb[i] + 0.055) / 1.055, 2.4);
  return linear;
}

// WCAG 2.2, "relative luminance" and "contrast ratio".
double Luminance(const std::string& color) {
  const Rgb linear = Linear(Read(color));
  return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
}
double Contrast(const std::string& a, const std::string& b) {
  const double high = std::max(Luminance(a), Luminance(b)), low = std::min(Luminance(a), Luminance(b));
  return (high + 0.05) / (low + 0.05);
}

// What a reader without green cones sees: Machado, Oliveira and Fernandes 2009, table of severity 1.0, deuteranomaly.
Rgb Deuteranopia(const std::string& color) {
  const Rgb c = Linear(Read(color));
  return {0.367322 * c[0] + 0.860646 * c[1] - 0.227968 * c[2], 0.280085 * c[0] + 0.672501 * c[1] + 0.047413 * c[2],
          -0.011820 * c[0] + 0.042940 * c[1] + 0.968881 * c[2]};
}
double Apart(const std::string& a, const std::string& b) {
  const Rgb x = Deuteranopia(a), y = Deuteranopia(b);
  return std::hypot(std::cbrt(std::max(0.0, x[0])) - std::cbrt(std::max(0.0, y[0])),
                    std::cbrt(std::max(0.0, x[1])) - std::cbrt(std::max(0.0, y[1])),
                    std::cbrt(std::max(0.0, x[2])) - std::cbrt(std::max(0.0, y[2])));
}

}  // namespace

TEST_CASE("parts: names are those of a breakdown") {
  const std::vector<BreakdownRow> rows = Breakdown(Peak(), Bytes());
  REQUIRE_EQ(rows.size(), kParts);
  for (size_t part = 0; part < kParts; ++part) CHECK_EQ(rows[part].name, Parts()[part].name);
}

TEST_CASE("parts: each stands out from the page, and from the one that it is stacked on") {
  for (const Part& part : Parts()) {
    CAPTURE(part.name);
    CHECK_GE(Contrast(part.light, kLightSurface), 3.0);
    CHECK_GE(Contrast(part.dark, kDarkSurface), 3.0);
  }
  for (size_t layer = 1; layer < kStacked.size(); ++layer) {
    const Part &below = Parts()[kStacked[layer - 1]], &above = Parts()[kStacked[layer]];
    CAPTURE(above.name);
    CHECK_GE(Apart(below.light, above.light), 0.1);
    CHECK_GE(Apart(below.dark, above.dark), 0.1);
  }
}
