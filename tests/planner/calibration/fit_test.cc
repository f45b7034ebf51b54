#include "planner/calibration/fit.h"

#include <doctest/doctest.h>

#include <cmath>

namespace vramplan {
namespace {

std::vector<TimedWork> Line(double launch, double rate, const std::vector<double>& works) {
  std::vector<TimedWork> samples;
  for (const double work : works) samples.push_back({work, launch + work / rate});
  return samples;
}

TEST_CASE("rate and launch come back from samples on a line") {
  struct Row {
    double launch, rate;
    std::vector<double> works;
  };
  const Row rows[] = {{5e-6, 240e9, {1e6, 1e7, 1e8}},
                      {0, 3.3e12, {1e9, 2e9, 4e9, 8e9}},
                      {2e-5, 990e12, {1e12, 2e12}},
                      {1e-3, 1, {1, 2, 3}}};
  for (const Row& row : rows) {
    CAPTURE(row.rate);
    const std::optional<FittedRate> fit = FitRate("copy", Line(row.launch, row.rate, row.works));
    REQUIRE(fit);
    CHECK(fit->what == "copy");
    CHECK(fit->rate == doctest::Approx(row.rate).epsilon(1e-6));
    CHECK(fit->launch == doctest::Approx(row.launch).epsilon(1e-6));
    CHECK(fit->residual < 1e-9);
    CHECK(fit->samples == static_cast<int>(row.works.size()));
  }
}

TEST_CASE("of repeated work the median counts, and the residual shows the rest") {
  std::vector<TimedWork> samples;
  for (const double work : {1e7, 2e7, 4e7}) {
    const double seconds = 1e-5 + work / 1e11;
    for (const double factor : {1.0, 1.0, 1.0, 3.0, 1.0}) samples.push_back({work, seconds * factor});
  }
  const std::optional<FittedRate> fit = FitRate("copy", samples);
  REQUIRE(fit);
  CHECK(fit->rate == doctest::Approx(1e11));
  CHECK(fit->launch == doctest::Approx(1e-5));
  // A fifth of the samples takes three times as long: (1/3 - 1)^2 / 5.
  CHECK(fit->residual == doctest::Approx(std::sqrt(4.0 / 9 / 5)));
  CHECK(fit->samples == 15);
}

TEST_CASE("a launch below zero is none") {
  // Small work in a cache: faster than in proportion.
  const std::optional<FittedRate> fit = FitRate("copy", {{1e6, 1e-6}, {2e6, 4e-6}, {4e6, 8e-6}});
  REQUIRE(fit);
  CHECK(fit->launch == 0);
  CHECK(fit->rate > 0);
  CHECK(fit->residual > 0.1);
}

TEST_CASE("no rate where there is none") {
  CHECK_FALSE(FitRate("copy", {}));
  CHECK_FALSE(FitRate("copy", {{1e6, 1e-6}, {1e6, 1e-6}}));
  CHECK_FALSE(FitRate("copy", {{0, 1e-6}, {1e6, 1e-6}}));
  CHECK_FALSE(FitRate("copy", {{1e6, 8e-6}, {2e6, 4e-6}, {4e6, 1e-6}}));  // less time for more work
}

}  // namespace
}  // namespace vramplan
