#include "planner/solver/growth.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>

namespace vramplan {
namespace {

constexpr double kWithin = 0.01;  // of the range

double X(const GrowthPoint& point) { return static_cast<double>(point.length); }
double Y(const GrowthPoint& point) { return static_cast<double>(point.bytes.count()); }

// c0 + c1 x + c2 x^2 through the first, the middle and the last point; `square` false: through the first and the last.
struct Curve {
  double c0 = 0, c1 = 0, c2 = 0;
  double At(double x) const { return c0 + x * (c1 + x * c2); }
};
Curve Through(std::span<const GrowthPoint> points, bool square) {
  const GrowthPoint &a = points.front(), &c = points.back();
  Curve curve;
  curve.c1 = (Y(c) - Y(a)) / (X(c) - X(a));
  if (square) {
    const GrowthPoint& b = points[points.size() / 2];
    const double slope = (Y(b) - Y(a)) / (X(b) - X(a));
    curve.c2 = (curve.c1 - slope) / (X(c) - X(b));
    curve.c1 -= curve.c2 * (X(c) + X(a));
  }
  curve.c0 = Y(a) - X(a) * (curve.c1 + X(a) * curve.c2);
  return curve;
}

bool Holds(const Curve& curve, std::span<const GrowthPoint> points) {
  const double range = Y(points.back()) - Y(points.front());
  return std::ranges::all_of(points, [&](const GrowthPoint& point) {
    return std::abs(curve.At(X(point)) - Y(point)) <= kWithin * std::abs(range);
  });
}

// From the earliest point on from which the law holds; of fewer points than `least` it says nothing.
std::optional<GrowthLaw> From(std::span<const GrowthPoint> points, bool square, size_t least, size_t latest) {
  for (size_t from = 0; from + least <= points.size() && from <= latest; ++from) {
    const std::span<const GrowthPoint> rest = points.subspan(from);
    const Curve curve = Through(rest, square);
    // What stays level is no law of growth: it may be one step of many.
    if (!Holds(curve, rest) || (square ? curve.c2 : curve.c1) <= 0) continue;
    return GrowthLaw{square ? Growth::kQuadratic : Growth::kLinear, rest.front().length, curve.c1, curve.c2};
  }
  return std::nullopt;
}

}  // namespace

GrowthLaw LawOf(const std::vector<GrowthPoint>& points) {
  std::set<Bytes> levels;
  for (const GrowthPoint& point : points) levels.insert(point.bytes);
  GrowthLaw law;
  if (points.size() > 1 && levels.size() == 1) return {Growth::kNone, points.front().length, 0, 0};
  if (points.size() < 3) return law;
  constexpr size_t kLine = 3, kParabola = 4;  // one more than any points have
  const std::span<const GrowthPoint> all = points;
  // The law of everything, else of the longer lengths: of the line and the parabola the one that holds earlier.
  const std::optional<GrowthLaw> line = From(all, false, kLine, points.size());
  const std::optional<GrowthLaw> parabola = From(all, true, kParabola, points.size());
  if (line && (!parabola || line->from <= parabola->from)) return *line;
  if (parabola) return *parabola;
  if (levels.size() <= points.size() / 2) return {Growth::kSteps, points.front().length, 0, 0};
  return law;
}

}  // namespace vramplan
