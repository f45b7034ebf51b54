#include "graph/lift/any_export/inplace.h"

#include <doctest/doctest.h>

#include "tests/support/layers_text.h"

namespace vramplan {
namespace {

TEST_CASE("who writes in place") {
  constexpr const char* kRelu = "torch.nn.modules.activation.ReLU";
  constexpr const char* kSequential = "torch.nn.modules.container.Sequential";
  struct Case {
    const char* op;
    std::vector<std::string_view> classes;
    bool behind_batch_norm;
    InPlace expected;
  };
  const Case cases[] = {
      // torchvision 0.25
      {"relu", {"torchvision.models.resnet.ResNet", kRelu}, true, InPlace::kYes},
      {"relu",
       {"torchvision.models.googlenet.GoogLeNet", "torchvision.models.googlenet.BasicConv2d"},
       true,
       InPlace::kYes},
      {"relu",
       {"mine.Wrap", "torchvision.models.segmentation.fcn.FCN", "torchvision.models.segmentation.fcn.FCNHead", kRelu},
       true,
       InPlace::kNo},
      {"hardtanh",
       {"torchvision.models.mobilenetv2.MobileNetV2", kSequential, "torchvision.ops.misc.Conv2dNormActivation",
        "torch.nn.modules.activation.ReLU6"},
       true,
       InPlace::kYes},
      {"relu",
       {"torchvision.models.mobilenetv3.MobileNetV3", "torchvision.ops.misc.SqueezeExcitation", kRelu},
       false,
       InPlace::kNo},
      {"silu",
       {"torchvision.models.efficientnet.EfficientNet", "torchvision.ops.misc.SqueezeExcitation",
        "torch.nn.modules.activation.SiLU"},
       false,
       InPlace::kYes},
      {"gelu", {"torchvision.models.convnext.ConvNeXt", "torch.nn.modules.activation.GELU"}, false, InPlace::kNo},
      {"add", {"torchvision.models.resnet.ResNet", "torchvision.models.resnet.Bottleneck"}, true, InPlace::kYes},
      {"add",
       {"torchvision.models.regnet.RegNet", "torchvision.models.regnet.ResBottleneckBlock"},
       false,
       InPlace::kNo},
      {"add", {"torchvision.models.mobilenetv2.InvertedResidual"}, true, InPlace::kNo},
      {"mul", {"torchvision.ops.stochastic_depth.StochasticDepth"}, false, InPlace::kNo},
      {"add", {"timm.models.cspnet.CspNet", "timm.models.cspnet.BottleneckBlock"}, true, InPlace::kNo},
      {"relu",
       {"timm.models.mobilevit.MobileVitV2Block", "timm.models.mobilevit.LinearSelfAttention"},
       false,
       InPlace::kNo},
      // timm 1.0.31: the activation behind the sum has no argument, those of its ConvNormAct have
      {"leaky_relu",
       {"timm.models.cspnet.CspNet", "timm.models.cspnet.BottleneckBlock", "torch.nn.modules.activation.LeakyReLU"},
       false,
       InPlace::kNo},
      {"leaky_relu",
       {"timm.models.cspnet.BottleneckBlock", "timm.layers.conv_bn_act.ConvNormAct",
        "timm.layers.norm_act.BatchNormAct2d"},
       true,
       InPlace::kYes},
      {"silu", {"timm.models.nfnet.NormFreeBlock", "torch.nn.modules.activation.SiLU"}, false, InPlace::kNo},
      {"relu", {"timm.models.nextvit.NextConvBlock", "timm.layers.mlp.ConvMlp", kRelu}, false, InPlace::kYes},
      {"hardsigmoid", {"timm.layers.squeeze_excite.EffectiveSEModule"}, false, InPlace::kNo},
      // others
      {"relu", {"segmentation_models_pytorch.base.modules.Conv2dReLU", kRelu}, true, InPlace::kYes},
      {"relu",  // segmentation_models_pytorch 0.6, decoders/deeplabv3/decoder.py, decoders/dpt/decoder.py: nn.ReLU()
       {"segmentation_models_pytorch.decoders.deeplabv3.decoder.ASPPConv", kRelu},
       true,
       InPlace::kNo},
      {"relu",
       {"segmentation_models_pytorch.decoders.dpt.decoder.DPTDecoder",
        "segmentation_models_pytorch.decoders.dpt.decoder.ResidualConvBlock", kRelu},
       false,
       InPlace::kNo},
      {"relu", {"segmentation_models_pytorch.decoders.dpt.decoder.DPTSegmentationHead", kRelu}, true, InPlace::kYes},
      {"relu",
       {"monai.networks.nets.segresnet.SegResNet", "monai.networks.blocks.segresnet_block.ResBlock", kRelu},
       false,
       InPlace::kYes},
      {"relu", {"monai.networks.nets.unet.UNet", "monai.networks.blocks.acti_norm.ADN", kRelu}, true, InPlace::kNo},
      {"leaky_relu",
       {"monai.networks.nets.swin_unetr.SwinUNETR", "monai.networks.blocks.unetr_block.UnetrBasicBlock",
        "monai.networks.blocks.dynunet_block.UnetResBlock", "torch.nn.modules.activation.LeakyReLU"},
       false,
       InPlace::kYes},
      {"relu", {"transformers.models.t5.modeling_t5.T5DenseActDense", kRelu}, false, InPlace::kNo},
      // nobody's
      {"relu", {"mine.Net", kSequential, kRelu}, true, InPlace::kAssumed},
      {"relu", {"mine.Net", kSequential, kRelu}, false, InPlace::kNo},
      {"relu", {"mine.Net"}, true, InPlace::kNo},  // F.relu
      {"relu", {}, false, InPlace::kNo},
      {"add", {"mine.Net"}, true, InPlace::kNo},
  };
  for (const Case& c : cases) {
    CAPTURE(c.op);
    CAPTURE((c.classes.empty() ? std::string_view() : c.classes.front()));
    CHECK(InPlaceByClass(c.op, c.classes, c.behind_batch_norm) == c.expected);
  }
}

TEST_CASE("what activations of somebody's own mostly overwrite") {
  Attributes slope;
  slope.Set("negative_slope", 0.2);
  CHECK(IsFeature("silu", {}, "batch_norm"));
  CHECK(IsFeature("relu", {}, "instance_norm"));
  CHECK(!IsFeature("silu", {}, "instance_norm"));
  CHECK(IsFeature("leaky_relu", slope, "batch_norm"));
  CHECK(!IsFeature("leaky_relu", {}, "batch_norm"));
  CHECK(IsFeature("leaky_relu", {}, "instance_norm"));
  CHECK(IsFeature("leaky_relu", slope, "conv2d"));
  CHECK(!IsFeature("leaky_relu", {}, "conv2d"));
  CHECK(!IsFeature("relu", {}, "conv2d"));
  CHECK(!IsFeature("leaky_relu", slope, "linear"));
}

}  // namespace
}  // namespace vramplan
