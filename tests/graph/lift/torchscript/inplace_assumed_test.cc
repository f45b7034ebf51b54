#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "graph/lift/any_export/inplace.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// A block by hand in which every layer is a module of its own, sums aside. As in files of the TorchScript exporter no
// module has a class, if none is given to that which contains all.
struct Block : LayersByHand {
  explicit Block(const char* root_class = "") : LayersByHand("") { layers.modules[0].class_name = root_class; }
  ValueId Module(const std::string& op, ValueId input) {
    layers.modules.push_back({.path = "m." + std::to_string(layers.modules.size()), .class_name = "", .parent = {1}});
    const ValueId made = Add(op, {input}, {Dim::Batch(), 8, 4, 4});
    layers.layers.back().module = ModuleId{static_cast<int32_t>(layers.modules.size()) - 1};
    return made;
  }
  bool InPlace(const char* op) const {
    for (const Layer& layer : layers.layers) {
      if (layer.op == op) return layer.attributes.Int("inplace", 0) != 0;
    }
    return false;
  }
};

TEST_CASE("activation modules behind norms and convolutions") {
  struct Case {
    const char *maker, *activation;
    bool in_place;
  };
  for (const Case& c :
       {Case{"batch_norm", "relu", true}, Case{"conv2d", "relu", true}, Case{"linear", "relu", false},
        Case{"batch_norm", "leaky_relu", false}, Case{"instance_norm", "leaky_relu", true},
        Case{"group_norm", "leaky_relu", false}, Case{"conv2d", "leaky_relu", false},
        Case{"instance_norm", "relu", true}, Case{"group_norm", "relu", false}, Case{"instance_norm", "elu", true},
        Case{"conv2d", "elu", false}, Case{"batch_norm", "silu", true}, Case{"batch_norm", "hardswish", true},
        Case{"conv2d", "silu", false}, Case{"batch_norm", "gelu", false}}) {
    Block block;
    const ValueId x = block.Input("x", {Dim::Batch(), 8, 4, 4});
    block.layers.outputs = {block.Module(c.activation, block.Module(c.maker, x))};
    Notes notes;
    AssumeInPlace(&block.layers, &notes);
    CHECK_MESSAGE(block.InPlace(c.activation) == c.in_place, c.maker << " " << c.activation);
    CHECK(notes.Has("assumed-inplace") == c.in_place);
  }
}

TEST_CASE("a leaky ReLU with torch's slope is in place where it is the norm's own") {
  for (const bool own : {false, true}) {  // timm: bn1.act
    Block block;
    const ValueId x = block.Input("x", {Dim::Batch(), 8, 4, 4});
    const ValueId normed = block.Module("batch_norm", x);
    const ModuleId norm = block.layers.layers.back().module;
    block.layers.outputs = {block.Module("leaky_relu", normed)};
    if (own) block.layers.modules.back().parent = norm;
    AssumeInPlace(&block.layers, nullptr);
    CHECK(block.InPlace("leaky_relu") == own);
  }
}

TEST_CASE("monai's blocks of norm, dropout and activation: a ReLU of the name alone is not in place") {
  for (const bool adn : {true, false}) {
    Block block;
    const ValueId x = block.Input("x", {Dim::Batch(), 8, 4, 4});
    block.layers.outputs = {block.Module("relu", block.Module("batch_norm", x))};
    block.layers.modules.back().path = adn ? "model.0.conv.adn.A" : "model.0.conv.A";
    AssumeInPlace(&block.layers, nullptr);
    CHECK(block.InPlace("relu") == !adn);
  }
}

TEST_CASE("MONAI's HighResNet asks for its ReLUs in place") {
  for (const char* path : {"blocks.10.adn.A", "m.blocks.0.adn.A", "model.0.adn.A"}) {
    Block block;
    const ValueId x = block.Input("x", {Dim::Batch(), 8, 4, 4});
    block.layers.outputs = {block.Module("relu", block.Module("batch_norm", x))};
    block.layers.modules.back().path = path;
    AssumeInPlace(&block.layers, nullptr);
    CHECK(block.InPlace("relu") == (std::string_view(path).find("blocks.") != std::string_view::npos));
  }
}

TEST_CASE("the activation of a gate is a value of its own, that of an excitation too small for one") {
  // timm's StarNet: x = self.act(x1) * x2, with nn.ReLU6()
  for (const bool gate : {true, false}) {
    Block block;
    const ValueId x = block.Input("x", {Dim::Batch(), 8, 4, 4});
    const ValueId act = block.Module("hardtanh", block.Module("conv2d", x));
    const Shape other = gate ? Shape{Dim::Batch(), 8, 4, 4} : Shape{Dim::Batch(), 8, 1, 1};
    block.layers.outputs = {block.Add("mul", {act, block.Input("y", other)}, {Dim::Batch(), 8, 4, 4})};
    AssumeInPlace(&block.layers, nullptr);
    CHECK(block.InPlace("hardtanh") == !gate);
  }
}

TEST_CASE("residual sums of MONAI's SegResNetDS: x += identity behind two convolutions, x += x_down.pop(0)") {
  const Shape shape{Dim::Batch(), 8, 4, 4};
  for (const char* first : {"norm1", "bn1"}) {
    Block block;
    const ValueId x = block.Input("x", shape);
    ValueId made = x;
    for (const char* child : {first, "act1", "conv1", "norm2", "act2", "conv2"}) {
      const char* op = child[0] == 'a' ? "relu" : child[0] == 'c' ? "conv3d" : "batch_norm";
      made = block.Module(op, made);
      block.layers.modules.back().path = std::string("m.") + child;
    }
    block.layers.outputs = {block.Add("add", {made, x}, shape)};
    AssumeInPlace(&block.layers, nullptr);
    CHECK(block.InPlace("add") == (first == std::string_view("norm1")));
  }
  for (const char* weight : {"up_layers.2.upsample.deconv.weight", "decoder.2.upsample.deconv.weight"}) {
    Block block;
    const ValueId x = block.Input("x", shape), kernel = block.Input(weight, {8, 8, 2, 2});
    const ValueId up = block.Module("conv_transpose3d", x);
    block.layers.layers.back().inputs.push_back(kernel);
    block.layers.outputs = {block.Add("add", {up, x}, shape)};
    AssumeInPlace(&block.layers, nullptr);
    CHECK(block.InPlace("add") == (std::string_view(weight).find("up_layers") == 0));
  }
  // A file with classes says whose up_layers they are.
  for (const char* root : {"monai.networks.nets.segresnet_ds.SegResNetDS", "mine.Net"}) {
    Block block(root);
    const ValueId x = block.Input("x", shape), kernel = block.Input("up_layers.2.upsample.deconv.weight", {8, 8, 2, 2});
    const ValueId up = block.Module("conv_transpose3d", x);
    block.layers.layers.back().inputs.push_back(kernel);
    block.layers.outputs = {block.Add("add", {up, x}, shape)};
    AssumeInPlace(&block.layers, nullptr);
    CHECK(block.InPlace("add") == (std::string_view(root).starts_with("monai.")));
  }
}

TEST_CASE("MONAI's UnetResBlock: out += residual behind norm2, and the one activation of both norms") {
  const Shape shape{Dim::Batch(), 8, 4, 4};
  for (const char* norm : {"norm2", "norm3"}) {
    Block block;
    const ValueId x = block.Input("x", shape);
    const ValueId normed = block.Module("instance_norm", block.Module("conv3d", x));
    block.layers.modules.back().path = std::string("m.") + norm;
    const ValueId sum = block.Add("add", {normed, x}, shape);
    block.layers.outputs = {block.Module("leaky_relu", sum)};
    block.layers.modules.back().path = "m.lrelu";
    AssumeInPlace(&block.layers, nullptr);
    const bool is_second = norm == std::string_view("norm2");
    CHECK(block.InPlace("add") == is_second);
    CHECK(block.InPlace("leaky_relu") == is_second);
  }
}

TEST_CASE("torchvision's segmentation heads: a ReLU behind their norm is not in place") {
  for (const char* path : {"classifier.2", "m.aux_classifier.2", "backbone.relu"}) {
    Block block;
    const ValueId x = block.Input("x", {Dim::Batch(), 8, 4, 4});
    block.layers.outputs = {block.Module("relu", block.Module("batch_norm", x))};
    block.layers.modules.back().path = path;
    AssumeInPlace(&block.layers, nullptr);
    CHECK_MESSAGE(block.InPlace("relu") == (path == std::string("backbone.relu")), path);
  }
}

TEST_CASE("the head of a convolutional network does as its convolutions do") {
  for (const bool convolutional : {true, false}) {
    Block block;
    const ValueId x = block.Input("x", {Dim::Batch(), 8, 4, 4});
    const ValueId features = convolutional ? block.Module("relu", block.Module("conv2d", x)) : x;
    const ValueId flat = block.Add("reshape", {features}, {Dim::Batch(), 128});
    const ValueId hidden = block.Add("linear", {flat}, {Dim::Batch(), 16});
    block.layers.outputs = {block.Module("relu", hidden)};
    AssumeInPlace(&block.layers, nullptr);
    CHECK((block.layers.layers.back().attributes.Int("inplace", 0) != 0) == convolutional);
  }
}

TEST_CASE("residual sums: out += identity where the shortcut comes last, or from outside") {
  const Shape shape{Dim::Batch(), 8, 4, 4};
  enum { kIdentity, kDownsampleLast, kProjectionFirst, kWithoutRelu, kSwapped };
  for (const int kind : {kIdentity, kDownsampleLast, kProjectionFirst, kWithoutRelu, kSwapped}) {
    Block block;
    const ValueId input = block.Input("x", shape);
    const ValueId x = block.Module("relu", input);
    block.layers.layers.back().module = ModuleId{0};  // made by the block before
    ValueId shortcut = kind == kProjectionFirst ? block.Module("batch_norm", x) : x;
    const ValueId hidden = block.Module("relu", block.Module("conv2d", x));
    const ValueId out = block.Module("batch_norm", block.Module("conv2d", hidden));
    if (kind == kDownsampleLast) shortcut = block.Module("batch_norm", x);
    const bool swapped = kind == kProjectionFirst || kind == kSwapped;  // proj(x) + f(x)
    if (kind == kSwapped) shortcut = block.Module("batch_norm", block.Module("conv2d", x));
    const ValueId sum =
        block.Add("add", swapped ? std::vector<ValueId>{shortcut, out} : std::vector<ValueId>{out, shortcut}, shape);
    block.layers.outputs = {kind == kWithoutRelu ? sum : block.Module("relu", sum)};
    AssumeInPlace(&block.layers, nullptr);
    CHECK_MESSAGE(block.InPlace("add") == (kind == kIdentity || kind == kDownsampleLast), kind);
  }
}

TEST_CASE("residual sums behind stochastic depth: result += input, also in the blocks that never drop") {
  const Shape shape{Dim::Batch(), 8, 4, 4};
  for (const char* name : {"block.stochastic_depth", "block.drop_path"}) {
    Block block;
    const ValueId x = block.Module("conv2d", block.Input("x", shape));
    block.layers.layers.back().module = ModuleId{0};
    const ValueId first =
        block.Add("add", {block.Module("conv2d", x), x}, shape);  // the path of its block: never drops
    block.layers.layers.back().module = ModuleId{1};
    const ValueId kept = block.Module("mul", block.Module("conv2d", first));
    block.layers.modules.back().path = name;
    block.layers.outputs = {block.Add("add", {kept, first}, shape)};
    AssumeInPlace(&block.layers, nullptr);
    const bool torchvision = block.layers.modules.back().path == "block.stochastic_depth";
    CHECK(block.InPlace("add") == torchvision);
    CHECK((block.layers.layers.back().attributes.Int("inplace", 0) != 0) == torchvision);
  }
}

TEST_CASE("what a decoder enlarged by a module of its own is added in place") {
  // monai/networks/nets/hovernet.py 1.6, _DecoderBranch: x = xin + skips[-1]; x = self.upsample(x); x += skip
  const Shape shape{Dim::Batch(), 8, 4, 4};
  for (const char* name : {"block.upsample.upsample_non_trainable", "up.0.upsample.upsample_non_trainable"}) {
    Block block;
    const ValueId skip = block.Module("conv2d", block.Input("x", shape));
    const ValueId enlarged = block.Module("upsample_bilinear2d", skip);
    block.layers.modules.back().path = name;
    block.layers.outputs = {block.Add("add", {enlarged, skip}, shape)};
    block.layers.modules.push_back({.path = "block", .class_name = "", .parent = {0}});
    block.layers.layers.back().module = ModuleId{static_cast<int32_t>(block.layers.modules.size()) - 1};
    AssumeInPlace(&block.layers, nullptr);
    CHECK(block.InPlace("add") == std::string_view(name).starts_with("block."));
  }
}

TEST_CASE(
    "torchvision's squeeze and excitation: nn.ReLU() between its convolutions, but EfficientNet's SiLU in place") {
  struct Case {
    const char *activation, *first, *path;
    bool in_place;
  };
  for (const Case& c : {Case{"relu", "block.2.fc1", "block.2.activation", false},
                        Case{"silu", "block.2.fc1", "block.2.activation", true},
                        Case{"relu", "se.conv_reduce", "se.act1", true}, Case{"silu", "se.conv", "se.act", false}}) {
    Block block;
    const ValueId hidden = block.Module("conv2d", block.Input("x", {Dim::Batch(), 8, 1, 1}));
    block.layers.modules.back().path = c.first;
    block.layers.outputs = {block.Module("conv2d", block.Module(c.activation, hidden))};
    block.layers.modules[block.layers.modules.size() - 2].path = c.path;
    AssumeInPlace(&block.layers, nullptr);
    CHECK_MESSAGE(block.InPlace(c.activation) == c.in_place, c.activation << " " << c.path);
  }
}

TEST_CASE("the classifiers of MobileNetV3 and EfficientNet drop in place, MobileNetV2's does not") {
  struct Case {
    const char *gate, *dropout;
    bool in_place;
  };
  for (const Case& c :
       {Case{"block.2.scale_activation", "classifier.2", true},
        Case{"block.2.scale_activation", "m.classifier.0", true},
        Case{"block.2.scale_activation", "classifier.0.project.3", false},
        Case{"block.2.scale_activation", "head_classifier", false}, Case{"block.2.gate", "classifier.0", false}}) {
    Block block;
    const ValueId gate = block.Module("hardsigmoid", block.Module("conv2d", block.Input("x", {Dim::Batch(), 8, 1, 1})));
    block.layers.modules.back().path = c.gate;
    const ValueId hidden = block.Module("hardswish", block.Module("linear", gate));
    block.layers.modules.back().path = c.dropout;
    const ValueId dropped = block.Module("dropout", hidden);
    block.layers.modules.back().path = c.dropout;
    block.layers.outputs = {block.Module("conv2d", dropped)};
    AssumeInPlace(&block.layers, nullptr);
    CHECK_MESSAGE(block.InPlace("hardswish") == c.in_place, c.dropout);
    CHECK_MESSAGE(block.InPlace("dropout") == c.in_place, c.dropout);
  }
}

TEST_CASE("decoders with atrous convolutions, and files with the names of transformers, say nn.ReLU()") {
  struct Case {
    const char *relu, *other;
    bool in_place;
  };
  for (const Case& c :
       {Case{"decoder.aspp.0.convs.0.2", "encoder.conv1", false},
        Case{"decoder.block2.2", "decoder.aspp.0.convs.0.0", false},
        Case{"encoder.layer1.0.relu", "decoder.aspp.0.convs.0.0", true},
        Case{"backbone.relu", "aspp.conv1", true},  // beside it: nobody's decoder
        Case{"m.decoder.stages.1.fusion.convolutional_layer1.2", "m.glpn.block.0.0.attention.self", false},
        Case{"m.decoder.stages.1.fusion.convolutional_layer1.2", "m.block.0.0.attn", true}}) {
    Block block;
    const ValueId x = block.Input("x", {Dim::Batch(), 8, 4, 4});
    const ValueId other = block.Module("conv2d", x);
    block.layers.modules.back().path = c.other;
    block.layers.outputs = {block.Module("relu", block.Module("batch_norm", other))};
    block.layers.modules.back().path = c.relu;
    AssumeInPlace(&block.layers, nullptr);
    CHECK_MESSAGE(block.InPlace("relu") == c.in_place, c.relu << " " << c.other);
  }
}

TEST_CASE("timm's normalizer-free blocks: SiLU is in place between convolutions") {
  for (const char* path : {"stages.0.0.act1", "stages.0.0.act2", "stages.0.0.act2b", "stages.0.0.act3"}) {
    Block block;
    const ValueId x = block.Input("x", {Dim::Batch(), 8, 4, 4});
    block.layers.outputs = {block.Module("silu", block.Module("conv2d", x))};
    block.layers.modules.back().path = path;
    AssumeInPlace(&block.layers, nullptr);
    CHECK_MESSAGE(block.InPlace("silu") == (path[14] == '2'), path);
  }
}

TEST_CASE("the ReLU that ends DenseNet's features is in place") {
  const Shape shape{Dim::Batch(), 8, 4, 4};
  for (const char* name : {"features.norm5", "features.norm"}) {
    Block block;
    const ValueId norm = block.Module("batch_norm", block.Input("x", shape));
    block.layers.modules.back().path = name;
    block.layers.outputs = {block.Add("relu", {norm}, shape)};
    block.layers.layers.back().module = ModuleId();
    AssumeInPlace(&block.layers, nullptr);
    CHECK(block.InPlace("relu") == (block.layers.modules.back().path == "features.norm5"));
  }
}

TEST_CASE("residual sums of blocks with torchvision's squeeze and excitation: result += input, unless x + f(x)") {
  const Shape shape{Dim::Batch(), 8, 4, 4};
  enum { kMobileNetV3, kRegNet, kOtherGate };
  for (const int kind : {kMobileNetV3, kRegNet, kOtherGate}) {
    Block block;
    const ValueId x = block.Module("conv2d", block.Input("x", shape));
    block.layers.layers.back().module = ModuleId{0};
    const ValueId gate = block.Module("hardsigmoid", x);
    block.layers.modules.back().path = kind == kOtherGate ? "m.block.2.gate" : "m.block.2.scale_activation";
    const ValueId branch = block.Module("batch_norm", block.Add("mul", {gate, x}, shape));
    const std::vector<ValueId> operands =
        kind == kRegNet ? std::vector<ValueId>{x, branch} : std::vector<ValueId>{branch, x};
    block.layers.outputs = {block.Add("add", operands, shape)};
    AssumeInPlace(&block.layers, nullptr);
    CHECK_MESSAGE(block.InPlace("add") == (kind == kMobileNetV3), kind);
  }
}

}  // namespace
}  // namespace vramplan
