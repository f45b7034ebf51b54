// torchvision.
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

constexpr ClassHabit kTorchvisionClasses[] = {
    {"torchvision.models.", Effect::kActsInPlace},
    {"torchvision.ops.misc.", Effect::kActsInPlace},                      // ConvNormActivation: inplace=True
    {"torchvision.ops.misc.SqueezeExcitation", Effect::kActsOutOfPlace},  // activation()
    // efficientnet.py gives it partial(nn.SiLU, inplace=True).
    {"torchvision.ops.misc.SqueezeExcitation", Effect::kActsInPlace, "", "torchvision.models.efficientnet."},
    {"torchvision.ops.misc.MLP", Effect::kActsOutOfPlace},                         // inplace=None
    {"torchvision.models.segmentation.fcn.FCNHead", Effect::kActsOutOfPlace},      // nn.ReLU()
    {"torchvision.models.segmentation.deeplabv3.", Effect::kActsOutOfPlace},       // nn.ReLU()
    {"torchvision.models.detection.fcos.", Effect::kActsOutOfPlace},               // nn.ReLU()
    {"torchvision.models.detection.faster_rcnn.TwoMLP", Effect::kActsOutOfPlace},  // F.relu(x)
    {"torchvision.models.vision_transformer.", Effect::kActsOutOfPlace},           // inplace=None
    {"torchvision.models.quantization.", Effect::kActsOutOfPlace},                 // nn.ReLU(inplace=False)
    // x += y
    {"torchvision.models.resnet.BasicBlock", Effect::kAddsInPlace},
    {"torchvision.models.resnet.Bottleneck", Effect::kAddsInPlace},
    {"torchvision.models.video.resnet.BasicBlock", Effect::kAddsInPlace},
    {"torchvision.models.video.resnet.Bottleneck", Effect::kAddsInPlace},
    {"torchvision.models.mobilenetv3.InvertedResidual", Effect::kAddsInPlace},
    {"torchvision.models.efficientnet.MBConv", Effect::kAddsInPlace},
    {"torchvision.models.efficientnet.FusedMBConv", Effect::kAddsInPlace},
    {"torchvision.models.convnext.CNBlock", Effect::kAddsInPlace},
};

constexpr NameHabit kTorchvisionNames[] = {
    {"backbone", NameHabit::Of::kNamedFeatures},  // models/segmentation/_utils.py, detection
    {"relative_position_bias_table", NameHabit::Of::kDenseBias,
     "relative_position_index"},                       // models/swin_transformer.py
    {".classifier.", NameHabit::Of::kHeadOutOfPlace},  // models/segmentation: FCNHead, DeepLabHead
    {".aux_classifier.", NameHabit::Of::kHeadOutOfPlace},
    {"features.norm5", NameHabit::Of::kNormThenInPlace},      // models/densenet.py: F.relu(features, inplace=True)
    {".stochastic_depth", NameHabit::Of::kSumThenInPlace},    // models/efficientnet.py, convnext.py
    {".scale_activation", NameHabit::Of::kGateOfExcitation},  // ops/misc.py: SqueezeExcitation
    // models/resnet.py; nn.Sequential(*list(resnet.children())[:6]); nn.Sequential(resnet.layer2, resnet.layer3)
    {"layer1.0.conv1.weight", NameHabit::Of::kPublished, "layer4.0.conv1.weight"},
    {"4.0.conv1.weight", NameHabit::Of::kPublished, "4.0.conv2.weight"},
    {"0.0.conv1.weight", NameHabit::Of::kPublished, "0.0.downsample.0.weight"},
    {"features.", NameHabit::Of::kPublishedIn},  // vgg.py, densenet.py, mobilenetv2.py, efficientnet.py and others
    // What may be cut, model.features[:14], is told by its first blocks.
    {"0.0.weight", NameHabit::Of::kPublished, "2.conv.1.0.weight"},     // mobilenetv2.py
    {"0.0.weight", NameHabit::Of::kPublished, "2.block.1.0.weight"},    // mobilenetv3.py
    {"0.0.weight", NameHabit::Of::kPublished, "2.0.block.1.0.weight"},  // efficientnet.py
    {"0.0.weight", NameHabit::Of::kPublished, "3.0.block.0.weight"},    // convnext.py
    {"0.0.weight", NameHabit::Of::kPublished, "3.0.attn.qkv.weight"},   // swin_transformer.py
    {"7.weight", NameHabit::Of::kPublished, "14.weight"},               // vgg.py, vgg16 and vgg19
    // slices of vgg16().features: richzhang/PerceptualSimilarity, lpips/pretrained_networks.py; pytorch/examples,
    // fast_neural_style/neural_style/vgg.py
    {"slice1.0.weight", NameHabit::Of::kPublished, "slice2.5.weight"},
    {"conv0.weight", NameHabit::Of::kPublished, "denseblock2.denselayer1.conv1.weight"},  // densenet.py
    {"conv_proj.weight", NameHabit::Of::kPublished,
     "encoder.layers.encoder_layer_0.mlp.0.bias"},  // vision_transformer.py
};

}  // namespace

constinit const Library kTorchvision = {"torchvision.", "0.25", kTorchvisionClasses, {}, kTorchvisionNames};

}  // namespace vramplan
