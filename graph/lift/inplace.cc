#include "graph/lift/inplace.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace vramplan {
namespace {

// Functions of torch.nn with an `inplace` argument that modules of libraries set.
constexpr std::string_view kInPlaceActivations[] = {"relu", "leaky_relu", "elu",       "selu",    "celu",
                                                    "silu", "mish",       "hardswish", "hardtanh"};

// By class prefix, the longest match counts. Read in torchvision 0.25, timm 1.0.31, segmentation-models 0.6, MONAI 1.6,
// ultralytics 8.
struct Habit {
  std::string_view class_prefix;
  bool in_place;
  std::string_view only = "";  // the names that its modules have for these, when there are others
};
constexpr Habit kActivationHabits[] = {
    {"torchvision.models.", true},
    {"torchvision.ops.misc.", true},                             // ConvNormActivation: inplace=True
    {"torchvision.ops.misc.SqueezeExcitation", false},           // activation()
    {"torchvision.ops.misc.MLP", false},                         // inplace=None
    {"torchvision.models.segmentation.fcn.FCNHead", false},      // nn.ReLU()
    {"torchvision.models.segmentation.deeplabv3.", false},       // nn.ReLU()
    {"torchvision.models.detection.fcos.", false},               // nn.ReLU()
    {"torchvision.models.detection.faster_rcnn.TwoMLP", false},  // F.relu(x)
    {"torchvision.models.vision_transformer.", false},           // inplace=None
    {"torchvision.models.quantization.", false},                 // nn.ReLU(inplace=False)
    {"segmentation_models_pytorch.", true},                      // base/modules.py: nn.ReLU(inplace=True)
    {"segmentation_models_pytorch.decoders.deeplabv3.", false},  // nn.ReLU()
    {"segmentation_models_pytorch.decoders.dpt.decoder.ResidualConvBlock", false},  // nn.ReLU()
    {"segmentation_models_pytorch.decoders.dpt.decoder.FusionBlock", false},
    {"timm.", true},                    // act_layer(inplace=True), BatchNormAct2d(inplace=True)
    {"timm.layers.mlp.", false},        // act_layer()
    {"timm.layers.mlp.ConvMlp", true},  // only GELUs beside nextvit's ReLU(inplace=True)
    // timm 1.0.31: these files build act_layer() without arguments; norm_act and squeeze_excite of its layers do not.
    {"timm.models.convmixer.", false},
    {"timm.models.convnext.", false},
    {"timm.models.cpubone.", false},
    {"timm.models.cspnet.BottleneckBlock", false},
    {"timm.models.deepseek_vit.", false},
    {"timm.models.efficientformer.", false},
    {"timm.models.efficientformer_v2.", false},
    {"timm.models.efficientvim.", false},
    {"timm.models.efficientvit_mit.LiteMLA", false},
    {"timm.models.efficientvit_msra.", false},
    {"timm.models.fastvit.", false},
    {"timm.models.gcvit.", false},
    {"timm.models.hgnet.", false},
    {"timm.models.hrnet.HighResolutionModule", false},
    {"timm.models.iformer.", false},
    {"timm.models.inception_next.", false},
    {"timm.models.inception_resnet_v2.", false},
    {"timm.models.levit.", false},
    {"timm.models.lowformer.", false},
    {"timm.models.mambaout.", false},
    {"timm.models.metaformer.", false},
    {"timm.models.mobilevit.LinearSelfAttention", false},  // F.relu(v)
    {"timm.models.nasnet.", false},
    {"timm.models.nfnet.", false},
    {"timm.models.nfnet.NormFreeBlock", true, "act2"},
    {"timm.models.nfnet.NormFreeBlock", true, "act2b"},
    {"timm.models.pnasnet.", false},
    {"timm.models.pvt_v2.", false},
    {"timm.models.rdnet.", false},
    {"timm.models.regnet.", false},
    {"timm.models.repghost.RepGhostModule", false},
    {"timm.models.repvit.", false},
    {"timm.models.rexnet.LinearBottleneck", false},
    {"timm.models.shvit.", false},
    {"timm.models.starnet.", false},
    {"timm.models.swiftformer.", false},
    {"timm.models.tiny_vit.", false},
    {"timm.models.xception_aligned.", false},
    {"timm.models.xcit.", false},
    {"timm.models.vision_transformer.", false},
    {"timm.models.swin_transformer", false},
    {"timm.models.swin_transformer_v2.WindowAttention", true},  // cpb_mlp
    {"ultralytics.", true},  // initialize_weights sets inplace on ReLU, SiLU, Hardswish
    {"monai.", false},
    {"monai.networks.nets.ahnet.", true},  // ("relu", {"inplace": True}) and alike
    {"monai.networks.nets.basic_unet", true},
    {"monai.networks.nets.densenet.", true},
    {"monai.networks.nets.dynunet.", true},
    {"monai.networks.nets.flexible_unet.", true},
    {"monai.networks.nets.highresnet.", true},
    {"monai.networks.nets.hovernet.", true},
    {"monai.networks.nets.resnet.", true},
    {"monai.networks.nets.segresnet", true},
    {"monai.networks.nets.senet.", true},
    {"monai.networks.nets.swin_unetr.", true},  // both: dynunet_block.py's leaky ReLU
    {"monai.networks.nets.unetr.", true},
    {"monai.networks.nets.vnet.", true},
    {"monai.networks.nets.voxelmorph.", true},
    {"transformers.", false},  // ACT2FN makes them without arguments
    {"diffusers.", false},
};

// `x += y` in the forward of exactly these classes, every sum in it (timm 1.0.31, torchvision 0.25, MONAI 1.6).
constexpr std::string_view kAddInPlace[] = {
    "torchvision.models.resnet.BasicBlock",
    "torchvision.models.resnet.Bottleneck",
    "torchvision.models.video.resnet.BasicBlock",
    "torchvision.models.video.resnet.Bottleneck",
    "torchvision.models.mobilenetv3.InvertedResidual",
    "torchvision.models.efficientnet.MBConv",
    "torchvision.models.efficientnet.FusedMBConv",
    "torchvision.models.convnext.CNBlock",
    "timm.models.byobnet.MobileOneBlock",
    "timm.models.dla.DlaBasic",
    "timm.models.dla.DlaBottleneck",
    "timm.models.dla.DlaBottle2neck",
    "timm.models.dla.DlaRoot",
    "timm.models.ghostnet.GhostBottleneck",
    "timm.models.ghostnet.GhostBottleneckV3",
    "timm.models.repghost.RepGhostBottleneck",
    "timm.models.res2net.Bottle2neck",
    "timm.models.resnest.ResNestBottleneck",
    "timm.models.resnet.BasicBlock",
    "timm.models.resnet.Bottleneck",
    "timm.models.sknet.SelectiveKernelBasic",
    "timm.models.sknet.SelectiveKernelBottleneck",
    "timm.models.tiny_vit.MBConv",
    "timm.models.twins.PosConv",
    "timm.models.xception.Block",
    "monai.networks.blocks.dynunet_block.UnetResBlock",
    "monai.networks.blocks.segresnet_block.ResBlock",
    "monai.networks.blocks.squeeze_and_excitation.SEBlock",
    "monai.networks.nets.ahnet.Bottleneck3x3x1",
    "monai.networks.nets.resnet.ResNetBlock",
    "monai.networks.nets.resnet.ResNetBottleneck",
    "monai.networks.nets.segresnet_ds.SegResBlock",
    "monai.networks.nets.segresnet_ds.SegResNetDS",
    "segmentation_models_pytorch.encoders._xception.Block",
    "transformers.models.resnet.modeling_resnet.ResNetBasicLayer",
    "transformers.models.resnet.modeling_resnet.ResNetBottleNeckLayer",
};

// noise.div_(survival_rate), and the noise of an in-place dropout (aten/src/ATen/native/Dropout.cpp,
// _dropout<inplace>).
constexpr std::string_view kDivInPlace[] = {"torchvision.ops.stochastic_depth.StochasticDepth",
                                            "timm.layers.drop.DropPath"};
constexpr std::string_view kDropoutModule = "torch.nn.modules.dropout.";

template <typename List>
bool Contains(const List& list, std::string_view one) {
  return std::find(std::begin(list), std::end(list), one) != std::end(list);
}

InPlace ActivationInPlace(const std::vector<std::string_view>& classes, bool behind_feature, std::string_view path) {
  // monai's blocks do not know what their net asked for: any enclosing net counts. Else the innermost class of a
  // library.
  const std::string_view leaf = path.substr(path.rfind('.') + 1);
  const Habit* habit = nullptr;
  bool is_module = false;
  for (auto frame = classes.rbegin(); frame != classes.rend(); ++frame) {
    const std::string_view name = *frame;
    if (name.starts_with("torch.nn.modules.activation.")) is_module = true;
    if (name.starts_with("torch.nn.") || name.empty()) continue;
    for (const Habit& one : kActivationHabits) {
      if (name.starts_with(one.class_prefix) && (one.only.empty() || one.only == leaf) &&
          (habit == nullptr || one.class_prefix.size() > habit->class_prefix.size()))
        habit = &one;
    }
    // efficientnet.py gives its squeeze-and-excitation partial(nn.SiLU, inplace=True).
    const bool is_excitation = name == "torchvision.ops.misc.SqueezeExcitation";
    if (is_excitation && std::any_of(classes.begin(), classes.end(), [](std::string_view outer) {
          return outer.starts_with("torchvision.models.efficientnet.");
        })) {
      return InPlace::kYes;
    }
    if (!name.starts_with("monai.networks.blocks.")) break;
  }
  if (habit != nullptr) return habit->in_place ? InPlace::kYes : InPlace::kNo;
  return is_module && behind_feature ? InPlace::kAssumed : InPlace::kNo;
}

}  // namespace

bool IsFeature(std::string_view activation, const Attributes& attributes, std::string_view maker) {
  constexpr double kDefaultSlope = 0.01;  // torch.nn.LeakyReLU
  const bool leaky = activation == "leaky_relu";
  const bool own_slope = leaky && std::abs(attributes.Real("negative_slope", kDefaultSlope) - kDefaultSlope) > 1e-6;
  if (maker == "batch_norm") return !leaky || own_slope;
  if (maker == "instance_norm") return leaky || activation == "elu" || activation == "relu";
  return own_slope && maker.starts_with("conv");
}

InPlace InPlaceByClass(const std::string& op, const std::vector<std::string_view>& classes, bool behind_feature,
                       std::string_view path) {
  const std::string_view innermost = classes.empty() ? std::string_view() : classes.back();
  if (op == "add") return Contains(kAddInPlace, innermost) ? InPlace::kYes : InPlace::kNo;
  if (op == "div")
    return Contains(kDivInPlace, innermost) || innermost.starts_with(kDropoutModule) ? InPlace::kYes : InPlace::kNo;
  if (op == "mul") return innermost.starts_with(kDropoutModule) ? InPlace::kYes : InPlace::kNo;
  if (!Contains(kInPlaceActivations, op)) return InPlace::kNo;
  return ActivationInPlace(classes, behind_feature, path);
}

}  // namespace vramplan
