// torchvision's resnet50: a stem and 3 + 4 + 6 + 3 bottlenecks, the stride of a stage in its first 3x3 convolution.
#include <string>

#include "models/generate/layers.h"
#include "models/generate/models.h"

namespace vramplan::models {
namespace {

constexpr int64_t kExpansion = 4;

Value Bottleneck(const Module& m, const Value& x, int64_t in, int64_t width, int64_t stride) {
  const int64_t out = width * kExpansion;
  const Module relu = m.Child("relu");  // one module, called three times
  Value y = Conv2d(m.Child("conv1"), x, {.in = in, .out = width});
  y = relu.Op("Relu", {BatchNorm2d(m.Child("bn1"), y, width)});
  y = Conv2d(m.Child("conv2"), y, {.in = width, .out = width, .kernel = 3, .stride = stride, .padding = 1});
  y = relu.Again(1).Op("Relu", {BatchNorm2d(m.Child("bn2"), y, width)});
  y = Conv2d(m.Child("conv3"), y, {.in = width, .out = out});
  y = BatchNorm2d(m.Child("bn3"), y, out);
  Value identity = x;
  if (in != out) {
    const Module downsample = m.Child("downsample");
    identity = Conv2d(downsample.Child("0"), x, {.in = in, .out = out, .stride = stride});
    identity = BatchNorm2d(downsample.Child("1"), identity, out);
  }
  return relu.Again(2).Op("Relu", {m.Op("Add", {y, identity})});
}

}  // namespace

std::string ResNet50() {
  GraphWriter graph("resnet50");
  const Module net = graph.root();
  Value x = graph.Input("x", onnx::TensorProto::FLOAT, {"batch", 3, 224, 224});
  x = Conv2d(net.Child("conv1"), x, {.in = 3, .out = 64, .kernel = 7, .stride = 2, .padding = 3});
  x = net.Child("relu").Op("Relu", {BatchNorm2d(net.Child("bn1"), x, 64)});
  x = MaxPool2d(net.Child("maxpool"), x, 3, 2, 1);
  int64_t in = 64;
  int64_t width = 64;
  int stage = 1;
  for (const int blocks : {3, 4, 6, 3}) {
    const Module layer = net.Child("layer" + std::to_string(stage));
    for (int block = 0; block < blocks; ++block) {
      const int64_t stride = stage > 1 && block == 0 ? 2 : 1;
      x = Bottleneck(layer.Child(std::to_string(block)), x, in, width, stride);
      in = width * kExpansion;
    }
    ++stage;
    width *= 2;
  }
  x = net.Child("avgpool").Op("GlobalAveragePool", {x});
  x = net.Op("Flatten", {x}, {{"axis", int64_t{1}}});
  x = LinearOnMatrix(net.Child("fc"), x, in, 1000);
  graph.Output(x, "output", {"batch", 1000});
  return graph.Bytes();
}

}  // namespace vramplan::models
