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
