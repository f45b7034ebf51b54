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
    {"torchvision.ops.stochastic_depth.StochasticDepth", Effect::kDividesInPlace},
    {"torchvision.",
     Effect::kBiasBeforeCall},  // models/swin_transformer.py, ShiftedWindowAttention: get_relative_position_bias
};

}  // namespace

constinit const Library kTorchvision = {"torchvision.", "0.25", kTorchvisionClasses, {}, {}};

}  // namespace vramplan
