// segmentation_models_pytorch.
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

constexpr ClassHabit kSegmentationModelsClasses[] = {
    {"segmentation_models_pytorch.", Effect::kActsInPlace},  // base/modules.py: nn.ReLU(inplace=True)
    {"segmentation_models_pytorch.decoders.deeplabv3.", Effect::kActsOutOfPlace},                     // nn.ReLU()
    {"segmentation_models_pytorch.decoders.dpt.decoder.ResidualConvBlock", Effect::kActsOutOfPlace},  // nn.ReLU()
    {"segmentation_models_pytorch.decoders.dpt.decoder.FusionBlock", Effect::kActsOutOfPlace},
};

constexpr FrameHabit kSegmentationModelsFrames[] = {
    // segmentation_models_pytorch 0.6, decoders/*/decoder.py
    {"p5 p4 p3 p2 seg_blocks.# merge", "p5, p4, p3, p2, +seg_blocks.#"},
    {"aspp up block1 block2", "aspp up, block1, :cat, block2"},
    {":upsample_bilinear2d conv2 conv1 :mul :add", "conv2, conv1, :mul, :upsample_bilinear2d"},  // PAN's GAUBlock
    {"mlp_stage.# fuse_stage", "mlp_stage.#, +:upsample_bilinear2d"},
    {"blocks.x_0_0 blocks.x_0_1", ":cat"},
    {"x_0_0 x_0_1", ":cat"},  // as TorchScript has it: a dict of modules without its name
    {"psp fpn_lateral_blocks.# fpn_conv_blocks.# fusion_block",
     "+feature_norms.#, psp, +fpn_lateral_blocks.#, +fpn_conv_blocks.#, +:upsample_bilinear2d, :cat"},
};

constexpr NameHabit kSegmentationModelsNames[] = {
    {"encoder", NameHabit::Of::kNamedFeatures},  // base/model.py
};

}  // namespace

constinit const Library kSegmentationModels = {"segmentation_models_pytorch.", "0.6", kSegmentationModelsClasses,
                                               kSegmentationModelsFrames, kSegmentationModelsNames};

}  // namespace vramplan
