#include <algorithm>
#include <string>
#include <string_view>

#include "graph/base/text.h"
#include "graph/layers/uses.h"
#include "graph/lift/any_export/inplace.h"
#include "graph/lift/habit_of.h"

namespace vramplan {
namespace {

bool MakesFeatures(std::string_view op) {
  return IsOneOf(op, {"batch_norm", "conv1d", "conv2d", "conv3d", "conv_transpose2d", "conv_transpose3d", "add"});
}

bool IsSumOfTwo(const Layer& layer) {
  return layer.op == "add" && layer.inputs.size() == 2 && layer.inputs[0].valid() && layer.inputs[1].valid();
}

class Assumption {
 public:
  explicit Assumption(const Layers& layers) : layers_(layers), uses_(layers), calls_(layers.modules.size()) {
    for (const Layer& layer : layers_.layers) {
      if (layer.module.valid()) ++calls_[layer.module.index()];
    }
  }

  // A module of its own behind a convolution, a norm or a sum, whose operand nobody else reads.
  bool IsActivation(const Layer& layer) const {
    if (!IsOneOf(layer.op, {"relu", "hardtanh", "leaky_relu", "elu", "silu", "hardswish"})) return false;
    const Layer* maker = IsAlone(layer) ? OnlyMaker(layer.inputs[0]) : nullptr;
    if (maker == nullptr) return false;
    // Leaky: timm's, ultralytics', monai's and the GANs' blocks of convolution, norm, activation; elsewhere seldom.
    // ELU: V-Net's and pytorch-3dunet's.
    if (IsOneOf(layer.op, {"leaky_relu", "elu"})) {
      const bool within =  // the norm's own activation: timm's BatchNormAct2d
          maker->op == "batch_norm" && maker->module.valid() && layers_[layer.module].parent == maker->module;
      return within || IsFeature(layer.op, layer.attributes, maker->op);
    }
    // Swish: EfficientNet, MobileNetV3 and YOLO of torchvision, timm and ultralytics, whose convolutions have a norm.
    if (IsOneOf(layer.op, {"silu", "hardswish"}))
      return maker->op == "batch_norm" && layers_[layer.inputs[0]].shape.rank() >= 4;
    // The heads of torchvision's segmentation models (FCNHead, DeepLabHead) say nn.ReLU(); a wrapper may stand in front.
    const bool of_head =
        HabitInPath(layers_, "." + layers_[layer.module].path, NameHabit::Of::kHeadOutOfPlace) != nullptr;
    if (layer.op == "relu" && maker->op == "batch_norm" && of_head) return false;
    return MakesFeatures(maker->op) || (layer.op == "relu" && IsFeature(layer.op, layer.attributes, maker->op));
  }

  // F.relu(features, inplace=True), which torchvision's DenseNet calls without a module.
  bool IsEndOfDenseNet(const Layer& layer) const {
    const Layer* maker = layer.op == "relu" && !layer.module.valid() ? OnlyMaker(layer.inputs[0]) : nullptr;
    return maker != nullptr && maker->op == "batch_norm" && maker->module.valid() &&
           EndsAs(layers_[maker->module].path, NameHabit::Of::kNormThenInPlace);
  }

  // The ReLU behind a linear layer of a network whose convolutions have theirs in place (AlexNet's and VGG's heads).
  bool IsHeadActivation(const Layer& layer) const {
    const Layer* maker = layer.op == "relu" && IsAlone(layer) ? OnlyMaker(layer.inputs[0]) : nullptr;
    return maker != nullptr && maker->op == "linear" && layers_[layer.inputs[0]].shape.rank() == 2;
  }

  // result = self.stochastic_depth(result); result += input: so torchvision's EfficientNet and ConvNeXt, while its
  // transformers write x + self.stochastic_depth(f(x)) and timm calls the module drop_path.
  bool IsSumOfStochasticDepth(const Layer& layer) const {
    if (!IsSumOfTwo(layer)) return false;
    const Layer* scaled = OnlyMaker(layer.inputs[0]);
    return scaled != nullptr && scaled->module.valid() &&
           EndsAs(layers_[scaled->module].path, NameHabit::Of::kSumThenInPlace);
  }

  // The gate of torchvision's SqueezeExcitation, which its MobileNetV3 and EfficientNet have in their blocks; those of
  // RegNet stand behind the shortcut in the sum.
  bool IsScaleOfExcitation(const Layer& layer) const {
    return layer.module.valid() && EndsAs(layers_[layer.module].path, NameHabit::Of::kGateOfExcitation);
  }

  // The same sum in a block that never drops: stochastic_depth(p = 0) returns its argument and leaves no trace.
  bool IsSumWithBlockInput(const Layer& layer) const {
    if (!IsSumOfTwo(layer) || !layer.module.valid()) return false;
    const Layer* branch = OnlyMaker(layer.inputs[0]);
    const Layer* shortcut = uses_.MakerOf(layer.inputs[1]);
    return branch != nullptr && shortcut != nullptr && IsInside(branch->module, layer.module) &&
           !IsInside(shortcut->module, layer.module);
  }

  // out = bn(conv(out)); identity = downsample(x); out += identity; out = relu(out): what ResNet and its children
  // write. RegNet, which does not, makes the shortcut first: x = proj(x) + f(x).
  bool IsResidualSum(const Layer& layer) const {
    if (!IsSumOfTwo(layer) || !layer.module.valid()) return false;
    const Layer* norm = OnlyMaker(layer.inputs[0]);
    if (norm == nullptr || norm->op != "batch_norm" || !IsInside(norm->module, layer.module)) return false;
    const Layer* convolution = OnlyMaker(norm->inputs[0]);
    const Layer* before = convolution == nullptr ? nullptr : OnlyMaker(convolution->inputs[0]);
    if (before == nullptr || !IsInside(before->module, layer.module))
      return false;  // a projection of the block's input
    const Layer* shortcut = uses_.MakerOf(layer.inputs[1]);
    if (shortcut == nullptr || (shortcut < norm && IsInside(shortcut->module, layer.module))) return false;
    const Layer* reader = uses_.OnlyReaderOf(layer.outputs[0]);
    return reader != nullptr && reader->op == "relu";
  }

 private:
  bool EndsAs(std::string_view path, NameHabit::Of of) const { return HabitOfPath(layers_, path, of) != nullptr; }
  // All that a call of a module runs.
  bool IsAlone(const Layer& layer) const { return layer.module.valid() && calls_[layer.module.index()] == 1; }
  // The layer that makes a value which one layer reads; null otherwise.
  const Layer* OnlyMaker(ValueId id) const { return uses_.ReadersOf(id).size() == 1 ? uses_.MakerOf(id) : nullptr; }
  bool IsInside(ModuleId module, ModuleId outer) const { return vramplan::IsInside(layers_, module, outer); }

  const Layers& layers_;
  const Uses uses_;
  std::vector<int> calls_;  // layers, by module call
};

}  // namespace

void AssumeInPlace(Layers* layers, Notes* notes) {
  const Assumption assumption(*layers);
  const auto any_is = [&](const auto& is) {
    return std::ranges::any_of(layers->layers, [&](const Layer& layer) { return !FromDynamo(layer) && is(layer); });
  };
  const bool convolutional =
      any_is([&](const Layer& layer) { return layer.op == "relu" && assumption.IsActivation(layer); });
  const bool excited = any_is([&](const Layer& layer) { return assumption.IsScaleOfExcitation(layer); });
  // Both kinds of networks write result += input: EfficientNet and ConvNeXt, and MobileNetV3.
  const bool sums_with_block_input =
      excited || any_is([&](const Layer& layer) { return assumption.IsSumOfStochasticDepth(layer); });
  bool any = false;
  for (Layer& layer : layers->layers) {
    if (FromDynamo(layer)) continue;
    if (!assumption.IsActivation(layer) && !assumption.IsResidualSum(layer) &&
        !assumption.IsSumOfStochasticDepth(layer) &&
        !(sums_with_block_input && assumption.IsSumWithBlockInput(layer)) && !assumption.IsEndOfDenseNet(layer) &&
        !(convolutional && assumption.IsHeadActivation(layer)))
      continue;
    layer.attributes.Set("inplace", int64_t{1});
    any = true;
  }
  layers->guesses.in_place |= any;
  if (any && notes != nullptr) {
    notes->Add({"assumed-inplace", Severity::kNote, "",
                "activation modules after convolutions, and residual sums before such a module, are assumed to run in "
                "place; the file does not say",
                "--inplace off assumes that none do"});
  }
}

}  // namespace vramplan
