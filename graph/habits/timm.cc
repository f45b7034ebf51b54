// timm.
#include "graph/habits/libraries.h"

namespace vramplan {
namespace {

constexpr ClassHabit kTimmClasses[] = {
    {"timm.", Effect::kActsInPlace},                    // act_layer(inplace=True), BatchNormAct2d(inplace=True)
    {"timm.layers.mlp.", Effect::kActsOutOfPlace},      // act_layer()
    {"timm.layers.mlp.ConvMlp", Effect::kActsInPlace},  // only GELUs beside nextvit's ReLU(inplace=True)
    // timm 1.0.31: these files build act_layer() without arguments; norm_act and squeeze_excite of its layers do not.
    {"timm.models.convmixer.", Effect::kActsOutOfPlace},
    {"timm.models.convnext.", Effect::kActsOutOfPlace},
    {"timm.models.cpubone.", Effect::kActsOutOfPlace},
    {"timm.models.cspnet.BottleneckBlock", Effect::kActsOutOfPlace},
    {"timm.models.deepseek_vit.", Effect::kActsOutOfPlace},
    {"timm.models.efficientformer.", Effect::kActsOutOfPlace},
    {"timm.models.efficientformer_v2.", Effect::kActsOutOfPlace},
    {"timm.models.efficientvim.", Effect::kActsOutOfPlace},
    {"timm.models.efficientvit_mit.LiteMLA", Effect::kActsOutOfPlace},
    {"timm.models.efficientvit_msra.", Effect::kActsOutOfPlace},
    {"timm.models.fastvit.", Effect::kActsOutOfPlace},
    {"timm.models.gcvit.", Effect::kActsOutOfPlace},
    {"timm.models.hgnet.", Effect::kActsOutOfPlace},
    {"timm.models.hrnet.HighResolutionModule", Effect::kActsOutOfPlace},
    {"timm.models.iformer.", Effect::kActsOutOfPlace},
    {"timm.models.inception_next.", Effect::kActsOutOfPlace},
    {"timm.models.inception_resnet_v2.", Effect::kActsOutOfPlace},
    {"timm.models.levit.", Effect::kActsOutOfPlace},
    {"timm.models.lowformer.", Effect::kActsOutOfPlace},
    {"timm.models.mambaout.", Effect::kActsOutOfPlace},
    {"timm.models.metaformer.", Effect::kActsOutOfPlace},
    {"timm.models.mobilevit.LinearSelfAttention", Effect::kActsOutOfPlace},  // F.relu(v)
    {"timm.models.nasnet.", Effect::kActsOutOfPlace},
    {"timm.models.nfnet.", Effect::kActsOutOfPlace},
    {"timm.models.nfnet.NormFreeBlock", Effect::kActsInPlace, "act2"},
    {"timm.models.nfnet.NormFreeBlock", Effect::kActsInPlace, "act2b"},
    {"timm.models.pnasnet.", Effect::kActsOutOfPlace},
    {"timm.models.pvt_v2.", Effect::kActsOutOfPlace},
    {"timm.models.rdnet.", Effect::kActsOutOfPlace},
    {"timm.models.regnet.", Effect::kActsOutOfPlace},
    {"timm.models.repghost.RepGhostModule", Effect::kActsOutOfPlace},
    {"timm.models.repvit.", Effect::kActsOutOfPlace},
    {"timm.models.rexnet.LinearBottleneck", Effect::kActsOutOfPlace},
    {"timm.models.shvit.", Effect::kActsOutOfPlace},
    {"timm.models.starnet.", Effect::kActsOutOfPlace},
    {"timm.models.swiftformer.", Effect::kActsOutOfPlace},
    {"timm.models.tiny_vit.", Effect::kActsOutOfPlace},
    {"timm.models.xception_aligned.", Effect::kActsOutOfPlace},
    {"timm.models.xcit.", Effect::kActsOutOfPlace},
    {"timm.models.vision_transformer.", Effect::kActsOutOfPlace},
    {"timm.models.swin_transformer", Effect::kActsOutOfPlace},
    {"timm.models.swin_transformer_v2.WindowAttention", Effect::kActsInPlace},  // cpb_mlp
    // x += y
    {"timm.models.resnet.BasicBlock", Effect::kAddsInPlace},
    {"timm.models.resnet.Bottleneck", Effect::kAddsInPlace},
};

constexpr FrameHabit kTimmFrames[] = {
    // timm 1.0, layers/split_attn.py; models: fastvit.py, vovnet.py, starnet.py, davit.py, cspnet.py, resnetv2.py,
    // nfnet.py, mvitv2.py
    {"fc1 bn1 act1 fc2 rsoftmax", "conv bn0 act0, :sum :mean fc1 bn1 act1, fc2 rsoftmax"},
    {"conv_scale conv_kxk.#", "identity, conv_scale"},
    {"conv_mid conv_concat", "conv_reduction conv_mid conv_concat attn drop_path :add, +conv_mid.#"},
    {"dwconv f1 f2 g dwconv2", "dwconv :mul dwconv2 :add, f1, f2"},
    {"cpe1 norm1 attn cpe2", "attn"},
    {"cpe1 norm1 :pad attn cpe2", "cpe1, attn<"},
    {"conv_exp blocks conv_transition", "conv_down conv_exp, blocks conv_transition_b, conv_transition"},
    {"norm1 conv1 norm2 conv2 norm3 conv3", "norm1, conv1 conv2 conv3"},
    {"act1 :mul conv1 act2 conv2 act3 conv3", ":mul@1 conv1 conv2 conv2b attn conv3 attn_last :add, downsample"},
    {"qkv pool_q norm_q pool_k norm_k proj", ":matmul@1 :add@2"},
    // layers/mlp.py; models: inception_resnet_v2.py, dla.py, hgnet.py, ghostnet.py, coat.py, focalnet.py
    {"fc1_g fc1_x :mul fc2", "fc1_g"},
    {"branch0 branch1 :cat conv2d", "branch0, branch1, branch2"},
    {"tree1 tree2 root", "downsample, project, tree1, tree2"},
    {"stem1 stem2a stem2b pool :cat stem3", "stem1 :pad@1 :cat stem3, stem2a :pad@2 stem2b, pool"},
    {"short_conv primary_conv cheap_operation gate_fn", "short_conv, primary_conv, cheap_operation, :cat"},
    {"cpe norm1 factoratt_crpe norm2 mlp", "norm1 factoratt_crpe norm2 mlp"},
    {"f focal_layers.# h proj", "f, focal_layers.#, :add, act"},
};

constexpr NameHabit kTimmNames[] = {
    {"patch_embed", NameHabit::Of::kNamedPatches},  // models/vision_transformer.py
    {"relative_position_bias_table", NameHabit::Of::kDenseBias, "relative_position_index"},  // layers/pos_embed_rel.py
    {".attention_biases", NameHabit::Of::kCachedIndex},                                      // models/levit.py
    {"patch_embed.proj.weight", NameHabit::Of::kPublished, "blocks.0.attn.qkv.weight"},      // vision_transformer.py
    {"patch_embed.proj.weight", NameHabit::Of::kPublished, "layers.3.blocks.0.attn.qkv.weight"},  // swin_transformer.py
    {"conv_stem.weight", NameHabit::Of::kPublished, "blocks.6.0.conv_dw.weight"},                 // efficientnet.py
    {"stem.0.weight", NameHabit::Of::kPublished, "stages.3.blocks.0.conv_dw.weight"},             // convnext.py
};

}  // namespace

constinit const Library kTimm = {"timm.", "1.0.31", kTimmClasses, kTimmFrames, kTimmNames};

}  // namespace vramplan
