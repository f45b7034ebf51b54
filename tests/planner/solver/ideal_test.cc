#include "planner/solver/ideal.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/truth.h"

namespace vramplan {
namespace {

TEST_CASE("tensor by tensor takes less than modules, more than nothing, and the same every time") {
  const Result<Layers> layers = testing::LayersOf(std::string(VRAMPLAN_SOURCE_DIR) + "/models/unet.onnx", "");
  REQUIRE(layers.ok());
  TrainingSpec spec;
  const Releases releases = ReleasesAfter(*layers);
  const PlanProblem problem{*layers, releases, spec, AllocatorConfig(), Bytes::MiB(7842), RatesOf(Card())};
  Plan plan;
  plan.batch = 24;
  plan.tier = Tier::kModules;
  plan.checkpoint = {"stem", "down.0.1"};
  plan.overhead = 0.048;
  const std::optional<Ideal> ideal = IdealOf(problem, plan);
  REQUIRE(ideal);
  REQUIRE(ideal->overhead);
  CHECK_GT(ideal->bound, 0);
  CHECK_LE(ideal->bound, *ideal->overhead);
  CHECK_LT(*ideal->overhead, plan.overhead / 2);
  CHECK_EQ(IdealOf(problem, plan)->bound, ideal->bound);
  CHECK_EQ(*IdealOf(problem, plan)->overhead, *ideal->overhead);
  plan.overhead = 0;  // nothing is checkpointed
  CHECK(!IdealOf(problem, plan));
}

}  // namespace
}  // namespace vramplan
