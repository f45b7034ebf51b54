// Code that people copy, in whatever package: the repository that it comes from stands beside each row.
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

constexpr FrameHabit kCopiedCodeFrames[] = {
    // Diego999's pyGAT, layers.py: Wh, e, attention, h_prime
    {":leaky_relu :where :softmax :matmul :elu", ":leaky_relu@-1, :where :softmax dropout, :matmul@-1"},
    // lucidrains/vit-pytorch, vit_pytorch/vit.py: dots = q @ k * self.scale; attn = self.attend(dots); x = self.norm(x)
    {"to_qkv :matmul attend :matmul to_out", "norm, :matmul@1 :mul"},
    // xuebinqin/U-2-Net, model/u2net.py
    {"rebnconvin rebnconv1 rebnconv2 rebnconv2d rebnconv1d",
     "rebnconvin, rebnconv1, rebnconv2, rebnconv3, rebnconv4, rebnconv5, rebnconv6, rebnconv7, rebnconv6d, rebnconv5d, "
     "rebnconv4d, rebnconv3d, rebnconv2d, pool1 pool2 pool3 pool4 pool5, +:upsample_bilinear2d upscore2"},
    {"stage1 pool12 stage2 stage1d side1",
     "stage1, stage2, stage3, stage4, stage5, stage6, stage5d, stage4d, stage3d, stage2d, stage1d, side1, "
     "pool12 pool23 pool34 pool45 pool56, +:upsample_bilinear2d upscore2"},
    // XPixelGroup/BasicSR, archs/rrdbnet_arch.py; xinntao/ESRGAN, RRDBNet_arch.py; sanghyun-son/EDSR-PyTorch,
    // src/model/edsr.py
    {"conv_first body conv_body :add conv_up1 conv_up2 conv_last", "conv_first :add lrelu@1 lrelu@2, conv_body"},
    {"conv_first RRDB_trunk trunk_conv :add upconv1 upconv2 conv_last", "conv_first :add lrelu@1 lrelu@2, trunk_conv"},
    {"head body :add tail", "head tail, :add"},
    // The U-Net that most others were copied from (milesial/Pytorch-UNet, unet/unet_model.py, unet_parts.py).
    {"up :pad :cat conv", "up :pad"},
    {"inc down1 down2 up1 outc", "inc, down1, down2, down3, down4"},
};

constexpr NameHabit kCopiedCodeNames[] = {
    // Names for what is loaded with weights and often frozen:
    {"backbone.", NameHabit::Of::kPublished},           // Lightning, callbacks/finetuning.py: BackboneFinetuning
    {"feature_extractor.", NameHabit::Of::kPublished},  // and docs, advanced/transfer_learning
    {"base_model.", NameHabit::Of::kPublished},  // transformers, docs of fine-tuning: model.base_model.parameters()
    {"pretrained.", NameHabit::Of::kPublished},  // isl-org/MiDaS, midas/midas_net.py
    // microsoft/Swin-Transformer, models/swin_transformer.py
    {"relative_position_bias_table", NameHabit::Of::kDenseBias, "relative_position_index"},
};

}  // namespace

constinit const Library kCopiedCode = {"", "", {}, kCopiedCodeFrames, kCopiedCodeNames};

}  // namespace vramplan
