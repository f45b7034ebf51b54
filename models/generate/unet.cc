// A U-Net: double convolutions with batch norm, four levels down by max pooling, four up by transposed convolutions,
// each with the skip of its level concatenated. 256 x 256 images of 3 channels, one output channel, 64 channels at the
// top.
#include <string>
#include <vector>

#include "models/generate/layers.h"
#include "models/generate/models.h"

namespace vramplan::models {
namespace {

constexpr int kLevels = 4;
constexpr int64_t kBase = 64;

// Conv, BatchNorm, ReLU, twice.
Value Double(const Module& m, Value x, int64_t in, int64_t out) {
  const Module net = m.Child("net");
  x = Conv2d(net.Child("0"), x, {.in = in, .out = out, .kernel = 3, .padding = 1});
  x = net.Child("2").Op("Relu", {BatchNorm2d(net.Child("1"), x, out)});
  x = Conv2d(net.Child("3"), x, {.in = out, .out = out, .kernel = 3, .padding = 1});
  return net.Child("5").Op("Relu", {BatchNorm2d(net.Child("4"), x, out)});
}

}  // namespace

std::string UNet() {
  GraphWriter graph("unet");
  const Module net = graph.root();
  Value x = graph.Input("x", onnx::TensorProto::FLOAT, {"batch", 3, 256, 256});
  int64_t channels = kBase;
  x = Double(net.Child("stem"), x, 3, channels);
  std::vector<Value> skips;
  for (int level = 0; level < kLevels; ++level, channels *= 2) {
    skips.push_back(x);
    const Module down = net.Child("down." + std::to_string(level));
    x = MaxPool2d(down.Child("0"), x, 2, 2, 0);
    x = Double(down.Child("1"), x, channels, 2 * channels);
  }
  for (int level = 0; level < kLevels; ++level, channels /= 2) {
    const Module up = net.Child("up." + std::to_string(level));
    x = ConvTranspose2d(up.Child("up"), x, {.in = channels, .out = channels / 2, .kernel = 2, .stride = 2});
    x = up.Op("Concat", {skips.back(), x}, {{"axis", int64_t{1}}});
    skips.pop_back();
    x = Double(up.Child("conv"), x, channels, channels / 2);
  }
  x = Conv2dWithBias(net.Child("head"), x, {.in = kBase, .out = 1});
  graph.Output(x, "output", {"batch", 1, 256, 256});
  return graph.Bytes();
}

}  // namespace vramplan::models
