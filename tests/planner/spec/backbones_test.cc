#include "planner/spec/backbones.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace vramplan {
namespace {

// What freezes the backbone among parameters of these names; empty: there is none.
std::string Freezes(const std::vector<std::string>& names, int64_t rows = 8) {
  Layers layers;
  for (const std::string& name : names) {
    layers.parameters.push_back(
        layers.Add({.name = name, .type = DType::kFloat32, .shape = {rows, 8}, .role = Role::kParameter}));
  }
  const std::optional<Tower> backbone = FindBackbone(layers);
  return backbone ? ToString(FrozenPatterns(*backbone, layers)) : "";
}

TEST_CASE("a published network with layers of the model's own is a backbone") {
  CHECK(Freezes({"net.conv1.weight", "net.layer1.0.conv1.weight", "net.layer4.0.conv1.weight", "head.weight"}) ==
        "--frozen 'net.*'");
  // nn.Sequential(*list(resnet18().children())[:-2])
  CHECK(Freezes({"features.0.weight", "features.4.0.conv1.weight", "features.4.0.conv2.weight", "pool.p"}) ==
        "--frozen 'features.*'");
  CHECK(Freezes({"bert.embeddings.word_embeddings.weight", "bert.encoder.layer.0.attention.self.query.bias",
                 "classifier.weight"}) == "--frozen 'bert.*'");
  // Two of them, in a wrapper that all share.
  CHECK(Freezes({"m.a.layer1.0.conv1.weight", "m.a.layer4.0.conv1.weight", "m.b.layer1.0.conv1.weight",
                 "m.b.layer4.0.conv1.weight", "m.head.weight"}) == "--frozen 'm.a.*' --frozen 'm.b.*'");
}

TEST_CASE("parts of a published network are a backbone too") {
  // nn.Sequential(net.conv1, net.bn1, net.relu, net.maxpool, net.layer1), nn.Sequential(net.layer2, net.layer3)
  CHECK(Freezes({"low.0.weight", "low.4.0.conv1.weight", "low.4.0.conv2.weight", "high.0.0.conv1.weight",
                 "high.0.0.downsample.0.weight", "head.weight"}) == "--frozen 'high.*' --frozen 'low.*'");
  CHECK(Freezes({"low.0.0.conv1.weight", "low.0.0.shortcut.0.weight", "head.weight"}).empty());
  // net.features[:14] of MobileNetV2, and of VGG-16
  CHECK(Freezes({"enc.0.0.weight", "enc.2.conv.1.0.weight", "dec.weight"}) == "--frozen 'enc.*'");
  CHECK(Freezes({"vgg.0.weight", "vgg.7.weight", "vgg.14.weight", "dec.weight"}) == "--frozen 'vgg.*'");
  CHECK(Freezes({"vgg.0.weight", "vgg.17.weight", "vgg.24.weight", "dec.weight"}).empty());
}

TEST_CASE("a published network taken over child by child, with a decoder behind it") {
  const std::vector<std::string> encoder = {"conv1.weight", "bn1.weight", "layer1.0.conv1.weight",
                                            "layer4.0.conv1.weight", "layer4.0.bn1.weight"};
  const auto with = [&](const std::vector<std::string>& behind) {
    std::vector<std::string> names = encoder;
    names.insert(names.end(), behind.begin(), behind.end());
    return Freezes(names);
  };
  CHECK(with({"up.1.weight", "up.2.weight", "last.weight"}) == "--frozen '*' --trainable 'last.*' --trainable 'up.*'");
  CHECK(with({"up1.weight", "up2.weight", "up3.weight", "last.weight"}) ==
        "--frozen 'bn1.*' --frozen 'conv1.*' --frozen 'layer1.*' --frozen 'layer4.*'");
}

TEST_CASE("a published network with a head for fewer classes than it was published with") {
  const auto with = [](int64_t classes) {
    Layers layers;
    for (const char* name : {"conv1.weight", "layer1.0.conv1.weight", "layer4.0.conv1.weight", "fc.weight"}) {
      const int64_t rows = name == std::string("fc.weight") ? classes : 64;
      layers.parameters.push_back(
          layers.Add({.name = name, .type = DType::kFloat32, .shape = {rows, 8}, .role = Role::kParameter}));
    }
    const std::optional<Tower> backbone = FindBackbone(layers);
    return backbone ? ToString(FrozenPatterns(*backbone, layers)) : "";
  };
  CHECK(with(10) == "--frozen '*' --trainable 'fc.*'");
  CHECK(with(1000).empty());
  CHECK(with(21843).empty());
  // VGG-16 has its convolutions in features.
  const std::vector<std::string> vgg = {"features.0.weight", "features.7.weight", "features.14.weight",
                                        "classifier.0.weight"};
  CHECK(Freezes(vgg, 1000).empty());
  CHECK(Freezes(vgg, 10) == "--frozen 'features.*'");
}

TEST_CASE("slices of a published network behind the model whose results it judges") {
  Layers layers;
  for (const char* name : {"net.0.weight", "net.1.weight", "net.2.weight", "slice1.0.weight", "slice2.5.weight"}) {
    const int64_t channels = name == std::string("slice1.0.weight") ? 3 : 64;
    layers.parameters.push_back(
        layers.Add({.name = name, .type = DType::kFloat32, .shape = {64, channels, 3, 3}, .role = Role::kParameter}));
  }
  const std::optional<Tower> backbone = FindBackbone(layers);
  REQUIRE(backbone.has_value());
  CHECK(ToString(FrozenPatterns(*backbone, layers)) == "--frozen 'slice1.*' --frozen 'slice2.*'");
}

TEST_CASE("a name that people give to what they load is enough to ask") {
  CHECK(Freezes({"backbone.0.weight", "backbone.3.bias", "fc.weight"}) == "--frozen 'backbone.*'");
  CHECK(Freezes({"mybackbone.0.weight", "fc.weight"}).empty());
  CHECK(Freezes({"backbone.0.weight", "backbone.fc.weight"}).empty());
}

TEST_CASE("modules of a library inside of a model of one's own") {
  const auto first_of = [](const std::string& root, const std::string& wrapper = "") {
    Layers layers;
    for (const char* name : {"low.0.weight", "low.1.conv1.weight", "head.weight"}) {
      layers.parameters.push_back(
          layers.Add({.name = wrapper + name, .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter}));
    }
    if (!wrapper.empty()) layers.modules.push_back({"", "mine.Wrapper", {}});
    const auto parent = [&](int of) { return ModuleId{of + static_cast<int>(!wrapper.empty())}; };
    const std::string model = wrapper.substr(0, wrapper.find('.'));
    layers.modules.push_back({model, root, wrapper.empty() ? ModuleId{} : ModuleId{0}});
    layers.modules.push_back({wrapper + "low", "torch.nn.modules.container.Sequential", parent(0)});
    layers.modules.push_back({wrapper + "low.1", "torchvision.models.resnet.BasicBlock", parent(1)});
    const std::optional<Tower> backbone = FindBackbone(layers);
    return backbone ? ToString(FrozenPatterns(*backbone, layers)) : "";
  };
  CHECK(first_of("mine.Net") == "--frozen 'low.*'");
  CHECK(first_of("mine.Net", "m.") == "--frozen 'm.low.*'");
  CHECK(first_of("torchvision.models.segmentation.fcn.FCN").empty());
}

TEST_CASE("a published network alone is the model, and one name alone is no network") {
  constexpr int64_t kRows = 1000;
  CHECK(Freezes({"conv1.weight", "layer1.0.conv1.weight", "layer4.0.conv1.weight", "fc.weight"}, kRows).empty());
  CHECK(
      Freezes({"m.conv1.weight", "m.layer1.0.conv1.weight", "m.layer4.0.conv1.weight", "m.fc.weight"}, kRows).empty());
  CHECK(Freezes({"net.layer1.0.conv1.weight", "net.layer4.0.conv1.weight"}).empty());  // nothing was added
  CHECK(Freezes({"net.layer1.0.conv1.weight", "net.layer3.0.conv1.weight", "head.weight"}).empty());
}

}  // namespace
}  // namespace vramplan
