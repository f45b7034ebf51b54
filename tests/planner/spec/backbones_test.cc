#include "planner/spec/backbones.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace vramplan {
namespace {

// What freezes the backbone among parameters of these names; empty: there is none.
std::string Freezes(const std::vector<std::string>& names) {
  Layers layers;
  for (const std::string& name : names) {
    layers.parameters.push_back(
        layers.Add({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter}));
  }
  const std::optional<Tower> backbone = FindBackbone(layers);
  return backbone ? ToString(FrozenPatterns(*backbone, layers)) : "";
}

TEST_CASE("a published network with layers of the model's own is a backbone") {
  CHECK(Freezes({"net.conv1.weight", "net.layer1.0.conv1.weight", "net.layer4.0.conv1.weight", "head.weight"}) ==
        "--frozen 'net.*'");
  // nn.Sequential(*list(resnet18().children())[:-2])
  CHECK(Freezes({"features.0.weight", "features.4.0.conv1.weight", "features.7.0.conv1.weight", "pool.p"}) ==
        "--frozen 'features.*'");
  CHECK(Freezes({"bert.embeddings.word_embeddings.weight", "bert.encoder.layer.0.attention.self.query.bias",
                 "classifier.weight"}) == "--frozen 'bert.*'");
  // Two of them, in a wrapper that all share.
  CHECK(Freezes({"m.a.layer1.0.conv1.weight", "m.a.layer4.0.conv1.weight", "m.b.layer1.0.conv1.weight",
                 "m.b.layer4.0.conv1.weight", "m.head.weight"}) == "--frozen 'm.a.*' --frozen 'm.b.*'");
}

TEST_CASE("a name that people give to what they load is enough to ask") {
  CHECK(Freezes({"backbone.0.weight", "backbone.3.bias", "fc.weight"}) == "--frozen 'backbone.*'");
  CHECK(Freezes({"mybackbone.0.weight", "fc.weight"}).empty());
  CHECK(Freezes({"backbone.0.weight", "backbone.fc.weight"}).empty());
}

TEST_CASE("modules of a library inside of a model of one's own") {
  const auto first_of = [](const std::string& root) {
    Layers layers;
    for (const char* name : {"low.0.weight", "low.1.conv1.weight", "head.weight"}) {
      layers.parameters.push_back(
          layers.Add({.name = name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter}));
    }
    layers.modules = {{"", root, {}},
                      {"low", "torch.nn.modules.container.Sequential", ModuleId{0}},
                      {"low.1", "torchvision.models.resnet.BasicBlock", ModuleId{1}}};
    const std::optional<Tower> backbone = FindBackbone(layers);
    return backbone ? ToString(FrozenPatterns(*backbone, layers)) : "";
  };
  CHECK(first_of("mine.Net") == "--frozen 'low.*'");
  CHECK(first_of("torchvision.models.segmentation.fcn.FCN").empty());
}

TEST_CASE("a published network alone is the model, and one name alone is no network") {
  CHECK(Freezes({"conv1.weight", "layer1.0.conv1.weight", "layer4.0.conv1.weight", "fc.weight"}).empty());
  CHECK(Freezes({"m.conv1.weight", "m.layer1.0.conv1.weight", "m.layer4.0.conv1.weight", "m.fc.weight"}).empty());
  CHECK(Freezes({"net.layer1.0.conv1.weight", "net.layer4.0.conv1.weight"}).empty());  // nothing was added
  CHECK(Freezes({"net.layer1.0.conv1.weight", "net.layer3.0.conv1.weight", "head.weight"}).empty());
}

}  // namespace
}  // namespace vramplan
