#include <doctest/doctest.h>

#include <string>

#include "planner/lifetimes/lifetimes.h"

namespace vramplan {
namespace {

// A chain of convolutions through the modules of a segmentation model; a list of modules is not called itself.
struct Chain {
  Chain() {
    layers.modules.push_back({"", "", ModuleId()});
    layers.modules.push_back({"encoder", "", ModuleId{0}});
    layers.values.push_back({"x", DType::kFloat32, Map(32), Role::kInput});
  }
  static Shape Map(int64_t width) { return Shape{Dim(1), Dim(8), Dim(width), Dim(width)}; }
  void Then(const std::string& path, int64_t width) {
    layers.modules.push_back({path, "", ModuleId{path.starts_with("encoder.") ? 1 : 0}});
    layers.values.push_back({path, DType::kFloat32, Map(width), Role::kActivation});
    Layer layer;
    layer.op = "conv2d";
    layer.name = path;
    layer.module = ModuleId{static_cast<int32_t>(layers.modules.size()) - 1};
    layer.inputs = {ValueId{static_cast<int32_t>(layers.values.size()) - 2}};
    layer.outputs = {ValueId{static_cast<int32_t>(layers.values.size()) - 1}};
    layers.layers.push_back(layer);
  }
  // What the module of this path made.
  std::string DiesBehind(const std::string& path) const {
    const Releases releases = ReleasesAfter(layers);
    for (size_t l = 0; l < releases.size(); ++l) {
      for (const ValueId id : releases[l]) {
        if (layers[id].name == path) return layers.layers[l].name;
      }
    }
    return "never";
  }

  Layers layers;
};

TEST_CASE("an encoder's list has the stem's map where the blocks begin with its resolution") {
  // segmentation_models_pytorch/encoders/efficientnet.py 0.6: features.append(x) behind _swish, then behind some blocks
  for (const bool known : {true, false}) {
    Chain chain;
    chain.Then(known ? "encoder._conv_stem" : "encoder.conv1", 16);
    chain.Then("encoder._swish", 16);
    chain.Then("encoder._blocks.0", 16);
    chain.Then("encoder._blocks.1", 8);
    chain.Then("decoder", 8);
    chain.Then("segmentation_head", 16);
    CHECK(chain.DiesBehind("encoder._swish") == (known ? "segmentation_head" : "encoder._blocks.0"));
    CHECK(chain.DiesBehind("encoder._blocks.0") == (known ? "encoder._blocks.1" : "segmentation_head"));
    CHECK(chain.DiesBehind("encoder._blocks.1") == "segmentation_head");
  }
}

}  // namespace
}  // namespace vramplan
