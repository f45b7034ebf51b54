#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "graph/base/ablation.h"
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
    for (const auto& module : layers_.modules) {
      if (EndsAs(module.path, NameHabit::Of::kModelOutOfPlace)) of_transformers_ = true;
      // "decoder." of "decoder.aspp.0.convs.0.2"; it may stand beside the backbone.
      if (const NameHabit* inner = HabitInPath(layers_, module.path, NameHabit::Of::kDecoderOutOfPlace))
        pyramid_decoders_.insert(module.path.substr(0, module.path.find(inner->name) + 1));
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
      return within || IsFeature(layer.op, layer.attributes, maker->op) || IsSumOfDynUnet(*maker);
    }
    // Swish: EfficientNet, MobileNetV3 and YOLO of torchvision, timm and ultralytics, whose convolutions have a norm.
    if (IsOneOf(layer.op, {"silu", "hardswish"})) {
      return (maker->op == "batch_norm" && layers_[layer.inputs[0]].shape.rank() >= 4) ||
             (layer.op == "silu" && (IsOfExcitation(layer, *maker) || IsOfNormFreeBlock(layer, *maker)));
    }
    // transformers (of which these are the names) makes activations without arguments: ACT2FN[...], nn.ReLU().
    if (layer.op == "relu" && of_transformers_) return false;
    // monai's ADN blocks make an activation from its name, and a ReLU of the name alone is not in place.
    const std::string& path = layers_[layer.module].path;
    if (IsOfExcitation(layer, *maker) || (IsGate(layer) && Runs("read", "inplace_assumed IsGate"))) return false;
    if (layer.op == "relu" && IsOutOfPlace(path)) return false;
    // The heads of torchvision's segmentation models (FCNHead, DeepLabHead) say nn.ReLU().
    if (layer.op == "relu" && maker->op == "batch_norm" && IsOfHead(path)) return false;
    // So does all of segmentation_models_pytorch's decoders with atrous convolutions (decoders/deeplabv3/decoder.py).
    if (layer.op == "relu" &&
        std::ranges::any_of(pyramid_decoders_, [&](const std::string& outer) { return path.starts_with(outer); }))
      return false;
    return MakesFeatures(maker->op) || (layer.op == "relu" && IsFeature(layer.op, layer.attributes, maker->op));
  }

  // A ReLU of a name alone; not directly in a numbered list that asks for more.
  bool IsOutOfPlace(std::string_view path) const {
    const NameHabit* habit = HabitOfPath(layers_, path, NameHabit::Of::kReluOutOfPlace);
    if (habit == nullptr) return false;
    path.remove_suffix(habit->name.size());
    while (!path.empty() && path.back() >= '0' && path.back() <= '9') path.remove_suffix(1);
    return !path.ends_with(habit->with);
  }

  // self.act(x1) * x2, of a gated block (timm/models/starnet.py 1.0: nn.ReLU6()): what is multiplied by a tensor of its
  // own size is made as a value, not as a feature.
  bool IsGate(const Layer& layer) const {
    const Layer* product = uses_.OnlyReaderOf(layer.outputs[0]);
    if (product == nullptr || product->op != "mul" || product->inputs.size() != 2 || !product->inputs[1].valid())
      return false;
    return layers_[product->inputs[0]].shape == layers_[product->inputs[1]].shape &&
           layers_[layer.module].parent == product->module;
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

  // x = self.upsample(x); x += skip, in the forward of a decoder that enlarges with a module of its own.
  bool IsSumOfEnlarged(const Layer& layer) const {
    if (!IsSumOfTwo(layer) || !layer.module.valid()) return false;
    const Layer* enlarged = OnlyMaker(layer.inputs[0]);
    if (enlarged == nullptr || !enlarged->module.valid()) return false;
    std::string_view path = layers_[enlarged->module].path;
    const NameHabit* habit = HabitOfPath(layers_, path, NameHabit::Of::kEnlargedThenInPlace);
    if (habit == nullptr) return false;
    path.remove_suffix(habit->name.size());
    return path == layers_[layer.module].path;
  }

  // The gate of torchvision's SqueezeExcitation, which its MobileNetV3 and EfficientNet have in their blocks; those of
  // RegNet stand behind the shortcut in the sum.
  bool IsScaleOfExcitation(const Layer& layer) const {
    return layer.module.valid() && EndsAs(layers_[layer.module].path, NameHabit::Of::kGateOfExcitation);
  }

  // In front of the last linear layer, MobileNetV3 has nn.Hardswish(inplace=True) and nn.Dropout(p, inplace=True),
  // EfficientNet the latter.
  bool IsPartOfClassifier(const Layer& layer) const {
    if (!IsOneOf(layer.op, {"hardswish", "dropout"}) || !layer.module.valid()) return false;
    const std::string& path = layers_[layer.module].path;
    const std::string outer = path.substr(0, path.rfind('.'));
    return outer.size() < path.size() && EndsAs(outer, NameHabit::Of::kClassifierInPlace) &&
           OnlyMaker(layer.inputs[0]) != nullptr;
  }

  // The same sum in a block that never drops: stochastic_depth(p = 0) returns its argument and leaves no trace.
  bool IsSumWithBlockInput(const Layer& layer) const {
    if (!IsSumOfTwo(layer) || !layer.module.valid()) return false;
    const Layer* branch = OnlyMaker(layer.inputs[0]);
    const Layer* shortcut = uses_.MakerOf(layer.inputs[1]);
    return branch != nullptr && shortcut != nullptr && IsInside(branch->module, layer.module) &&
           !IsInside(shortcut->module, layer.module);
  }

  // x = self.conv2(self.act2(self.norm2(...))); x += identity: blocks whose norms come first and that call two
  // convolutions each with a norm and an activation of its own in front, as in MONAI's networks (nets/segresnet_ds.py).
  // Its decoder's sums with the encoder's maps are alike.
  bool IsSumOfSegResNet(const Layer& layer) const {
    if (!IsSumOfTwo(layer)) return false;
    const Layer* conv = OnlyMaker(layer.inputs[0]);
    if (conv != nullptr && conv->inputs.size() > 1 && conv->inputs[1].valid()) {
      const std::string& weight = layers_[conv->inputs[1]].name;
      const NameHabit* popped = HabitInPath(layers_, weight, NameHabit::Of::kPoppedFeatures);
      if (popped != nullptr && weight.find(popped->with) != std::string::npos) return true;
    }
    if (!layer.module.valid()) return false;
    for (const std::string_view child : {"conv2", "act2", "norm2", "conv1", "act1", "norm1"}) {
      if (conv == nullptr || !conv->module.valid() || layers_[conv->module].parent != layer.module) return false;
      const std::string& path = layers_[conv->module].path;
      if (LeafOf(path) != child) return false;
      if (child == "norm1") return conv->inputs[0] == layer.inputs[1];
      conv = OnlyMaker(conv->inputs[0]);
    }
    return false;
  }

  // out = self.norm2(out); out += residual; out = self.lrelu(out), one activation for both norms and in place: MONAI's
  // UnetResBlock (networks/blocks/dynunet_block.py), of which DynUNet, UNETR and Swin UNETR are made.
  bool IsSumOfDynUnet(const Layer& layer) const {
    if (!IsSumOfTwo(layer) || !layer.module.valid()) return false;
    const auto is_child = [&](const Layer& child, std::string_view name) {
      return child.module.valid() && layers_[child.module].parent == layer.module &&
             layers_[child.module].path.ends_with(name);
    };
    const Layer* norm = OnlyMaker(layer.inputs[0]);
    const Layer* reader = uses_.OnlyReaderOf(layer.outputs[0]);
    return norm != nullptr && is_child(*norm, ".norm2") && reader != nullptr && is_child(*reader, ".lrelu");
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
  bool IsOfHead(const std::string& path) const {  // a wrapper may stand in front
    return HabitInPath(layers_, "." + path, NameHabit::Of::kHeadOutOfPlace) != nullptr;
  }

  // The activation between the two convolutions of torchvision's SqueezeExcitation: nn.ReLU(), but EfficientNet gives
  // partial(nn.SiLU, inplace=True).
  bool IsOfExcitation(const Layer& layer, const Layer& maker) const {
    const NameHabit* habit = HabitOfPath(layers_, layers_[layer.module].path, NameHabit::Of::kActivationOfExcitation);
    return habit != nullptr && maker.module.valid() && layers_[maker.module].path.ends_with(habit->with);
  }

  // Of the activations of timm's normalizer-free blocks (models/nfnet.py), those between convolutions.
  bool IsOfNormFreeBlock(const Layer& layer, const Layer& maker) const {
    return maker.op == "conv2d" && EndsAs(layers_[layer.module].path, NameHabit::Of::kNormFreeInPlace);
  }

  // All that a call of a module runs.
  bool IsAlone(const Layer& layer) const { return layer.module.valid() && calls_[layer.module.index()] == 1; }
  // The layer that makes a value which one layer reads; null otherwise.
  const Layer* OnlyMaker(ValueId id) const { return uses_.ReadersOf(id).size() == 1 ? uses_.MakerOf(id) : nullptr; }
  bool IsInside(ModuleId module, ModuleId outer) const { return vramplan::IsInside(layers_, module, outer); }

  const Layers& layers_;
  const Uses uses_;
  std::vector<int> calls_;                  // layers, by module call
  std::set<std::string> pyramid_decoders_;  // "decoder."
  bool of_transformers_ = false;
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
    const auto is = [&](const char* name, bool it) { return it && Runs("read", name); };
    if (!is("inplace_assumed IsActivation", assumption.IsActivation(layer)) &&
        !is("inplace_assumed IsResidualSum", assumption.IsResidualSum(layer)) &&
        !is("inplace_assumed IsSumOfStochasticDepth", assumption.IsSumOfStochasticDepth(layer)) &&
        !is("inplace_assumed IsSumOfSegResNet", assumption.IsSumOfSegResNet(layer)) &&
        !is("inplace_assumed IsSumOfDynUnet", assumption.IsSumOfDynUnet(layer)) &&
        !is("inplace_assumed IsSumOfEnlarged", assumption.IsSumOfEnlarged(layer)) &&
        !is("inplace_assumed IsSumWithBlockInput", sums_with_block_input && assumption.IsSumWithBlockInput(layer)) &&
        !is("inplace_assumed IsPartOfClassifier", excited && assumption.IsPartOfClassifier(layer)) &&
        !is("inplace_assumed IsEndOfDenseNet", assumption.IsEndOfDenseNet(layer)) &&
        !is("inplace_assumed IsHeadActivation", convolutional && assumption.IsHeadActivation(layer)))
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
