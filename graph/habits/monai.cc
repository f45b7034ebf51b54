// MONAI.
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

constexpr ClassHabit kMonaiClasses[] = {
    {"monai.", Effect::kActsOutOfPlace},
    {"monai.networks.nets.ahnet.", Effect::kActsInPlace},  // ("relu", {"inplace": True}) and alike
    {"monai.networks.nets.basic_unet", Effect::kActsInPlace},
    {"monai.networks.nets.densenet.", Effect::kActsInPlace},
    {"monai.networks.nets.dynunet.", Effect::kActsInPlace},
    {"monai.networks.nets.flexible_unet.", Effect::kActsInPlace},
    {"monai.networks.nets.highresnet.", Effect::kActsInPlace},
    {"monai.networks.nets.hovernet.", Effect::kActsInPlace},
    {"monai.networks.nets.resnet.", Effect::kActsInPlace},
    {"monai.networks.nets.segresnet", Effect::kActsInPlace},
    {"monai.networks.nets.senet.", Effect::kActsInPlace},
    {"monai.networks.nets.swin_unetr.", Effect::kActsInPlace},  // both: dynunet_block.py's leaky ReLU
    {"monai.networks.nets.unetr.", Effect::kActsInPlace},
    {"monai.networks.nets.vnet.", Effect::kActsInPlace},
    {"monai.networks.nets.voxelmorph.", Effect::kActsInPlace},
    {"monai.networks.blocks.", Effect::kActsAsItsCaller},  // blocks do not know what their net asked for
};

constexpr FrameHabit kMonaiFrames[] = {
    // MONAI 1.6, networks/nets: basic_unet.py, basic_unetplusplus.py, attentionunet.py, segresnet.py, vnet.py,
    // unetr.py, swin_unetr.py; networks/blocks/dynunet_block.py: UnetUpBlock
    {"upsample convs", "upsample :pad"},
    {"conv_0 down_1 upcat_1", "conv_0, down_1, down_2, down_3, down_4, upcat_4, upcat_3, upcat_2, upcat_1"},
    {"conv_0_0 conv_1_0 upcat_0_1",
     "conv_0_0, conv_1_0, conv_2_0, conv_3_0, conv_4_0, upcat_0_1, upcat_0_2, upcat_0_3, upcat_0_4, upcat_1_1, "
     "upcat_1_2, upcat_1_3, upcat_2_1, upcat_2_2, upcat_3_1"},
    {"submodule upconv attention merge", "upconv, attention, merge"},
    {"W_g W_x psi", "W_g, W_x, relu psi"},
    {"convInit down_layers.# up_samples.# up_layers.#",
     "convInit down_layers.# :add up_layers.# conv_final, +down_layers.#"},
    {"conv_block act_function", "conv_block act_function, :repeat"},
    {"down_conv bn1 act_function1 ops", "act_function1, dropout ops act_function2"},
    {"up_conv bn1 act_function1 ops", "dropout act_function1 ops act_function2, dropout2, :cat"},
    {"conv1 pool1 bn0 maxpool layer1 up0 dense0 trans1 dense4",  // ahnet.py
     "conv1 pool1 bn0, relu, maxpool, layer1, layer2, layer3, layer4, :add@1, :add@2, :add@3, :add@4, :add@5, dense0, "
     "dense1, dense2, dense3, dense4, psp, :cat"},
    {"in_tr down_tr32 up_tr32 out_tr",
     "in_tr, down_tr32, down_tr64, down_tr128, down_tr256, up_tr256 up_tr128 up_tr64 up_tr32 out_tr"},
    {"downsample next_layer upsample", "downsample, next_layer"},  // nets/dynunet.py
    {"transp_conv conv_block", "transp_conv :cat conv_block"},
    {"vit encoder1 encoder2 decoder5",
     "vit, encoder1, encoder2, encoder3, encoder4, decoder5, decoder4, decoder3, decoder2"},
    {"swinViT encoder1 encoder10 decoder1",
     "swinViT, encoder1, encoder2, encoder3, encoder4, encoder10, decoder5, decoder4, decoder3, decoder2, decoder1"},
};

constexpr NameHabit kMonaiNames[] = {
    {"relative_position_bias_table", NameHabit::Of::kDenseBias,
     "relative_position_index"},  // networks/nets/swin_unetr.py
};

}  // namespace

constinit const Library kMonai = {"monai.", "1.6", kMonaiClasses, kMonaiFrames, kMonaiNames};

}  // namespace vramplan
