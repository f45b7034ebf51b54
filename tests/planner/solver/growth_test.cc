#include "planner/solver/growth.h"

#include <doctest/doctest.h>

#include <functional>

using namespace vramplan;

namespace {

GrowthLaw LawFor(const std::vector<int64_t>& lengths, const std::function<int64_t(int64_t)>& bytes) {
  std::vector<GrowthPoint> points;
  for (const int64_t length : lengths) points.push_back({length, Bytes::Of(bytes(length))});
  return LawOf(points);
}

const std::vector<int64_t> kDoubling = {1, 2, 4, 8, 16, 32, 64};

}  // namespace

TEST_CASE("growth: the law, and its coefficients") {
  const GrowthLaw linear = LawFor(kDoubling, [](int64_t n) { return 1000 + 326 * n; });
  CHECK_EQ(linear.growth, Growth::kLinear);
  CHECK_EQ(linear.from, 1);
  CHECK_EQ(linear.linear, doctest::Approx(326));
  CHECK_EQ(linear.square, 0);

  const GrowthLaw square = LawFor(kDoubling, [](int64_t n) { return 1000 + 16 * n + 48 * n * n; });
  CHECK_EQ(square.growth, Growth::kQuadratic);
  CHECK_EQ(square.linear, doctest::Approx(16));
  CHECK_EQ(square.square, doctest::Approx(48));

  // The optimizer is the larger until 8 samples are: the law holds from there on.
  const GrowthLaw later = LawFor(kDoubling, [](int64_t n) { return std::max<int64_t>(8000, 1000 * n); });
  CHECK_EQ(later.growth, Growth::kLinear);
  CHECK_EQ(later.from, 8);
  CHECK_EQ(later.linear, doctest::Approx(1000));

  CHECK_EQ(LawFor(kDoubling, [](int64_t) { return 7; }).growth, Growth::kNone);
  CHECK_EQ(LawFor({1, 2, 3, 4, 5, 6, 7, 8}, [](int64_t n) { return (n + 3) / 4 * 1000 + 5; }).growth, Growth::kSteps);
  CHECK_EQ(LawFor(kDoubling, [](int64_t n) { return n * n * n; }).growth, Growth::kOther);
  // Two points lie on any line.
  CHECK_EQ(LawFor({1, 2}, [](int64_t n) { return n; }).growth, Growth::kOther);
  // Three lie on any parabola.
  CHECK_EQ(LawFor({1, 2, 4}, [](int64_t n) { return n * n; }).growth, Growth::kOther);
}
