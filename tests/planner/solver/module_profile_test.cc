#include "planner/solver/module_profile.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "planner/allocator/replay.h"
#include "tests/support/layers_by_hand.h"
#include "tests/support/truth.h"

namespace vramplan {
namespace {

struct Case {
  const char* file;
  const char* dims;
  int64_t batch;
};

Result<Timeline> Step(const Layers& layers, int64_t batch, const std::vector<std::string>& checkpoint) {
  TrainingSpec spec;
  spec.optimizer = Optimizer::kSgd;
  spec.checkpoint = checkpoint;
  Notes notes;
  return Schedule(layers, spec, batch, &notes);
}

int64_t Requested(const Layers& layers, int64_t batch, const std::vector<std::string>& checkpoint) {
  const Result<Timeline> timeline = Step(layers, batch, checkpoint);
  REQUIRE(timeline.ok());
  return Replay(*timeline, batch, AllocatorConfig(), Bytes::Max()).steps.back().peak.requested.count();
}

// One module at a time, every second one, and all: what the profile says against what a step with them takes.
TEST_CASE("the profile's peak is near the replayed one") {
  for (const Case& one : {Case{"resnet50", "", 8}, Case{"unet", "", 4}, Case{"gpt_small", "sequence=256", 4}}) {
    CAPTURE(one.file);
    const Result<Layers> layers =
        testing::LayersOf(std::string(VRAMPLAN_SOURCE_DIR) + "/models/" + one.file + ".onnx", one.dims);
    REQUIRE(layers.ok());
    const Result<Timeline> kept = Step(*layers, one.batch, {});
    REQUIRE(kept.ok());
    const StepTime time = EstimateTime(*layers, TrainingSpec(), RatesOf(Card()), one.batch);
    const ModuleProfile profile = ProfileModules(*kept, *layers, time);
    CHECK_EQ(profile.Highest(profile.None()), Requested(*layers, one.batch, {}));
    std::vector<ModuleSet> sets;
    for (size_t m = 0; m < profile.modules.size(); m += 3) {
      sets.push_back(profile.None());
      sets.back()[m] = true;
    }
    sets.push_back(profile.None());
    for (size_t m = 0; m < profile.modules.size(); m += 2) sets.back()[m] = true;
    sets.push_back(ModuleSet(profile.modules.size(), true));
    for (const ModuleSet& set : sets) {
      const std::vector<std::string> paths = profile.Paths(set);
      CAPTURE(paths.front());
      CAPTURE(paths.size());
      const double says = static_cast<double>(profile.Highest(set));
      const double takes = static_cast<double>(Requested(*layers, one.batch, paths));
      CHECK_LE(std::abs(says - takes), 0.08 * takes);
    }
  }
}

// torch/nn/functional.py, _in_projection_packed, PyTorch 2.10.
TEST_CASE("a module that projects and attends by itself is not put inside another checkpoint") {
  for (const bool by_itself : {true, false}) {
    LayersByHand hand("Block");
    hand.layers.modules.push_back({"m.attention", "", ModuleId{1}});
    hand.layers.modules.push_back({"m.attention.query", "", ModuleId{2}});
    const ValueId x = hand.Input("x", {Dim::Batch(), 4, 16, 8});
    const ValueId weight = hand.Input("weight", {8, 8});
    hand.layers.values.back().role = Role::kParameter;
    hand.layers.inputs.pop_back();
    hand.layers.parameters.push_back(weight);
    const ValueId q = hand.Add("linear", {x, weight}, {Dim::Batch(), 4, 16, 8});
    hand.layers.layers.back().module = ModuleId{by_itself ? 2 : 3};
    const ValueId y = hand.Add("scaled_dot_product_attention", {q, q, q}, {Dim::Batch(), 4, 16, 8});
    hand.layers.layers.back().module = ModuleId{2};
    const ValueId z = hand.Add("gelu", {y}, {Dim::Batch(), 4, 16, 8});
    hand.layers.outputs = {hand.Add("linear", {z, weight}, {Dim::Batch(), 4, 16, 8})};
    const Result<Timeline> kept = Step(hand.layers, 4, {});
    REQUIRE(kept.ok());
    const StepTime time = EstimateTime(hand.layers, TrainingSpec(), RatesOf(Card()), 4);
    const ModuleProfile profile = ProfileModules(*kept, hand.layers, time);
    const auto attention = std::find_if(profile.modules.begin(), profile.modules.end(),
                                        [](const ProfiledModule& m) { return m.path == "m.attention"; });
    REQUIRE(attention != profile.modules.end());
    CHECK_EQ(attention->alone, by_itself);
    // "m" runs everything: nobody wraps it.
    CHECK(std::none_of(profile.modules.begin(), profile.modules.end(),
                       [](const ProfiledModule& m) { return m.path == "m"; }));
  }
}

}  // namespace
}  // namespace vramplan
